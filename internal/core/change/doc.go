// Package change tells wanted changes from failures. It says what an edited configuration changes, which part of that
// would destroy something, and exactly what.
//
// It promises to tell changes that destroy something from those that do not. A plan names every machine and instance
// that it would touch, and its id changes with any of them. So a person confirms what they were shown, or is refused.
// It does not carry anything out; packages decide and repair do.
package change
