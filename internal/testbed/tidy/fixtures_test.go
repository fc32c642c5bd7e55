package tidy

import (
	"fmt"
	"strings"
)

// fixture is a small bad tree for one rule, and a part of each finding that the rule must make of it, in any order.
// What the good files hold must not be found.
type fixture struct {
	rule  string
	files map[string]string
	want  []string
}

var fixtures = map[string]fixture{
	"the core imports an adapter, and a port imports its exam": {
		rule: "floors",
		files: map[string]string{
			"internal/core/decide/a.go":      "package decide\nimport _ \"hale/internal/state/etcd\"",
			"internal/core/decide/ok.go":     "package decide\nimport _ \"hale/internal/core/guard\"",
			"internal/probe/a.go":            "package probe\nimport _ \"hale/internal/probe/probetest\"",
			"internal/probe/ok_test.go":      "package probe\nimport _ \"hale/internal/probe/probetest\"",
			"internal/provider/libvirt/a.go": "package libvirt\nimport _ \"hale/internal/state/memory\"",
		},
		want: []string{
			"internal/core/decide (floor 0.12) may not import internal/state/etcd (floor 3.0)",
			"internal/probe (floor 1.0) may not import internal/probe/probetest (floor 1.1)",
			"internal/provider/libvirt (floor 3.0) may not import internal/state/memory (floor 3.0)",
		},
	},
	"peers of the core import each other": {
		rule:  "floors",
		files: map[string]string{"internal/core/health/a.go": "package health\nimport _ \"hale/internal/core/guard\""},
		want:  []string{"internal/core/health (floor 0.5) may not import internal/core/guard"},
	},
	"a test climbs to a floor above it": {
		rule: "floors",
		files: map[string]string{
			"internal/core/guard/a_test.go": "package guard\nimport (\n_ \"hale/internal/engine\"\n_ " +
				"\"hale/internal/testbed/lab\"\n_ \"os\"\n)",
		},
		want: []string{"internal/core/guard (floor 0.5) may not import internal/engine"},
	},
	"product code uses the laboratory, and a leaf the core": {
		rule: "floors",
		files: map[string]string{
			"internal/app/a.go":            "package app\nimport _ \"hale/internal/testbed/lab\"",
			"internal/accel/a.go":          "package accel\nimport _ \"hale/internal/core/fleet\"",
			"internal/sim/ok.go":           "package sim\nimport _ \"hale/internal/engine\"",
			"internal/sim/chronicle/ok.go": "package chronicle\nimport _ \"hale/internal/prose\"",
			"internal/sim/a.go":            "package sim\nimport _ \"hale/internal/state/etcd\"",
		},
		want: []string{
			"may not import internal/testbed/lab (support for tests)",
			"internal/accel",
			"internal/sim (floor 2.5) may not import internal/state/etcd",
		},
	},
	"a file is too long": {
		rule: "file length",
		files: map[string]string{
			"internal/engine/a.go":      "package engine\n" + strings.Repeat("\n", 599) + "var a int\n",
			"internal/engine/ok.go":     "package engine\n" + strings.Repeat("\n", 598) + "var b int\n",
			"internal/engine/a_test.go": "package engine\n" + strings.Repeat("\n", 700) + "var c int\n",
		},
		want: []string{"internal/engine/a.go: 601 lines; the limit is 600"},
	},
	"a type of the core has too many methods": {
		rule: "methods",
		files: map[string]string{
			"internal/core/decide/a.go":  "package decide\ntype T struct{}\n" + methodsOf("*T", 61),
			"internal/core/decide/ok.go": "package decide\ntype U struct{}\n" + methodsOf("U", 60),
			"internal/engine/ok.go":      "package engine\ntype T struct{}\n" + methodsOf("T", 61),
		},
		want: []string{"internal/core/decide.T: 61 methods; the limit is 60"},
	},
	"too many files name a step": {
		rule:  "namings",
		files: namersOf("StepTick", namingLimit+1, "OpTick", namingLimit),
		want:  []string{"StepTick is named in 12 files, and may be in 11"},
	},
	"a goroutine can end hale": {
		rule: "survival",
		files: map[string]string{
			"internal/engine/a.go": `package engine
func f(wg group, p provider) {
	go p.List()
	wg.Go(func() { p.List() })
	wg.Go(func() {
		p.List()
		defer b.Catch(at)
	})
	wg.Go(func() { half(p) })
	wg.Go(p.List)
	time.AfterFunc(d, func() { p.List() })
}
func half(p provider) {
	whole(p)
	p.List()
}
func whole(p provider) {
	defer b.Catch(at)
	p.List()
}
`,
			"internal/engine/ok.go": `package engine
func g(wg group, p provider) {
	go whole(p)
	wg.Go(func() {
		defer cancel()
		defer b.Catch(at)
		p.List()
	})
	wg.Go(func() { whole(p) })
	wg.Go(func() { ended <- defect.Try(p.List) })
	wg.Go(func() {
		select {
		case <-closed:
			cancel()
		case <-ctx.Done():
		}
	})
	context.AfterFunc(ctx, func() { _ = conn.Close() })
}
`,
			"internal/sim/survey/ok.go":  "package sim\nfunc f(wg group) { wg.Go(func() { play() }) }",
			"internal/engine/ok_test.go": "package engine\nfunc f(wg group) { wg.Go(func() { play() }) }",
		},
		want: []string{
			"a.go:3: a panic", "a.go:4: a panic", "a.go:5: a panic", "a.go:9: a panic", "a.go:10: a panic",
			"a.go:11: a panic",
		},
	},
	"a provider is wrapped whole": {
		rule: "wrappers",
		files: map[string]string{
			"internal/app/a.go": "package app\nimport \"hale/internal/provider\"\ntype slow struct{ " +
				"provider.Provider }",
			"internal/app/ok.go": "package app\nimport \"hale/internal/provider\"\ntype quick struct{ behind " +
				"provider.Provider }",
			"internal/app/ok_test.go": "package app\nimport \"hale/internal/provider\"\ntype deprived struct{ " +
				"provider.Provider }",
			"internal/provider/a.go":    "package provider\ntype loud struct{ Provider }",
			"internal/provider/ok.go":   "package provider\ntype readOnly struct{ Reader }",
			"internal/notify/mail/a.go": "package mail\ntype sender struct{ Provider }",
		},
		want: []string{"internal/app/a.go:3: it embeds a provider", "internal/provider/a.go:2: it embeds a provider"},
	},
	"a new package has no room": {
		rule:  "floors",
		files: map[string]string{"internal/novel/a.go": "package novel", "internal/novel/b.go": "package novel"},
		want:  []string{"package internal/novel has no floor: give it a row"},
	},
	"the core imports the world, and a surface goes through an adapter's door": {
		rule: "floors",
		files: map[string]string{
			"internal/core/guard/a.go":  "package guard\nimport (\n_ \"os\"\n_ \"time\"\n_ \"context\"\n)",
			"internal/core/fault/ok.go": "package fault\nimport _ \"context\"",
			"api/a.go":                  "package api\nimport _ \"go.etcd.io/etcd/client/v3\"",
			"internal/state/etcd/a.go":  "package etcd\nimport _ \"go.etcd.io/etcd/client/v3\"",
		},
		want: []string{
			"may not import os",
			"may not import context",
			"may not import go.etcd.io/etcd/client/v3; only internal/state/etcd or internal/testbed/etcdtest may",
		},
	},
	"the core looks at the clock, compares it by hand, writes prose and starts a goroutine": {
		rule: "core",
		files: map[string]string{
			"internal/core/guard/a.go": "package guard\nfunc f() bool { return n.Mono >= x || n.Wall.Before(t) || " +
				"u.After(s.n.Wall) || n.Due(x) || t.Before(u) || n.Mono.Sub(x) > d }",
			"internal/core/decide/a.go": "package decide\nimport (\n\"fmt\"\n\"time\"\n)\nvar a = time.Now()\nvar b = " +
				"fmt.Sprintf(\"x\")\nvar ok = fmt.Errorf(\"x\")\nfunc f() { go f() }",
			"internal/engine/a.go": "package engine\nimport \"time\"\nvar ok = time.Now()",
		},
		want: []string{"time.Now", "fmt.Sprintf", "sequential", "fleet.Now", "fleet.Now", "fleet.Now"},
	},
	"calls that have a better replacement": {
		rule: "calls",
		files: map[string]string{
			"internal/engine/a.go": "package engine\nimport (\nh \"net/http\"\n\"log\"\n\"os\"\n\"context\"\n)\nvar " +
				"a = h.DefaultClient\nfunc f() { log.Println(); os.Exit(1); _ = context.Background() }",
			"internal/engine/a_test.go": "package engine\nimport (\n\"context\"\n\"time\"\n\"testing\"\n)\nfunc " +
				"Test(t *testing.T) { _ = context.Background(); time.Sleep(1); t.Skip() }",
			"internal/engine/b_test.go": "package engine\nimport (\n\"testing/synctest\"\n\"time\"\n)\nfunc f() { " +
				"time.Sleep(1); _ = synctest.Wait }",
			"internal/engine/c_test.go": "package engine\nimport \"os\"\nfunc f() { os.Exit(1) }",
			"internal/engine/d_test.go": "package engine\nimport \"os\"\nfunc TestMain() { os.Exit(1) }",
			"cmd/hale/main.go": "package main\nimport (\n\"os\"\n\"fmt\"\n)\nfunc main() { fmt.Println(); " +
				"os.Exit(0) }",
			"internal/state/a.go": "package state\nimport \"fmt\"\n// f panics when x: no caller can mend " +
				"it.\nfunc f() { panic(1) }\nfunc g() { fmt.Println(); panic(1) }",
			"internal/state/own.go": "package state\nfunc h() { log := logger{}; log.Println() }",
		},
		want: []string{
			"a.go:8: http.DefaultClient", "a.go:9: log.Println", "a.go:9: os.Exit", "a.go:9: context.Background",
			"a_test.go:7: time.Sleep",
			"c_test.go:3: os.Exit",
			"a_test.go:7: a skipped test",
			"a.go:5: fmt.Println",
			"a.go:5: return an error",
			"internal/testbed/lab/warden.go is excepted but does not exist",
			"internal/testbed/lab/lab.go is excepted but",
			"internal/probe/netprobe/engine.go is excepted but",
			"internal/state/etcd/log.go is excepted but",
		},
	},
	"an exception outlives its use": {
		rule: "calls",
		files: map[string]string{
			"internal/testbed/lab/warden.go":    "package lab\nimport \"os\"\nvar _ = os.Getpid",
			"internal/testbed/lab/lab.go":       "package lab\nimport \"os\"\nfunc f() { os.Exit(0); panic(1) }",
			"internal/probe/netprobe/engine.go": "package netprobe\nimport \"context\"\nvar _ = context.Background",
			"internal/state/etcd/log.go":        "package etcd\nimport \"context\"\nvar _ = context.Background",
		},
		want: []string{"internal/testbed/lab/warden.go uses no os.Exit: remove the exception"},
	},
	"what runs behind an import": {
		rule: "magic",
		files: map[string]string{
			"internal/api/a.go": "package api\nimport (\n_ \"embed\"\n_ \"time/tzdata\"\n_ " +
				"\"net/http/pprof\"\n)\nfunc init() {}\ntype t int\nfunc (t) init() {}",
		},
		want: []string{"blank import of \"net/http/pprof\"", "a.go:7: init runs"},
	},
	"a goroutine without an owner": {
		rule: "goroutines",
		files: map[string]string{
			"internal/engine/a.go": "package engine\nfunc f() {\ngo f()\n}\n\nfunc ok() {\n// Run owns it; it ends " +
				"with ctx.\ngo ok()\n}\n\n// also starts a goroutine that ends with ctx.\nfunc also() {\ngo ok()\n}",
		},
		want: []string{"a.go:3"},
	},
	"a decision by an error's text": {
		rule: "error text",
		files: map[string]string{
			"internal/engine/a.go": "package engine\nimport \"strings\"\nfunc f(err error) bool { return " +
				"strings.Contains(strings.ToLower(err.Error()), \"x\") }\nfunc ok(s string) bool { return " +
				"strings.Contains(s, \"x\") }",
			"internal/engine/a_test.go": "package engine\nimport \"strings\"\nfunc ok(err error) bool { return " +
				"strings.Contains(err.Error(), \"x\") }",
		},
		want: []string{"a.go:3"},
	},
	"a package that does not introduce itself": {
		rule: "package comments",
		files: map[string]string{
			"internal/api/a.go":        "package api",
			"internal/api/b.go":        "// Api is nice.\npackage api",
			"internal/cli/a.go":        "package cli",
			"internal/cli/doc.go":      "// Package cli is the command line.\npackage cli",
			"cmd/hale/main.go":         "// Command hale heals.\npackage main",
			"demo/lab/main.go":         "// This is a demo.\npackage main",
			"internal/x/testdata/a.go": "package a",
		},
		want: []string{"internal/api/a.go", "demo/lab/main.go"},
	},
	"a package name that says nothing": {
		rule: "package names",
		files: map[string]string{
			"internal/util/a.go":       "package util",
			"internal/x/a_test.go":     "package helpers_test",
			"internal/core/fleet/a.go": "package fleet",
		},
		want: []string{"package util", "package helpers_test"},
	},
	"a package too large, an adapter, and tests": {
		rule: "package size",
		files: map[string]string{
			"internal/owner/a.go":                     "package owner\n" + strings.Repeat("\n", packageLimit-1),
			"internal/owner/a_test.go":                "package owner\n" + strings.Repeat("\n", packageLimit),
			"internal/owner/picture/a.go":             "package picture\n" + strings.Repeat("\n", packageLimit/2),
			"internal/owner/picture/b.go":             "package picture\n" + strings.Repeat("\n", packageLimit/2),
			"internal/provider/libvirt/a.go":          "package libvirt\n" + strings.Repeat("\n", packageLimit),
			"internal/provider/providertest/stays.go": "package providertest\n" + strings.Repeat("\n", packageLimit),
		},
		want: []string{"picture: 3002 lines"},
	},
	"one function too long": {
		rule: "function length",
		files: map[string]string{
			"internal/api/a.go": "package api\n" + long("atLimit", lineLimit) + long("over", lineLimit+1),
		},
		want: []string{"over has 101 lines"},
	},
	"too many long functions": {
		rule: "function length",
		files: map[string]string{
			"internal/api/a.go": "package api\n" + longs(longBudget) + long("last", longLimit+1) +
				long("atLimit", longLimit),
			"internal/api/a_test.go": "package api\n" + long("test", longLimit+1),
		},
		want: append(times(longBudget, "has 51 lines, and more than"), "last has 51 lines"),
	},
	"boolean parameters": {
		rule: "boolean parameters",
		files: map[string]string{
			"internal/api/a.go": "package api\nfunc F(a int, b, c bool) {}\nfunc f(b bool) {}\ntype T struct{}\nfunc " +
				"(*T) M(b ...bool) {}\ntype t int\nfunc (t) M(b bool) {}\ntype I interface { Set(on bool); Get() bool }",
		},
		want: []string{"F takes a boolean", "T.M takes a boolean", "I.Set takes a boolean"},
	},
	"code that gofmt would change, and code that is none": {
		rule: "format",
		files: map[string]string{
			"internal/api/a.go":  "package api\nfunc  f(){}\n",
			"internal/api/b.go":  "package api\nfunc {",
			"internal/api/ok.go": "package api\n",
		},
		want: []string{"gofmt -w internal/api/a.go", "b.go: does not parse"},
	},
	"documents that name what is not there": {
		rule: "paths in documents",
		files: map[string]string{
			"README.md": "See `internal/api/a.go`, `internal/gone.go` and " +
				"[it](docs/lost.md#part).\n`internal/{api,cli}`, `hale/internal/api`, `api/v1`, `go test ./...`, " +
				"[ok](internal/api/a.go), `bin/hale`, <https://x.y/docs/z.md>.\n```sh\nscripts/none.sh " +
				"--flag\n```\n`web.yaml`, `NOTES.md`",
			"internal/api/a.go":   "// Package api is told in docs/api.md.\npackage api",
			"docs/words/words.md": "`other.md` [up](../../README.md)",
			"docs/words/other.md": "",
		},
		want: []string{
			"internal/gone.go does", "docs/lost.md does", "internal/cli does", "scripts/none.sh does", "NOTES.md does",
			"docs/api.md does",
		},
	},
	"packages that the map does not have": {
		rule: "map",
		files: map[string]string{
			"ARCHITECTURE.md": "`internal/api`, internal/notify/mail, …/webhook, with notifytest; " +
				"decide.Decide",
			"internal/api/a.go":                 "package api",
			"internal/apiserver/a.go":           "package apiserver",
			"internal/notify/webhook/a.go":      "package webhook",
			"internal/notify/notifytest/a.go":   "package notifytest",
			"internal/notify/command/a_test.go": "package command_test",
			"cmd/hale/main.go":                  "package main",
		},
		want: []string{"internal/apiserver is not", "internal/notify/command is not"},
	},
	"documents that name functions that are gone": {
		rule: "names in documents",
		files: map[string]string{
			"ARCHITECTURE.md": "`decide.Decide`, `decide.Gone`, `hale/internal/core/decide.Fate.Lost`, " +
				"`decide.Fate.Kind(x)`, `http.Client`, `internal/novel.F`, `decide.Step.Do`",
			"internal/core/decide/a.go": "package decide\nfunc Decide() {}\ntype Fate struct{ Kind int }\ntype Step " +
				"interface{ Do() }",
		},
		want: []string{
			"package decide declares no Gone",
			"package internal/core/decide declares no Fate.Lost",
			"package internal/novel declares no F",
		},
	},
	"a scenario that no test shows": {
		rule: "scenarios",
		files: map[string]string{
			"docs/scenarios.md":               "S01 is done.\nS02 is done, S03 too.\nS04 is planned.\nS05 is done.\n",
			"scenarios/S05-full.txt":          "S05: the store is full",
			"internal/sim/testdata/s01.txtar": "S01: a VM heals",
			"internal/engine/a_test.go":       "package engine\n// S03",
		},
		want: []string{"docs/scenarios.md:2: S02 is claimed"},
	},
	"words about how or where": {
		rule: "words",
		files: map[string]string{
			"README.md": "run `ls /work/main`\nsee /tmp/x\nqemu:///session, agentless, $dir/work/upper, " +
				"mktemp\nas Claude said in issue 12\n<<<<<<< HEAD\n",
			"scripts/ok.sh":     "cd /tmp/x",
			"internal/api/a.go": "package api // made in an earlier session",
		},
		want: []string{"README.md:1", "README.md:2", "README.md:4", "README.md:4", "README.md:5", "a.go:1"},
	},
	"scripts that go on after an error": {
		rule: "scripts",
		files: map[string]string{
			"scripts/bad.sh":                   "#!/usr/bin/env bash\nset -e\n",
			"demo/ok":                          "#!/bin/sh\nset -eu\n",
			"internal/testbed/lab/guest/ok.sh": "#!/bin/sh\n",
			"internal/cli/testdata/ok.sh":      "#!/bin/sh\n",
		},
		want: []string{"scripts/bad.sh: add a line", "scripts/bad.sh: run chmod", "demo/ok: run chmod"},
	},
}

// methodsOf writes n methods of the type.
func methodsOf(kind string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "func (%s) m%d() {}\n", kind, i)
	}
	return b.String()
}

// namersOf writes n files that name the step, and m that name the operation.
func namersOf(step string, n int, op string, m int) map[string]string {
	files := map[string]string{
		stepsFile: fmt.Sprintf("package fleet\nconst (\n%s = 1\n%s = 2\n)\n", step, op),
	}
	for i := 1; i < max(n, m); i++ { // that file is the first
		text := "package engine\n"
		if i < n {
			text += "var _ = fleet." + step + "\n"
		}
		if i < m {
			text += "var _ = fleet." + op + "\n"
		}
		files[fmt.Sprintf("internal/engine/a%d.go", i)] = text
	}
	return files
}
