// Package view shows what the engine publishes, and what stands in the journal, in the shapes of package api: each
// state and reason as it is, and beside it the sentence of package prose.
//
// It reads no store, asks nothing and decides nothing.
package view
