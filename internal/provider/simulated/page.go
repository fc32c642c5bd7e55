package simulated

import (
	"fmt"
	"net/http"
	"regexp/syntax"
	"slices"
	"strings"

	"hale/internal/fleet"
	"hale/internal/probe"
)

// serves reports whether machines listen on the port: one of Options.Ports, or one that a check asks.
func (o *Options) serves(port uint16) bool {
	return slices.Contains(o.Ports, port) || slices.ContainsFunc(o.Checks, func(c fleet.Check) bool { return c.Port == int(port) })
}

// refuses reports whether the guest fails a check of its own on the port. The caller holds the world's lock.
func (w *World) refuses(g *guest, port uint16) bool {
	return slices.ContainsFunc(w.options.Checks, func(c fleet.Check) bool { return c.Port == int(port) && g.fails(c.Name) })
}

// ignores reports whether the guest fails a check by ping. The caller holds the world's lock.
func (w *World) ignores(g *guest) bool {
	return slices.ContainsFunc(w.options.Checks, func(c fleet.Check) bool { return c.Kind == fleet.CheckPing && g.fails(c.Name) })
}

// muted reports whether the guest fails a check by its agent. The caller holds the world's lock.
func (w *World) muted(g *guest) bool {
	return slices.ContainsFunc(w.options.Checks, func(c fleet.Check) bool { return c.Kind == fleet.CheckAgent && g.fails(c.Name) })
}

// dislikes reports whether the program is that of a check which the guest fails. The caller holds the world's lock.
func (w *World) dislikes(g *guest, p probe.Program) bool {
	return slices.ContainsFunc(w.options.Checks, func(c fleet.Check) bool {
		return c.Kind == fleet.CheckExec && g.fails(c.Name) && len(c.Exec.Command) == len(p.Args) && c.Exec.Command[0] == p.Args[0]
	})
}

// page is what a healthy guest answers at the path: what the checks that ask there want to see, and its name and id.
func (w *World) page(g *guest, port uint16, path string) (status int, body string) {
	var b strings.Builder
	status = http.StatusOK
	for _, c := range w.options.Checks {
		if c.Kind != fleet.CheckHTTP || c.Port != int(port) || c.HTTP.Path != path {
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
		fmt.Fprintf(&b, "%s %s %d\n", g.name, g.id, status)
	}
	return status, b.String()
}

// sample returns a text that the pattern matches, a short one; empty where it cannot be told by looking at the pattern's parts.
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
