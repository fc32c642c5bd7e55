// Package change tells wanted changes from failures: what an edited configuration asks for beyond what is in force,
// which part of that would destroy something, and exactly what.
//
// It promises that what destroys nothing can be told from what does, that a plan names every machine and instance it
// would touch, and that its id changes with any of them: what a person confirms is what they were shown, or it is
// refused. It does not carry anything out; packages decide and repair do.
package change
