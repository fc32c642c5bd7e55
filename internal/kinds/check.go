package kinds

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"hale/internal/core/policy"
	"hale/internal/keys"
)

// Check is a kind of check: its key under fleets.FLEET.checks.CHECK, what a check becomes by what stands there, and how
// that is written back. A check has one kind.
type Check struct {
	Way[Asked, struct{}]
	// Write writes the check's own keys back; nil: it has none.
	Write func(check *policy.Check, p *keys.Pairs)
	// Timeout says how long an answer may take, by the keys every and timeout; nil: as for most kinds.
	Timeout func(f *keys.Finder, every, timeout keys.At[time.Duration]) time.Duration
}

// CheckOf makes a kind of its key: what is written there, what compile makes of that, and how it is written back.
func CheckOf[V any](kind policy.CheckKind, example, doc string, s keys.Shape[V],
	compile func(a Asked, d keys.At[V]), write func(check *policy.Check, p *keys.Pairs)) Check {
	way := WayOf(string(kind), example, doc, s, func(a Asked, d keys.At[V]) struct{} {
		if compile != nil {
			compile(a, d)
		}
		return struct{}{}
	})
	return Check{Way: way, Write: write}
}

// WithTimeout is the kind with its own limit for an answer.
func (c Check) WithTimeout(limit func(f *keys.Finder, every, timeout keys.At[time.Duration]) time.Duration) Check {
	c.Timeout = limit
	return c
}

// Check returns the kind; nil: there is none.
func (a All) Check(kind policy.CheckKind) *Check {
	i := slices.IndexFunc(a.Checks, func(c Check) bool { return c.Word == string(kind) })
	if i < 0 {
		return nil
	}
	return &a.Checks[i]
}

// CheckWays are the keys of the kinds of check.
func (a All) CheckWays() []Way[Asked, struct{}] {
	out := make([]Way[Asked, struct{}], len(a.Checks))
	for i, c := range a.Checks {
		out[i] = c.Way
	}
	return out
}

// Asked is a check of the file that is told what it asks.
type Asked struct {
	*keys.Finder
	Check *policy.Check
	// Received says that what machines report by themselves is received.
	Received bool
	// Placeholders reports what a text has in braces that nothing replaces.
	Placeholders func(s keys.Spot, text string)
}

// PlaceholdersSaid is what the reference says of the words of a program that hale runs for a machine.
var PlaceholdersSaid = "`" + strings.Join(policy.Placeholders(),
	"`, `") + "` are replaced, and `{meta.KEY}` by what the instance bears under the key. "

// EnvSaid is what it says of the program's environment.
const EnvSaid = "Its environment, beside a PATH: a text, in which the same is replaced, or `{file: PATH}` or `{env: " +
	"NAME}` for what is secret: that is read " +
	"anew each time, and hidden in what the program says."

// Command judges a program that hale runs for a machine, and returns its words and its environment, sorted by name.
// placeholders reports what a text has in braces that nothing replaces.
func Command(f *keys.Finder, d keys.ProgramDraft, placeholders func(keys.Spot, string)) (args []string,
	env []policy.Variable) {
	for _, word := range d.Command.Value {
		placeholders(word.Spot, word.Value)
		args = append(args, word.Value)
	}
	for _, n := range d.Env.Value {
		value, kept := f.TextPlace(n)
		placeholders(n.Spot, value)
		env = append(env, policy.Variable{Name: n.Name, Value: value, Secret: kept})
	}
	slices.SortFunc(env, func(a, b policy.Variable) int { return strings.Compare(a.Name, b.Name) })
	return args, env
}

// Headers judges the further lines of a request's head, and returns them sorted by name. own are those that are not to
// be written, with what to do instead.
func Headers(f *keys.Finder, all []keys.Named[keys.TextDraft], own map[string]string) []policy.Header {
	var out []policy.Header
	for _, n := range all {
		name := http.CanonicalHeaderKey(n.Name)
		if instead, ok := own[name]; ok {
			f.Add(n.Spot, "is not for you to set", instead)
		}
		value, kept := f.TextPlace(n)
		f.Spelt(n, keys.Hushed)
		if strings.ContainsAny(value, "\r\n") {
			f.Add(n.Spot, "has more than one line", "write it in one line")
		}
		if slices.ContainsFunc(out, func(h policy.Header) bool { return h.Name == name }) {
			f.Add(n.Spot, "is there already, in other letters", "take one of the two out")
		}
		out = append(out, policy.Header{Name: name, Value: value, Secret: kept})
	}
	slices.SortFunc(out, func(a, b policy.Header) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// NoCertificate reports keys about a certificate of a server that shows none.
func (a Asked) NoCertificate(only, add string, ca keys.At[string], days keys.At[int], insecure keys.At[bool]) {
	for _, s := range []struct {
		wanted bool
		spot   keys.Spot
	}{{ca.Written(), ca.Spot}, {days.Value > 0, days.Spot}, {insecure.Value, insecure.Spot}} {
		if s.wanted {
			a.Add(s.spot, "is for "+only+" only", "add "+add+", or take it out")
		}
	}
}

// Authorities reads the file of certificates that are trusted instead of the system's.
func Authorities(f *keys.Finder, path keys.At[string]) string {
	if !path.Given() {
		return ""
	}
	pem, err := keys.ReadText(keys.Path(path))
	switch {
	case err != nil:
		f.Add(path.Spot, "cannot be read: "+err.Error(), "")
	case !x509.NewCertPool().AppendCertsFromPEM([]byte(pem)):
		f.Add(path.Spot, "holds no certificate", "name a file with -----BEGIN CERTIFICATE-----")
	}
	return pem
}

// Certificate is what a certificate must be.
func (a Asked) Certificate(ca keys.At[string], days keys.At[int], insecure keys.At[bool]) policy.TLSCheck {
	if ca.Written() && insecure.Value {
		a.Add(insecure.Spot, "comes beside ca", "take insecure out: ca says whom to trust")
	}
	return policy.TLSCheck{CA: Authorities(a.Finder, ca), Days: days.Value, Insecure: insecure.Value}
}

// Pattern returns a regular expression as it is written.
func Pattern(f *keys.Finder, p keys.At[string]) string {
	if !p.Given() {
		return ""
	}
	if _, err := regexp.Compile(p.Value); err != nil {
		f.Add(p.Spot, strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			"write a regular expression of RE2's kind; \\. stands for a dot")
	}
	return p.Value
}

// HostName reports what is no name of a host.
func (a Asked) HostName(h keys.At[string]) {
	if h.Known() && strings.ContainsAny(h.Value, "/ @\t\r\n") {
		a.Add(h.Spot, fmt.Sprintf("%q is not a host name", h.Value), "write for example www.example.org")
	}
}
