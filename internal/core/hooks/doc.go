// Package hooks says what people want done around the work on a machine, and when that is over: which hook comes next,
// which need the machine, and whether a pool is left.
//
// It promises that hooks come in the order of the configuration, each once in a repair however often a rung begins
// anew, and that no pool is waited for without an end. It runs nothing and records nothing: package repair does.
package hooks
