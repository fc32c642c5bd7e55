// Package e2e holds the exam on real machines: hale as its users run it, a real libvirtd, real guests, real faults.
//
// It has tests only. hale is built once and runs as a process of its own, so that kill -9 is the real one; guests and
// libvirtd come from package lab. Each test has a lab with one fleet, and plays several scenes on it, one after the
// other, to save boots. What hale says is checked against what the lab sees from outside: while a test runs, no machine
// may ever have two processes, and after each scene there is exactly one domain a machine, its page answers, and no
// file of an earlier instance is left.
//
//	go test ./e2e                              the suite; it needs root, and scripts/install-deps.sh tests
//	E2E_SEED=7 go test ./e2e                   the same victims and moments again
//	E2E_HALE=bin/hale go test ./e2e            a hale that is built already
//	E2E_SIZES=$PWD/sizes.svg go test -run TestTheSizeFollows ./e2e   the long dose of a load, and a drawing of it
//	E2E_POOLS=20 go test -run UsersNotice ./e2e   the long dose of what is done to machines behind HAProxy
//	go test -run '^$' -bench . ./e2e           what a heal costs; writes bench/out/heal.json
//
// The last line that a run prints has the number of scenes, the seed, and how often a scene was played again because
// the moment that it was about had passed before it could be used.
package e2e
