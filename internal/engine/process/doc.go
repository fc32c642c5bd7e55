// Package process is what this process of hale has once: its two clocks, and its start, which is counted in the store
// before anything is done. With them stand the two ways of waiting that end with a context: for a time, and for a turn.
package process
