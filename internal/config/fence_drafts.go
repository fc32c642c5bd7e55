package config

import (
	"time"

	"hale/internal/keys"
)

// methodDraft is one entry of fences: a way to cut the power of hosts.
type methodDraft struct {
	redfish  keys.At[redfishDraft]
	ipmi     keys.At[ipmiDraft]
	agent    keys.At[agentDraft]
	command  keys.At[commandDraft]
	cut      keys.At[cutDraft]
	attempts keys.At[int]
	timeout  keys.At[time.Duration]
	settle   keys.At[time.Duration]
	test     keys.At[time.Duration]
}

type redfishDraft struct {
	url, user, system, ca keys.At[string]
	password              keys.At[secretDraft]
	verify                keys.At[bool]
}

type ipmiDraft struct {
	host, user, privilege keys.At[string]
	port, cipher          keys.At[int]
	password              keys.At[secretDraft]
}

type agentDraft struct {
	program keys.At[string]
	options keys.At[[]keys.Named[valueDraft]]
}

type cutDraft struct {
	commandDraft
	of keys.At[CutOf]
}
