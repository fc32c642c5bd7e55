// Package published is what the owners, and the engine around them, publish for all who only look: how each fleet
// stands as its owner sees it, how the store does, and what no fleet looks after. It is read without a lock, and never
// changed.
package published
