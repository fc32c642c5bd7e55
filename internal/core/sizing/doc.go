// Package sizing is the rule by which opinions move a fleet's size: a pure function of the policy, of what the metrics
// were read to be within a window, of the time, and of when the size moved last.
//
// It promises that the wanted size is within the bounds; that while any opinion has none, since its metric says
// nothing, no fewer machines are wanted; that the greatest of the sizes that opinions want counts, so that up beats
// stay, and stay beats down; and that nothing is kept beside its arguments: what a window shows is reckoned from its
// points each time.
package sizing
