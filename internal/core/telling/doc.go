// Package telling says when people are told of what follows from a round, beside what is a page by itself: when hale's
// patience with a machine is over, again after a while, of several machines in one message, once a day, and by the
// checks that only tell.
//
// It promises that what one cause did to many machines is one message, and that its end is said once. Whom a message
// reaches, and in which words, is none of its business.
package telling
