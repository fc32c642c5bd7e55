// Package play has the commands of hale that play in a simulated world: stories as they are written, a fleet's future
// by its configuration, a fleet's past by its journal, and failures of simulated machines. No real machine is touched.
package play
