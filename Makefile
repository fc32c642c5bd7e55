# hale: what there is to make. `make` alone lists it.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-print-directory

# Runs a command with a Go that is new enough, and gets one where it can.
GO       := scripts/ensure-go.sh go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LINTER   := bin/golangci-lint
OASDIFF  := bin/oasdiff
OTELCOL  := bin/otelcol
RUNS     ?= 20
BENCH    ?= .
MUTANTS_FLAGS ?=
SIZES_FLAGS ?= -runs 3 -days 3
PROBES_FLAGS ?=
CONTROLLER_FLAGS ?=

.DEFAULT_GOAL := help
.PHONY: help build test test-cluster test-power test-faults test-eyes test-judge test-openstack repeat disks records pools show-sizes survive hostile ends race lint fuzz-api tidy cover fuzz bench bench-probes bench-controller bench-idle bench-openstack bench-sizes mutants ssd-trace demo demo-clean clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

build: ## bin/hale: one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o bin/hale ./cmd/hale

test: $(OTELCOL) ## install what the tests need (as root), then vet and run all of them, real machines last
	scripts/install-deps.sh tests
	$(GO) vet ./...
	@scripts/test.sh

test-openstack: ## install and start a real OpenStack (as root), run the tests that need one, and end it
	scripts/openstack/install.sh
	@scripts/test.sh --cloud

repeat: ## the suite on real machines RUNS (20) times in a row, with counts, seeds and retries
	scripts/install-deps.sh tests
	@scripts/repeat.sh $(RUNS)

disks: ## a disk with data survives HEALS (50) heals on real machines
	scripts/install-deps.sh
	@E2E_DISK_HEALS=$(or $(HEALS),50) scripts/ensure-go.sh go test -count=1 -timeout 40m -run TestDataOutlives -v ./e2e

records: ## what guests write on a disk shared by all their instances stays in order through FAULTS (200) faults on real machines
	scripts/install-deps.sh
	@E2E_RECORD_FAULTS=$(or $(FAULTS),200) scripts/ensure-go.sh go test -count=1 -timeout 120m -run TestRecordsOf -v ./e2e

show-sizes: ## a fleet of 2 to 6 real machines follows three days of recorded load in 15 minutes; docs/img/sizes.svg shows it
	scripts/install-deps.sh tests
	@E2E_SIZES=$(CURDIR)/docs/img/sizes.svg scripts/ensure-go.sh go test -count=1 -timeout 60m -run TestTheSizeFollows -v ./e2e

pools: ## users ask all the time, behind HAProxy, while real machines are repaired, replaced, changed and removed, and a host dies, TIMES (20) times
	scripts/install-deps.sh tests
	@E2E_POOLS=$(or $(TIMES),20) scripts/ensure-go.sh go test -count=1 -timeout 240m -run TestS14S39S61S62UsersNotice -v ./e2e

survive: ## hale outlives an adapter, a check, a target and a fencer that panic, for FOR (10m); make test does so for 20s
	@HALE_SURVIVE=$(or $(FOR),10m) scripts/ensure-go.sh go test -count=1 -timeout 120m -run TestHaleOutlives -v ./internal/app

hostile: ## hale among a cloud, a vCenter, a libvirt daemon, a power controller, a message broker and a program that lie, flood, stall and redirect, and strangers where machines report, for FOR (10m)
	@HOSTILE=$(or $(FOR),10m) scripts/ensure-go.sh go test -count=1 -timeout 120m -run TestLiars -v ./internal/app

ends: ## hale ends within 3 s at 1 to 1,000 fleets, with a provider that is well, silent or not able, TIMES (20) at each bad moment
	@HALE_ENDS=$(or $(TIMES),20) scripts/ensure-go.sh go test -count=1 -timeout 240m -run TestHaleEnds -v ./cmd/hale

test-cluster: ## the active one of three servers is killed, paused, cut off or told to end while machines fail, TIMES (10) in each of five clusters on an etcd server, and of five of their own
	@HALE_CLUSTER=$(or $(TIMES),10) scripts/ensure-go.sh go test -count=1 -timeout 240m -run TestCluster -v ./cmd/hale

test-power: ## power is cut from hale's disk, and from the disks of three etcd members (as root), TIMES (50) each; nothing acknowledged is lost
	@HALE_POWER=$(or $(TIMES),50) scripts/ensure-go.sh go test -count=1 -timeout 240m -run 'TestS16PowerIsCut|TestS16MembersLosePower' -v ./cmd/hale

test-faults: ## three servers, three etcd members (as root) and MACHINES (1000) machines in a storm of faults for FOR (1h), and the provider's record judged; SEED, ONLY (a regexp)
	@HALE_FAULTS=$(or $(FOR),1h) HALE_FAULTS_MACHINES=$(MACHINES) HALE_FAULTS_SEED=$(SEED) HALE_FAULTS_ONLY='$(ONLY)' \
		scripts/ensure-go.sh go test -count=1 -timeout 0 -run TestS16S17S54Faults -v ./cmd/hale

test-eyes: ## hale and two satellites lose sight of machines, stand still and are cut off at random for FOR (10m), and what hale judged is judged; SEED
	@HALE_EYES=$(or $(FOR),10m) HALE_EYES_SEED=$(SEED) scripts/ensure-go.sh go test -count=1 -timeout 0 -run TestEyesInAStorm -v ./cmd/hale

test-judge: ## hale is built with mistakes planted in it, and the storms of make test-faults and test-eyes are to find each within ten minutes (as root)
	@HALE_JUDGE=1 scripts/ensure-go.sh go test -count=1 -timeout 60m -run TestTheJudgeCanFail -v ./cmd/hale

race: ## the tests without real machines, the longest in their short form, under the race detector (needs gcc)
	@command -v gcc >/dev/null || { echo 'make race: the race detector needs gcc: apt-get install gcc libc6-dev' >&2; exit 1; }
	@# In two of these tests govmomi's vCenter simulator, which deletes several machines at once there, races with itself;
	@# the third reads the source, which make tidy does without the detector in a tenth of the time.
	@CGO_ENABLED=1 scripts/test.sh --fast -race -short -timeout 28m \
		-skip '^(TestTheMachinesDiskGoesWithItsInstance|TestAWatchOfMachinesThatComeAndGoAllTheTime|TestTheTreeIsTidy)$$'

lint: $(LINTER) $(OASDIFF) ## the linter, pinned in tools/go.mod; whether the API breaks clients of the last release; and whether hale builds where it is not Linux
	scripts/ensure-go.sh $(LINTER) run ./...
	scripts/api-breaks.sh $(OASDIFF)
	scripts/builds-elsewhere.sh

tidy: ## the rules about the source tree itself
	$(GO) test -count=1 ./internal/testbed/tidy

cover: ## coverage of the tests without real machines, per function in bin/cover.txt
	@mkdir -p bin
	@scripts/test.sh --fast -coverpkg=./internal/... -coverprofile=bin/cover.out
	@$(GO) tool cover -func=bin/cover.out >bin/cover.txt
	@tail -n 1 bin/cover.txt

fuzz-api: ## a whole hale is asked at random, from its own document, for FOR (10m); make test does so for 20s
	@HALE_FUZZ_API=$(or $(FOR),10m) scripts/ensure-go.sh go test -count=1 -timeout 120m -run TestTheAPIKeeps -v ./internal/app

fuzz: ## every fuzz test, one after the other, for FOR (10s) each
	@scripts/fuzz.sh $(or $(FOR),10s)

bench: ## the benchmarks that match BENCH (all)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

bench-probes: ## the probe engine beside HAProxy, fping and blackbox_exporter (as root): installs them, and writes bench/out/probes.json
	@scripts/bench-probes.sh $(PROBES_FLAGS)

bench-controller: ## a whole hale with very many machines, in a network namespace (as root; CONTROLLER_FLAGS="-n 100000 -every 5s -dead 0.01")
	$(MAKE) build
	@scripts/bench-controller.sh -out bench/out/controller.json $(CONTROLLER_FLAGS)

bench-idle: ## what three servers take at rest, as a cluster of their own and on three etcd servers (as root; IDLE_FLAGS="-n 10000 -rest 1m")
	$(MAKE) build
	@scripts/bench-controller.sh -out bench/out/idle-cluster.json -servers 3 -every 5s $(IDLE_FLAGS)
	@scripts/bench-controller.sh -out bench/out/idle-etcd.json -servers 3 -etcd -every 5s $(IDLE_FLAGS)

ssd-trace: ## bin/ssd-trace.csv, a failure trace, from the published SSD failures in SSD (a .csv or .csv.gz)
	@[ -n "$(SSD)" ] || { echo 'make ssd-trace SSD=FILE: the file is ssd_failure_tag.csv of github.com/alibaba-edu/dcbrain, or a reduced copy' >&2; exit 1; }
	@mkdir -p bin
	$(GO) run ./bench/ssdtrace $(SSDFLAGS) '$(SSD)' >bin/ssd-trace.csv

bench-openstack: ## how soon failed servers are recovered on a real OpenStack, and what it costs the cloud (as root; BENCHFLAGS="-sizes 10,50")
	scripts/openstack/install.sh
	@mkdir -p bin
	$(MAKE) build
	$(GO) build -o bin/bench-openstack ./bench/openstack
	bin/bench-openstack $(BENCHFLAGS)

bench-sizes: ## hale's rule for a size beside other systems', under the same loads (SIZES_FLAGS="-runs 3 -days 7")
	$(GO) run ./bench/sizes $(SIZES_FLAGS)

mutants: ## does a changed judgement go unnoticed? MUTANTS_FLAGS="-sample 50 -cover" (bench/README.md)
	$(GO) run ./bench/mutants $(MUTANTS_FLAGS)

demo: build ## a fleet of real machines that heals before your eyes
	@demo/run

demo-clean: ## end the demo and remove what it left
	@demo/clean

clean: ## remove what was built
	rm -rf bin

# The linter is built by the module that pins it, so that its needs never become hale's.
$(LINTER): tools/go.mod tools/go.sum
	@mkdir -p bin
	scripts/ensure-go.sh env -C tools go build -buildvcs=false -o ../$(LINTER) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $(LINTER)

$(OASDIFF): tools/oasdiff/go.mod tools/oasdiff/go.sum
	@mkdir -p bin
	scripts/ensure-go.sh env -C tools/oasdiff go build -buildvcs=false -o ../../$(OASDIFF) github.com/oasdiff/oasdiff
	@touch $(OASDIFF)

# OpenTelemetry's own collector, for the tests: no package has it.
$(OTELCOL): tools/otelcol/go.mod tools/otelcol/go.sum tools/otelcol/main.go
	@mkdir -p bin
	scripts/ensure-go.sh env -C tools/otelcol go build -buildvcs=false -o ../../$(OTELCOL) .
	@touch $(OTELCOL)
