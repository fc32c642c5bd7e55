// Package outlook says what hale would do in a fleet next, as it stands: it has the judgement decide one round, and
// says of each machine which step would follow, or what holds it. Nothing is done, and nothing is stored.
package outlook
