package config

import (
	"strings"
	"time"

	"hale/internal/fleet"
	"hale/internal/secret"
)

// Fence is one way to cut the power of hosts, or their access to storage or network: exactly one of Redfish, IPMI,
// Agent, Command and Cut is there. Texts may have {host} in them.
type Fence struct {
	Name     string
	Attempts int
	Timeout  time.Duration // of one attempt
	Settle   time.Duration // for how long the controller must say off
	Test     time.Duration // from one test to the next
	Redfish  *RedfishFence
	IPMI     *IPMIFence
	Agent    *AgentFence
	Command  *Command
	Cut      *CutFence
}

// RedfishFence is a controller that speaks Redfish.
type RedfishFence struct {
	URL, User string
	Password  secret.Secret
	System    string // empty: the only one
	CA        string // a PEM file; empty: the system's authorities
	Insecure  bool
}

// IPMIFence is a controller that speaks IPMI 2.0.
type IPMIFence struct {
	Host, User string
	Password   secret.Secret
	Port       int
	Cipher     int
	Privilege  string // empty: administrator
}

// AgentFence is a program of the fence-agents family.
type AgentFence struct {
	Program string
	Options []NamedValue // sorted by name
}

// CutFence is an own program that cuts hosts from what they could write to, and leaves them their power.
type CutFence struct {
	Command
	Of CutOf
}

// CutOf says of what a host is cut.
type CutOf string

// What a host can be cut from.
const (
	CutStorage CutOf = "storage"
	CutNetwork CutOf = "network"
	CutBoth    CutOf = "both"
)

// covers reports whether the cut keeps a machine from writing: to the storage, where it keeps disks, else to others
// over the network.
func (o CutOf) covers(keepsDisks bool) bool {
	return o == CutBoth || keepsDisks && o == CutStorage || !keepsDisks && o == CutNetwork
}

// Kind names the way.
func (f *Fence) Kind() string {
	switch {
	case f.Cut != nil:
		return "cut"
	case f.Redfish != nil:
		return "redfish"
	case f.IPMI != nil:
		return "ipmi"
	case f.Agent != nil:
		return "agent"
	}
	return "command"
}

// hostWord stands for the host's name in a method that belongs to several hosts.
const hostWord = "{host}"

// ForHost returns the text with the host's name in it.
func ForHost(text string, host fleet.HostName) string {
	return strings.ReplaceAll(text, hostWord, string(host))
}

// Secrets returns what the method refers to.
func (f *Fence) Secrets() []secret.Secret {
	var all []secret.Secret
	add := func(s secret.Secret) {
		if !s.None() {
			all = append(all, s)
		}
	}
	if f.Redfish != nil {
		add(f.Redfish.Password)
	}
	if f.IPMI != nil {
		add(f.IPMI.Password)
	}
	if f.Agent != nil {
		for _, o := range f.Agent.Options {
			add(o.Secret)
		}
	}
	for _, v := range f.program().Env {
		add(v.Secret)
	}
	return all
}

// program returns the own program, if it is one.
func (f *Fence) program() Command {
	switch {
	case f.Command != nil:
		return *f.Command
	case f.Cut != nil:
		return f.Cut.Command
	}
	return Command{}
}

// tells reports whether the method can tell one host from another.
func (f *Fence) tells() bool {
	switch {
	case f.Redfish != nil:
		return strings.Contains(f.Redfish.URL, hostWord) || strings.Contains(f.Redfish.System, hostWord)
	case f.IPMI != nil:
		return strings.Contains(f.IPMI.Host, hostWord)
	case f.Agent != nil:
		for _, o := range f.Agent.Options {
			if strings.Contains(o.Plain, hostWord) {
				return true
			}
		}
		return false
	}
	return true // HALE_HOST tells it
}
