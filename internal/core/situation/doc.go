// Package situation is all that one round of decisions about a fleet rests on, and what it may ask the engine to do.
package situation
