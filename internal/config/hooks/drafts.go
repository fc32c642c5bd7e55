package hooks

import (
	"time"

	"hale/internal/core/policy"
	"hale/internal/keys"
)

// Draft is what the file says of a fleet's hooks.
type Draft struct {
	before, leave, after keys.At[[]keys.Named[Hook]]
}

// Hook is what it says of one of them.
type Hook struct {
	command    keys.At[[]keys.At[string]]
	env        keys.At[[]keys.Named[keys.TextDraft]]
	http       keys.At[request]
	ansible    keys.At[playbook]
	copy       keys.At[copying]
	wait       keys.At[waiting]
	within     keys.At[time.Duration]
	onFailure  keys.At[policy.HookFailure]
	idempotent keys.At[bool]
	whenOff    keys.At[whenOff]
}

type request struct {
	url     keys.At[keys.TextDraft]
	ca      keys.At[string]
	headers keys.At[[]keys.Named[keys.TextDraft]]
}

type login struct {
	user, key, knownHosts keys.At[string]
	port                  keys.At[int]
}

type playbook struct {
	login
	path keys.At[string]
	args keys.At[[]keys.At[string]]
}

type copying struct {
	login
	files keys.At[[]keys.At[file]]
}

type file struct {
	from, to keys.At[string]
	mode     keys.At[string]
}

type waiting struct{ deadline keys.At[time.Duration] }

// whenOff says what becomes of a hook when the machine does not run.
type whenOff string

const (
	runWhenOff  whenOff = "run"
	skipWhenOff whenOff = "skip"
)
