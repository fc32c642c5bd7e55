package simulated

import (
	"fmt"
	"net/http"
	"regexp/syntax"
	"slices"
	"strings"

	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/sim/guest"
	"hale/internal/sim/world"
)

// serves reports whether machines listen on the port: one of Options.Ports, or one that a check asks.
func (o *Options) serves(port uint16) bool {
	return slices.Contains(o.Ports, port) || slices.ContainsFunc(o.Checks,
		func(c policy.Check) bool { return c.Port == int(port) })
}

// fails reports whether one of those checks fails, although others may succeed. The caller holds the world's lock.
func (w *World) fails(h guest.Hears, of func(c *policy.Check) bool) bool {
	for i := range w.options.Checks {
		if c := &w.options.Checks[i]; of(c) && h.Fails(string(c.Name)) {
			return true
		}
	}
	return false
}

// failsKind reports whether the guest fails a check of the kind. The caller holds the world's lock.
func (w *World) failsKind(vm *world.VM, kind policy.CheckKind) bool {
	return w.fails(vm.Heard(), func(c *policy.Check) bool { return c.Kind == kind })
}

// isProgram reports whether the program is the check's.
func isProgram(c *policy.Check, p probe.Program) bool {
	return c.Kind == policy.CheckExec && len(c.Exec.Command) == len(p.Args) && c.Exec.Command[0] == p.Args[0]
}

// page is what a healthy guest answers at the path: what the checks that ask there want to see, and its name and id.
func (w *World) page(vm *world.VM, port uint16, path string) (status int, body string) {
	var b strings.Builder
	status = http.StatusOK
	for _, c := range w.options.Checks {
		if c.Kind != policy.CheckHTTP || c.Port != int(port) || c.HTTP.Path != path {
			continue
		}
		if len(c.HTTP.Status) > 0 && !c.HTTP.Accepts(status) {
			status = c.HTTP.Status[0].First
		}
		if c.HTTP.Body != "" {
			b.WriteString(sample(c.HTTP.Body))
			b.WriteByte('\n')
		}
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "%s %s %d\n", vm.Name, vm.ID, status)
	}
	return status, b.String()
}

// sample returns a text that the pattern matches, a short one; empty where it cannot be told by looking at the
// pattern's parts.
func sample(pattern string) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	write(&b, parsed.Simplify())
	return b.String()
}

func write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			b.WriteRune(re.Rune[0])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpConcat:
		for _, part := range re.Sub {
			write(b, part)
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		write(b, re.Sub[0]) // once, and the first one, will do
	default: // nothing is needed: none at all is enough, or it is a place and no text
	}
}
