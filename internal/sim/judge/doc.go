// Package judge watches a simulated run from the side of the truth: it looks at every call, every stored belief and
// every record, says which laws were broken, and counts what the run came to. It plays the operator, too, who comes when
// paged and mends what hale left to them.
//
// It promises to share no code with the judgement that it judges: what it needs to know of budgets, brakes and times it
// works out by itself, from the policy and from the world. Of the run it sees the world, what is stored, and what Run
// and Server say; it changes nothing but by what an operator could do. What calls do to machines is judged by package
// law, for the bubble as well.
//
// What the oracle knows, which heals whatever a step of the ladder could, is in oracle.go; which causes only a person
// can end, in cause.go.
package judge
