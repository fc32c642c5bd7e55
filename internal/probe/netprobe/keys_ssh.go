package netprobe

import (
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

type sshDraft struct {
	port   keys.At[int]
	banner keys.At[string]
}

var sshKeys = kinds.CheckOf(policy.CheckSSH, "",
	"Wait for the line by which an SSH server introduces itself, and leave: hale "+
		"does not log in.", sshShape(),
	func(c kinds.Asked, d keys.At[sshDraft]) { c.Check.Port, c.Check.SSH = sshOf(c, d.Value) }, writeSSH)

func sshShape() keys.Object[sshDraft] {
	return keys.Object[sshDraft]{Fields: []keys.Field[sshDraft]{
		keys.Or("port", 22, "The port.", keys.Integer(1, 65535),
			func(s *sshDraft) *keys.At[int] { return &s.port }),
		keys.May("banner", "A regular expression (RE2) that the line must match, as `^SSH-2.0-OpenSSH_`, else it is a "+
			"failure. Any server of SSH 2 will do where nothing is written.",
			keys.Text("a regular expression", "'OpenSSH_(9|10)'"),
			func(s *sshDraft) *keys.At[string] { return &s.banner }),
	}}
}

func sshOf(c kinds.Asked, d sshDraft) (int, policy.SSHCheck) {
	return d.port.Value, policy.SSHCheck{Banner: kinds.Pattern(c.Finder, d.banner)}
}

func writeSSH(c *policy.Check, p *keys.Pairs) {
	p.Add("port", "%d", c.Port)
	p.MayText("banner", c.SSH.Banner)
}
