// Package config turns the files that an operator writes into validated, complete and immutable values: providers and
// policy.Spec. One description of every key (tables.go, of fleets in package fleets) drives the strict reader, the
// JSON Schema for editors and the reference page, so the three cannot part.
//
// It promises that every problem is reported at once, each with file, line, column, the path of the key, what is wrong
// and how to mend it; that an unknown key is never ignored; that nothing is half-accepted: either the whole
// configuration is sound or there is none; and that the same input gives the same result. Secrets are references
// (package secret) and never stand in a file.
//
// It does not reach providers, look whether images exist, or start anything. Besides the configuration it reads only
// the files that a template names with {file: …}.
//
// The way of a file: goccy's parser gives nodes; node.go gives each a place and a path; shapes read nodes into drafts
// (tables.go says which shape has which keys); compile*.go judges the drafts and makes the result.
package config
