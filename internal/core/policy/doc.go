// Package policy is what people ask of a fleet: the specification that the configuration comes to, with template,
// checks, ladder, limits, windows and sizing. Values are complete, validated and never changed.
package policy
