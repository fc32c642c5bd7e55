package simulated

import (
	"io"
	"strings"

	"hale/internal/core/policy"
	"hale/internal/sim/guest"
)

// introduces has the guest introduce itself as an SSH server, where a check wants to hear that from the port, and
// reports whether one does.
func (w *World) introduces(c *conn) bool {
	line, hangs, asked := w.introduction(c)
	if asked && !hangs {
		_, _ = io.WriteString(c, line) // the caller may have gone
	}
	if asked {
		_, _ = io.Copy(io.Discard, c) // until the caller does
	}
	return asked
}

func (w *World) introduction(c *conn) (line string, hangs, asked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	check, asked := w.checkAt(policy.CheckSSH, c.at.Port())
	if !asked {
		return "", false, false
	}
	const version = "SSH-2.0-"
	line = sample(check.SSH.Banner)
	if strings.HasPrefix(line, "SSH-") && len(line) > len(version) {
		line = line[len(version):] // the dot may be any character in the pattern
	} else {
		line = strings.TrimSpace("simulated " + line)
	}
	return version + line + "\r\n", w.heard(c).HTTP == guest.Silence, true
}

// checkAt returns the first check of the kind that asks the port. The caller holds the world's lock.
func (w *World) checkAt(kind policy.CheckKind, port uint16) (policy.Check, bool) {
	for _, c := range w.options.Checks {
		if c.Kind == kind && c.Port == int(port) {
			return c, true
		}
	}
	return policy.Check{}, false
}
