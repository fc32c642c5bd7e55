// Package sim is the simulator: hale's judgement, stepped through a simulated world by one goroutine. Time is a counter
// that jumps to what is due next; what hale decides is what it decides in earnest (packages decide and picture,
// unchanged), and all around it is played: the provider, the network, the store, the lease, several servers, their
// crashes and pauses.
//
// It promises: equal options give equal runs and byte-identical traces; a judge (package judge)
// that knows the truth looks at every call, every stored belief and every record, and shares no code with what it judges; results of checks that change
// nothing are counted, not played, and what is skipped is provably equal to what would have been played.
//
// It holds no opinion about machines, runs nothing in parallel within one run, and touches no clock, disk or network.
package sim
