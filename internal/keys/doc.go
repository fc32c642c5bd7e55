// Package keys reads configuration files key by key. A table of keys (Object) says once what a key is called, what
// stands there, what is meant where nothing is written, and what it is for: reading, the JSON schema and the reference
// follow from that.
//
// It promises that each problem names its place and a way out, and that all problems of a file are found at once.
package keys
