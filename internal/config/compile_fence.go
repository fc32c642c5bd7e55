package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hale/internal/fence/agent"
	"hale/internal/fleet"
	"hale/internal/keys"
)

// compileFences judges the entries of fences.
func compileFences(drafts []keys.Named[methodDraft], f *keys.Finder) []Fence {
	var out []Fence
	for _, n := range drafts {
		d := n.Value
		m := Fence{Name: n.Name, Attempts: d.attempts.Value, Timeout: d.timeout.Value, Settle: d.settle.Value,
			Test: d.test.Value}
		var kinds []string
		if d.redfish.Written() {
			kinds, m.Redfish = append(kinds, "redfish"), compileRedfish(d.redfish, f)
		}
		if d.ipmi.Written() {
			i := d.ipmi.Value
			kinds, m.IPMI = append(kinds, "ipmi"), &IPMIFence{Host: i.host.Value, User: i.user.Value,
				Password: secretAt(f, i.password), Port: i.port.Value,
				Cipher: i.cipher.Value, Privilege: i.privilege.Value}
		}
		if d.agent.Written() {
			kinds, m.Agent = append(kinds, "agent"), compileAgent(d.agent, f)
		}
		if d.command.Written() {
			kinds, m.Command = append(kinds, "command"), compileCommand(d.command, f)
		}
		if d.cut.Written() {
			kinds = append(kinds, "cut")
			m.Cut = &CutFence{Command: *compileCommand(keys.At[commandDraft]{Value: d.cut.Value.commandDraft}, f),
				Of: d.cut.Value.of.Value}
		}
		switch {
		case len(kinds) == 0 && n.OK:
			f.Add(n.Spot, "does not say how", "add one of redfish: {…}, ipmi: {…}, agent: {program: …}, command: "+
				"{command: […]} and cut: {command: […], of: …}")
		case len(kinds) > 1:
			f.Add(n.Spot, fmt.Sprintf("is both %s and %s", kinds[0], kinds[1]),
				"make it two methods, and name both for the host")
		}
		if d.settle.Known() && d.timeout.Known() && d.settle.Value*2 > d.timeout.Value {
			f.Add(d.settle.Spot, fmt.Sprintf("%s leaves no time to turn off within %s",
				keys.FormatDuration(d.settle.Value),
				keys.FormatDuration(d.timeout.Value)),
				"lower settle, or raise timeout to twice as much at least")
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Fence) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func compileRedfish(v keys.At[redfishDraft], f *keys.Finder) *RedfishFence {
	d := v.Value
	if d.url.Known() {
		if bad := controllerFlaw(strings.ReplaceAll(d.url.Value, hostWord, "host")); bad != nil {
			f.Add(d.url.Spot, bad.Message, bad.Hint)
		}
	}
	if d.ca.Written() && d.verify.Known() && !d.verify.Value {
		f.Add(d.ca.Spot, "has nothing to check with verify: false", "take one of the two out")
	}
	return &RedfishFence{URL: d.url.Value, User: d.user.Value, Password: secretAt(f, d.password),
		System: d.system.Value,
		CA:     resolve(d.ca), Insecure: !d.verify.Value}
}

// controllerFlaw judges a controller's address. What was written is not repeated, since a password might be in it.
func controllerFlaw(text string) *keys.Flaw {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return keys.Flawf("write for example https://h1-bmc.example.org", "is not a web address")
	case u.Scheme == "http":
		return keys.Flawf("write https; where the certificate cannot be checked, add verify: false",
			"would send the password in the clear")
	case u.User != nil:
		return keys.Flawf("write user: NAME and password: {file: PATH}", "holds a user name or a password")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return keys.Flawf("write only https://HOST or https://HOST:PORT", "holds more than an address")
	}
	return nil
}

// secretOptions are the agents' options that hold a secret.
var secretOptions = []string{"password", "passwd", "passphrase", "token", "snmp_auth_prot_passwd",
	"snmp_priv_passwd", "hexadecimal_kg", "secret_key", "login_passwd"}

func compileAgent(v keys.At[agentDraft], f *keys.Finder) *AgentFence {
	d := v.Value
	a := &AgentFence{Program: d.program.Value}
	if strings.ContainsRune(a.Program, filepath.Separator) {
		a.Program = resolve(d.program)
	}
	for _, o := range d.options.Value {
		plain := o.Value.plain
		switch {
		case !o.OK:
			continue
		case o.Name == "action":
			f.Add(o.Spot, "is hale's own to set", "take it out")
		case slices.Contains(secretOptions, o.Name) && plain.Written():
			f.Add(o.Spot, "is a secret by its name, and is written here",
				"keep it in a file or in the environment, and write {file: PATH} or {env: NAME}")
		case strings.ContainsAny(plain.Value, "\r\n"):
			f.Add(o.Spot, "has more than one line", "write it on one")
		}
		a.Options = append(a.Options, NamedValue{o.Name, valueAt(f, o.Value)})
	}
	if d.program.Known() && agent.Leaks(d.program.Value) && slices.ContainsFunc(a.Options,
		func(o NamedValue) bool { return !o.Secret.None() }) {
		f.Add(d.program.Spot, d.program.Value+" hands the password to ipmitool in its arguments, where everybody on "+
			"the server can read it",
			"write ipmi: {host: …, user: …, password: …}, which does the same without that")
	}
	slices.SortFunc(a.Options, func(x, y NamedValue) int { return cmp.Compare(x.Name, y.Name) })
	return a
}

// optionNames are those of agents' options.
var optionNames = keys.KeyForm{Noun: "the name of an option", Pattern: "^[A-Za-z0-9_-]+$"}

// assignFences gives the hosts of a provider their methods. One that cannot tell hosts apart belongs to one host only:
// it would cut the power of the wrong one.
func assignFences(n keys.Named[providerDraft], hosts []Host, methods []Fence, taken map[string]string, f *keys.Finder) {
	delays(n.Value.hosts.Value, f)
	for _, h := range n.Value.hosts.Value {
		at := slices.IndexFunc(hosts, func(k Host) bool { return string(k.Name) == h.Value.name.Value })
		for _, m := range h.Value.fence.Value {
			if !m.Known() || at < 0 {
				continue
			}
			if slices.Contains(hosts[at].Fence, m.Value) {
				f.Add(m.Spot, m.Value+" is named twice", "name each method once")
				continue
			}
			before := hosts[at].Fence
			hosts[at].Fence = append(hosts[at].Fence, m.Value)
			place := n.Name + "/" + h.Value.name.Value
			i := slices.IndexFunc(methods, func(k Fence) bool { return k.Name == m.Value })
			switch {
			case i < 0:
				hint := keys.DidYouMean(m.Value, slices.Collect(maps.Keys(names(methods))))
				if hint == "" {
					hint = "add it under fences at the top of the file"
				}
				f.Add(m.Spot, "there is no method "+m.Value, hint)
			case taken[m.Value] != "" && !methods[i].tells():
				f.Add(m.Spot, fmt.Sprintf("%s cuts the power of host %s already, and would do so for this one, too",
					m.Value, taken[m.Value]),
					"give this host a method of its own, or put "+hostWord+" into the method's address, or into the "+
						"option that names the outlet")
			case methods[i].Cut == nil && len(before) > 0 && cuts(methods, before[len(before)-1]):
				f.Add(m.Spot, m.Value+" proves more than "+before[len(before)-1]+", which only cuts access",
					"name it before that one")
			default:
				taken[m.Value] = place
			}
		}
	}
}

// delays judges for how long hosts are left as they are: equal delays on all hosts make neither hale quicker.
func delays(hosts []keys.At[hostDraft], f *keys.Finder) {
	var fenced, alike []keys.At[time.Duration]
	for _, h := range hosts {
		d := h.Value.fenceDelay
		if len(h.Value.fence.Value) == 0 {
			if d.Written() {
				f.Add(d.Spot, "has nothing to delay: nothing cuts the host's power",
					"add fence: [METHOD], or take it out")
			}
			continue
		}
		fenced = append(fenced, d)
		if d.Known() && d.Value > 0 && d.Value == fenced[0].Value {
			alike = append(alike, d)
		}
	}
	if len(alike) > 1 && len(alike) == len(fenced) {
		f.Add(alike[1].Spot, keys.FormatDuration(alike[1].Value)+" is what every host has: of two hales that turn off "+
			"each other's host none would be quicker",
			"give the host that matters less no fence_delay")
	}
}

// weights returns, by fleet, how much later its hosts are fenced. One that is no longer than what tells hosts apart
// could make two hales equally quick.
func weights(d providerDraft, f *keys.Finder) map[fleet.Name]time.Duration {
	var longest time.Duration
	for _, h := range d.hosts.Value {
		longest = max(longest, h.Value.fenceDelay.Value)
	}
	out := map[fleet.Name]time.Duration{}
	for _, w := range d.weights.Value {
		if w.OK && w.Value > 0 && w.Value <= 2*longest {
			f.Add(w.Spot, fmt.Sprintf("%s is not more than twice the longest fence_delay, %s: two hales could be "+
				"equally quick", keys.FormatDuration(w.Value), keys.FormatDuration(longest)),
				"raise it, or lower fence_delay")
		}
		out[fleet.Name(w.Name)] = w.Value
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// cuts reports whether the method of the name leaves hosts their power.
func cuts(methods []Fence, name string) bool {
	return slices.ContainsFunc(methods, func(m Fence) bool { return m.Name == name && m.Cut != nil })
}

// cutsEnough reports methods that leave a host's machines something to write to, where the fleet demands no more than
// that they are cut.
func (c *fleetCompiler) cutsEnough(spec *fleet.Spec, so *Config) {
	if spec.Repair.Fence.Proof != fleet.ProofAccessCut {
		return
	}
	spot, keeps := c.draft.repair.Value.fence.Value.proof.Spot, c.keepsDisks()
	some := false
	for _, p := range so.Providers {
		for _, h := range p.Hosts {
			for _, m := range so.FencesOf(p.Name, h.Name) {
				if p.Name != spec.Provider || m.Cut == nil {
					continue
				}
				some = true
				if m.Cut.Of != "" && !m.Cut.Of.covers(keeps) {
					c.Add(spot, fmt.Sprintf("the fleet's machines on host %s could write on: %s cuts it from %s only",
						h.Name, m.Name, m.Cut.Of),
						"have it cut both, or demand confirmed-off")
					return
				}
			}
		}
	}
	if !some {
		c.Add(spot, "no host of provider "+string(spec.Provider)+" has a method that cuts its access",
			"add one with cut: {…}, or demand confirmed-off")
	}
}

// fence returns the demand on proof. A person's word is never taken where two writers would spoil something that is
// kept.
func (c *fleetCompiler) fence(d fenceDraft) fleet.Fence {
	f := fleet.Fence{Proof: d.proof.Value, Hosts: d.hosts.Value == hostsOff, Word: d.word.Value == wordTake}
	c.strands(d.hosts)
	gone := d.proof.Known() && d.proof.Value == fleet.ProofDeleted
	if f.Hosts && gone {
		c.Add(d.hosts.Spot, "what is on a host that is off cannot be confirmed-deleted",
			"choose hold, or demand confirmed-off")
	}
	if f.Proof == fleet.ProofAccessCut && !f.Hosts {
		c.Add(d.proof.Spot, "nobody cuts a host's access as long as hosts is hold",
			"add hosts: off, or demand confirmed-off")
	}
	switch {
	case f.Word && gone:
		c.Add(d.word.Spot, "a person's word is less than confirmed-deleted", "choose refuse, or demand confirmed-off")
	case f.Word && c.keepsDisks():
		c.Add(d.word.Spot, "the machines have disks that are kept, and a wrong word would have two of them write to one",
			"choose refuse")
	}
	return f
}

func names(methods []Fence) map[string]bool {
	out := map[string]bool{}
	for _, m := range methods {
		out[m.Name] = true
	}
	return out
}

// FencesOf returns the methods of a host, in the order in which they are tried.
func (c *Config) FencesOf(p fleet.ProviderName, host fleet.HostName) []Fence {
	var out []Fence
	for _, provider := range c.Providers {
		for _, h := range provider.Hosts {
			if provider.Name != p || h.Name != host {
				continue
			}
			for _, name := range h.Fence {
				i := slices.IndexFunc(c.Fences, func(f Fence) bool { return f.Name == name })
				if i >= 0 {
					out = append(out, c.Fences[i])
				}
			}
		}
	}
	return out
}
