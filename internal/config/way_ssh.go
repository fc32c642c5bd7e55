package config

import (
	"hale/internal/fleet"
)

type sshDraft struct {
	port   at[int]
	banner at[string]
}

var sshWay = wayOf(fleet.CheckSSH, "", "Wait for the line by which an SSH server introduces itself, and leave: hale "+
	"does not log in.", sshShape(),
	func(c *fleetCompiler, d at[sshDraft], out *fleet.Check) { out.Port, out.SSH = c.ssh(d.value) }, writeSSH)

func sshShape() object[sshDraft] {
	return object[sshDraft]{fields: []field[sshDraft]{
		or("port", defaultSSHPort, "The port.", integer(1, 65535), func(s *sshDraft) *at[int] { return &s.port }),
		may("banner", "A regular expression (RE2) that the line must match, as `^SSH-2.0-OpenSSH_`, else it is a "+
			"failure. Any server of SSH 2 will do where nothing is written.",
			text("a regular expression", "'OpenSSH_(9|10)'"), func(s *sshDraft) *at[string] { return &s.banner }),
	}}
}

func (c *fleetCompiler) ssh(d sshDraft) (int, fleet.SSHCheck) {
	return d.port.value, fleet.SSHCheck{Banner: c.pattern(d.banner)}
}

func writeSSH(c *fleet.Check, p *pairs) {
	p.add("port", "%d", c.Port)
	p.unless(c.SSH.Banner == "", "banner", "%s", quoted(c.SSH.Banner))
}
