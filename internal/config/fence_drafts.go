package config

import "time"

// methodDraft is one entry of fences: a way to cut the power of hosts.
type methodDraft struct {
	redfish  at[redfishDraft]
	ipmi     at[ipmiDraft]
	agent    at[agentDraft]
	command  at[commandDraft]
	cut      at[cutDraft]
	attempts at[int]
	timeout  at[time.Duration]
	settle   at[time.Duration]
	test     at[time.Duration]
}

type redfishDraft struct {
	url, user, system, ca at[string]
	password              at[secretDraft]
	verify                at[bool]
}

type ipmiDraft struct {
	host, user, privilege at[string]
	port, cipher          at[int]
	password              at[secretDraft]
}

type agentDraft struct {
	program at[string]
	options at[[]named[valueDraft]]
}

type cutDraft struct {
	commandDraft
	of at[CutOf]
}
