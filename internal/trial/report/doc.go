// Package report draws what came of a rehearsal as one HTML page: what struck and who ended it over time, the score,
// every wrong act with the lines around it, the policy, and how to play it again.
//
// It promises a page that stands alone (no request to anywhere, no script), escapes whatever a name may hold, can be
// read in the dark and without telling colours apart, and is of a bounded size whether the fleet has three machines or
// ten thousand. It judges nothing.
package report
