// Package script is what goes wrong in a run of the simulated world, and what people do meanwhile: events at their
// times, as scenario files write them, and whole plans drawn by chance. Equal forecasts give equal plans.
//
// It plays nothing: packages sim and simulated let the events happen.
package script
