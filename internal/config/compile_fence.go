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
)

// compileFences judges the entries of fences.
func compileFences(drafts []named[methodDraft], f *finder) []Fence {
	var out []Fence
	for _, n := range drafts {
		d := n.value
		m := Fence{Name: n.name, Attempts: d.attempts.value, Timeout: d.timeout.value, Settle: d.settle.value,
			Test: d.test.value}
		var kinds []string
		if d.redfish.written() {
			kinds, m.Redfish = append(kinds, "redfish"), compileRedfish(d.redfish, f)
		}
		if d.ipmi.written() {
			i := d.ipmi.value
			kinds, m.IPMI = append(kinds, "ipmi"), &IPMIFence{Host: i.host.value, User: i.user.value,
				Password: f.secret(i.password), Port: i.port.value,
				Cipher: i.cipher.value, Privilege: i.privilege.value}
		}
		if d.agent.written() {
			kinds, m.Agent = append(kinds, "agent"), compileAgent(d.agent, f)
		}
		if d.command.written() {
			kinds, m.Command = append(kinds, "command"), compileCommand(d.command, f)
		}
		if d.cut.written() {
			kinds = append(kinds, "cut")
			m.Cut = &CutFence{Command: *compileCommand(at[commandDraft]{value: d.cut.value.commandDraft}, f),
				Of: d.cut.value.of.value}
		}
		switch {
		case len(kinds) == 0 && n.ok:
			f.add(n.spot, "does not say how", "add one of redfish: {…}, ipmi: {…}, agent: {program: …}, command: "+
				"{command: […]} and cut: {command: […], of: …}")
		case len(kinds) > 1:
			f.add(n.spot, fmt.Sprintf("is both %s and %s", kinds[0], kinds[1]),
				"make it two methods, and name both for the host")
		}
		if d.settle.known() && d.timeout.known() && d.settle.value*2 > d.timeout.value {
			f.add(d.settle.spot, fmt.Sprintf("%s leaves no time to turn off within %s", formatDuration(d.settle.value),
				formatDuration(d.timeout.value)),
				"lower settle, or raise timeout to twice as much at least")
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Fence) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func compileRedfish(v at[redfishDraft], f *finder) *RedfishFence {
	d := v.value
	if d.url.known() {
		if bad := controllerFlaw(strings.ReplaceAll(d.url.value, hostWord, "host")); bad != nil {
			f.add(d.url.spot, bad.message, bad.hint)
		}
	}
	if d.ca.written() && d.verify.known() && !d.verify.value {
		f.add(d.ca.spot, "has nothing to check with verify: false", "take one of the two out")
	}
	return &RedfishFence{URL: d.url.value, User: d.user.value, Password: f.secret(d.password), System: d.system.value,
		CA: resolve(d.ca), Insecure: !d.verify.value}
}

// controllerFlaw judges a controller's address. What was written is not repeated, since a password might be in it.
func controllerFlaw(text string) *flaw {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return flawf("write for example https://h1-bmc.example.org", "is not a web address")
	case u.Scheme == "http":
		return flawf("write https; where the certificate cannot be checked, add verify: false",
			"would send the password in the clear")
	case u.User != nil:
		return flawf("write user: NAME and password: {file: PATH}", "holds a user name or a password")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return flawf("write only https://HOST or https://HOST:PORT", "holds more than an address")
	}
	return nil
}

// secretOptions are those of agents whose value is one.
var secretOptions = []string{"password", "passwd", "passphrase", "token", "snmp_auth_prot_passwd",
	"snmp_priv_passwd", "hexadecimal_kg", "secret_key", "login_passwd"}

func compileAgent(v at[agentDraft], f *finder) *AgentFence {
	d := v.value
	a := &AgentFence{Program: d.program.value}
	if strings.ContainsRune(a.Program, filepath.Separator) {
		a.Program = resolve(d.program)
	}
	for _, o := range d.options.value {
		plain := o.value.plain
		switch {
		case !o.ok:
			continue
		case o.name == "action":
			f.add(o.spot, "is hale's own to set", "take it out")
		case slices.Contains(secretOptions, o.name) && plain.written():
			f.add(o.spot, "is a secret by its name, and is written here",
				"keep it in a file or in the environment, and write {file: PATH} or {env: NAME}")
		case strings.ContainsAny(plain.value, "\r\n"):
			f.add(o.spot, "has more than one line", "write it on one")
		}
		a.Options = append(a.Options, NamedValue{o.name, f.value(o.value)})
	}
	if d.program.known() && agent.Leaks(d.program.value) && slices.ContainsFunc(a.Options,
		func(o NamedValue) bool { return !o.Secret.None() }) {
		f.add(d.program.spot, d.program.value+" hands the password to ipmitool in its arguments, where everybody on "+
			"the server can read it",
			"write ipmi: {host: …, user: …, password: …}, which does the same without that")
	}
	slices.SortFunc(a.Options, func(x, y NamedValue) int { return cmp.Compare(x.Name, y.Name) })
	return a
}

// optionNames are those of agents' options.
var optionNames = keyForm{noun: "the name of an option", pattern: "^[A-Za-z0-9_-]+$"}

// assignFences gives the hosts of a provider their methods. One that cannot tell hosts apart belongs to one host only:
// it would cut the power of the wrong one.
func assignFences(n named[providerDraft], hosts []Host, methods []Fence, taken map[string]string, f *finder) {
	delays(n.value.hosts.value, f)
	for _, h := range n.value.hosts.value {
		at := slices.IndexFunc(hosts, func(k Host) bool { return string(k.Name) == h.value.name.value })
		for _, m := range h.value.fence.value {
			if !m.known() || at < 0 {
				continue
			}
			if slices.Contains(hosts[at].Fence, m.value) {
				f.add(m.spot, m.value+" is named twice", "name each method once")
				continue
			}
			before := hosts[at].Fence
			hosts[at].Fence = append(hosts[at].Fence, m.value)
			place := n.name + "/" + h.value.name.value
			i := slices.IndexFunc(methods, func(k Fence) bool { return k.Name == m.value })
			switch {
			case i < 0:
				hint := didYouMean(m.value, slices.Collect(maps.Keys(names(methods))))
				if hint == "" {
					hint = "add it under fences at the top of the file"
				}
				f.add(m.spot, "there is no method "+m.value, hint)
			case taken[m.value] != "" && !methods[i].tells():
				f.add(m.spot, fmt.Sprintf("%s cuts the power of host %s already, and would do so for this one, too",
					m.value, taken[m.value]),
					"give this host a method of its own, or put "+hostWord+" into the method's address, or into the "+
						"option that names the outlet")
			case methods[i].Cut == nil && len(before) > 0 && cuts(methods, before[len(before)-1]):
				f.add(m.spot, m.value+" proves more than "+before[len(before)-1]+", which only cuts access",
					"name it before that one")
			default:
				taken[m.value] = place
			}
		}
	}
}

// delays judges for how long hosts are left as they are: where it is equally long for all of them, nobody is quicker.
func delays(hosts []at[hostDraft], f *finder) {
	var fenced, alike []at[time.Duration]
	for _, h := range hosts {
		d := h.value.fenceDelay
		if len(h.value.fence.value) == 0 {
			if d.written() {
				f.add(d.spot, "has nothing to delay: nothing cuts the host's power",
					"add fence: [METHOD], or take it out")
			}
			continue
		}
		fenced = append(fenced, d)
		if d.known() && d.value > 0 && d.value == fenced[0].value {
			alike = append(alike, d)
		}
	}
	if len(alike) > 1 && len(alike) == len(fenced) {
		f.add(alike[1].spot, formatDuration(alike[1].value)+" is what every host has: of two hales that turn off "+
			"each other's host none would be quicker",
			"give the host that matters less no fence_delay")
	}
}

// weights returns whose hosts are fenced later. One that is no longer than what tells hosts apart could make two hales
// equally quick.
func weights(d providerDraft, f *finder) map[fleet.Name]time.Duration {
	var longest time.Duration
	for _, h := range d.hosts.value {
		longest = max(longest, h.value.fenceDelay.value)
	}
	out := map[fleet.Name]time.Duration{}
	for _, w := range d.weights.value {
		if w.ok && w.value > 0 && w.value <= 2*longest {
			f.add(w.spot, fmt.Sprintf("%s is not more than twice the longest fence_delay, %s: two hales could be "+
				"equally quick", formatDuration(w.value), formatDuration(longest)),
				"raise it, or lower fence_delay")
		}
		out[fleet.Name(w.name)] = w.value
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
	spot, keeps := c.draft.repair.value.fence.value.proof.spot, c.keepsDisks()
	some := false
	for _, p := range so.Providers {
		for _, h := range p.Hosts {
			for _, m := range so.FencesOf(p.Name, h.Name) {
				if p.Name != spec.Provider || m.Cut == nil {
					continue
				}
				some = true
				if m.Cut.Of != "" && !m.Cut.Of.covers(keeps) {
					c.add(spot, fmt.Sprintf("the fleet's machines on host %s could write on: %s cuts it from %s only",
						h.Name, m.Name, m.Cut.Of),
						"have it cut both, or demand confirmed-off")
					return
				}
			}
		}
	}
	if !some {
		c.add(spot, "no host of provider "+string(spec.Provider)+" has a method that cuts its access",
			"add one with cut: {…}, or demand confirmed-off")
	}
}

// fence returns the demand on proof. A person's word is never taken where two writers would spoil something that is
// kept.
func (c *fleetCompiler) fence(d fenceDraft) fleet.Fence {
	f := fleet.Fence{Proof: d.proof.value, Hosts: d.hosts.value == hostsOff, Word: d.word.value == wordTake}
	c.strands(d.hosts)
	gone := d.proof.known() && d.proof.value == fleet.ProofDeleted
	if f.Hosts && gone {
		c.add(d.hosts.spot, "what is on a host that is off cannot be confirmed-deleted",
			"choose hold, or demand confirmed-off")
	}
	if f.Proof == fleet.ProofAccessCut && !f.Hosts {
		c.add(d.proof.spot, "nobody cuts a host's access as long as hosts is hold",
			"add hosts: off, or demand confirmed-off")
	}
	switch {
	case f.Word && gone:
		c.add(d.word.spot, "a person's word is less than confirmed-deleted", "choose refuse, or demand confirmed-off")
	case f.Word && c.keepsDisks():
		c.add(d.word.spot, "the machines have disks that are kept, and a wrong word would have two of them write to one",
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
