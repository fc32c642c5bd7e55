// Package tidy holds the tests about the source tree itself: which package may import which, which calls have a better
// replacement, how long a function may be, and whether the things exist that the documents name.
//
// It promises that every rule says what is wrong, where, why that matters and what to do instead. A test shows each
// rule fail on a small bad tree. All rules together take a few seconds, without type checking. What needs types is the
// linter's work (.golangci.yml).
//
// It does not change files, and no product code imports it.
package tidy
