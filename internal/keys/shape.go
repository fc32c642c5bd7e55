package keys

import (
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/fleet"
)

// Shape is what a value may look like. The same shape reads it, tells an editor about it and documents it.
type Shape[V any] interface {
	// read returns the value. False: it is not usable, and the problem is reported; what could be read is returned.
	Read(r *Reader, n Node) (V, bool)
	Schema() *Schema
}

// Scalar is a value of one word, number or text.
type Scalar[V any] struct {
	Noun    string // as "a duration"
	Example string
	Forms   []Form // that it may be written in
	Parse   func(text string) (V, *Flaw)
	Format  func(V) any // the value as JSON has it, for the schema's default
	JSON    Schema
	// mapping is what is wrong when a mapping is written instead; nil: nothing particular.
	Mapping *Flaw
}

// Read implements Shape.
func (s Scalar[V]) Read(r *Reader, n Node) (V, bool) {
	var zero V
	if !slices.Contains(s.Forms, n.Form) {
		f := s.wrongForm(n)
		r.Add(n.Spot, f.Message, f.Hint)
		return zero, false
	}
	v, bad := s.Parse(n.Text)
	if bad != nil {
		r.Add(n.Spot, bad.Message, bad.Hint)
		return zero, false
	}
	return v, true
}

func (s Scalar[V]) wrongForm(n Node) *Flaw {
	hint := "write for example " + s.Example
	switch {
	case n.Form == FormMapping && s.Mapping != nil:
		return s.Mapping
	case n.Form == formEmpty:
		return Flawf(hint, "is empty; %s is wanted", s.Noun)
	case n.Form == FormText && slices.Contains(s.Forms, FormNumber):
		if _, bad := s.Parse(n.Text); bad == nil {
			return Flawf("write "+n.Text+" without quotes", "is text; %s is wanted", s.Noun)
		}
	case (n.Form == FormNumber || n.Form == FormBool) && slices.Contains(s.Forms, FormText):
		return Flawf("write it in quotes: "+strconv.Quote(n.Text), "is %s; %s is wanted", n.Form, s.Noun)
	}
	return Flawf(hint, "is %s; %s is wanted", n.Form, s.Noun)
}

// Schema implements Shape.
func (s Scalar[V]) Schema() *Schema { j := s.JSON; return &j }

// Bounded adds a range, both ends allowed, to a parser.
func Bounded[V int | uint64 | time.Duration](parse func(string) (V, *Flaw), low, high V,
	format func(V) string) func(string) (V, *Flaw) {
	return func(text string) (V, *Flaw) {
		v, bad := parse(text)
		if bad != nil {
			return v, bad
		}
		return v, InRange(v, low, high, format)
	}
}

// Span writes a range.
func Span[V any](low, high V, format func(V) string) string {
	return format(low) + " to " + format(high)
}

// spanPattern is how a length of time is written: days, what time.ParseDuration reads, or both.
const spanPattern = `([0-9]+d)?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+|[0-9]+d`

// Duration is a time span from low to high, as "90s", "5m" or "7d".
func Duration(low, high time.Duration) Scalar[time.Duration] {
	return Scalar[time.Duration]{
		Noun: "a duration", Example: "30s", Forms: []Form{FormText, FormNumber},
		Parse:  Bounded(ParseDuration, low, high, FormatDuration),
		Format: func(d time.Duration) any { return FormatDuration(d) },
		JSON: Schema{
			Type: "string", Pattern: "^(" + spanPattern + ")$", Noun: "duration",
			Bounds: Span(low, high, FormatDuration),
		},
	}
}

// Size is a number of bytes from low to high, as "256MiB".
func Size(low, high uint64) Scalar[uint64] {
	return Scalar[uint64]{
		Noun: "a size", Example: "256MiB", Forms: []Form{FormText, FormNumber},
		Parse:  Bounded(parseSize, low, high, FormatSize),
		Format: func(b uint64) any { return FormatSize(b) },
		JSON: Schema{
			Type: "string", Pattern: `^[0-9]+[KMGT]iB$`, Noun: "size", Bounds: Span(low, high, FormatSize),
		},
	}
}

// Integer is a whole number from low to high.
func Integer(low, high int) Scalar[int] {
	return Scalar[int]{
		Noun: "a whole number", Example: strconv.Itoa(max(low, min(high, 1))), Forms: []Form{FormNumber},
		Parse:  Bounded(ParseInteger, low, high, strconv.Itoa),
		Format: func(n int) any { return n },
		JSON: Schema{Type: "integer", Minimum: &low, Maximum: &high, Noun: "whole number",
			Bounds: Span(low, high, strconv.Itoa)},
	}
}

// Number is a number from low to high, with or without a fraction.
func Number(low, high float64) Scalar[float64] {
	bounds, choose := Span(low, high, FormatNumber), FormatNumber(low)+" to "+FormatNumber(high)
	switch {
	case low == -math.MaxFloat64 && high == math.MaxFloat64:
		bounds = ""
	case high == math.MaxFloat64:
		choose = FormatNumber(low) + " or more"
		bounds = choose
	}
	return Scalar[float64]{
		Noun: "a number", Example: FormatNumber(max(low, min(high, 1))), Forms: []Form{FormNumber, FormText},
		Parse: func(text string) (float64, *Flaw) {
			v, err := strconv.ParseFloat(text, 64)
			switch {
			case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
				return 0, Flawf("write for example 80 or 0.5", "%q is not a number", text)
			case v < low || v > high:
				return 0, Flawf("choose "+choose, "%s is out of range", text)
			}
			return v, nil
		},
		Format: func(v float64) any { return v },
		JSON:   Schema{Type: "number", Noun: "number", Bounds: bounds},
	}
}

// FormatNumber writes a number as briefly as it can be read again.
func FormatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Percent is a percentage from "0%" to "100%".
func Percent() Scalar[int] {
	return Scalar[int]{
		Noun: "a percentage", Example: "20%", Forms: []Form{FormText, FormNumber}, Parse: ParsePercent,
		Format: func(n int) any { return FormatPercent(n) },
		JSON:   Schema{Type: "string", Pattern: `^(100|[0-9]{1,2})%$`, Noun: "percentage", Bounds: "0% to 100%"},
	}
}

// Attempts is a number of times within a time span, as "3 in 1h".
func Attempts() Scalar[Rate] {
	return Scalar[Rate]{
		Noun: "a number within a time", Example: "3 in 1h", Forms: []Form{FormText, FormNumber}, Parse: parseRate,
		Format: func(r Rate) any { return formatRate(r) },
		JSON: Schema{
			Type: "string", Pattern: "^[0-9]+ +in +(" + spanPattern + ")$", Noun: "number in time",
			Bounds: fmt.Sprintf("%d to %d in %s", minAttempts, maxAttempts,
				Span(minAttemptsIn, maxAttemptsIn, FormatDuration)),
		},
	}
}

// Boolean is true or false.
func Boolean() Scalar[bool] {
	return Scalar[bool]{
		Noun: "true or false", Example: "true", Forms: []Form{FormBool},
		Parse: func(text string) (bool, *Flaw) {
			b, err := strconv.ParseBool(strings.ToLower(text))
			if err != nil {
				return false, Flawf("write true or false", "%q is neither true nor false", text)
			}
			return b, nil
		},
		Format: func(b bool) any { return b },
		JSON:   Schema{Type: "boolean", Noun: "true or false"},
	}
}

// Text is any non-empty text. The noun names it, as "a path".
func Text(noun, example string) Scalar[string] {
	return Scalar[string]{
		Noun: noun, Example: example, Forms: []Form{FormText},
		Parse: func(text string) (string, *Flaw) {
			if strings.TrimSpace(text) == "" {
				return "", Flawf("write for example "+example, "is empty; %s is wanted", noun)
			}
			if strings.ContainsRune(text, 0) {
				return "", Flawf("take it out", "contains a NUL character")
			}
			return text, nil
		},
		Format: func(s string) any { return s },
		JSON:   Schema{Type: "string", MinLength: 1, Noun: strings.TrimPrefix(strings.TrimPrefix(noun, "a "), "an ")},
	}
}

// WebAddressFlaw judges a web address. What was written is not repeated, since a token might be in it. instead says
// where a name and a password go, and example is one as it should be.
func WebAddressFlaw(text, example, instead string) *Flaw {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return Flawf("write for example "+example, "is not a web address")
	case u.User != nil:
		return Flawf("take them out; use "+instead, "holds a user name or a password")
	case u.Fragment != "":
		return Flawf("take it out", "holds a fragment, which is never sent")
	}
	return nil
}

// Address is a literal IP address.
func Address() Scalar[netip.Addr] {
	return Scalar[netip.Addr]{
		Noun: "an IP address", Example: "10.0.0.1", Forms: []Form{FormText},
		Parse: func(text string) (netip.Addr, *Flaw) {
			a, err := netip.ParseAddr(text)
			if err != nil || a.IsUnspecified() || a.IsMulticast() {
				return netip.Addr{}, Flawf("write for example 10.0.0.1 or fd00::1",
					"%q is not the IP address of a machine", text)
			}
			return a.Unmap(), nil
		},
		Format: func(a netip.Addr) any { return a.String() },
		JSON:   Schema{Type: "string", MinLength: 2, Noun: "IP address"},
	}
}

// Network is a range of IP addresses, or a single one.
func Network() Scalar[netip.Prefix] {
	return Scalar[netip.Prefix]{
		Noun: "an IP address or a range of them", Example: "127.0.0.1", Forms: []Form{FormText},
		Parse: func(text string) (netip.Prefix, *Flaw) {
			if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
				a = a.Unmap()
				return netip.PrefixFrom(a, a.BitLen()), nil
			}
			p, err := netip.ParsePrefix(text)
			if err != nil {
				return netip.Prefix{}, Flawf("write for example 127.0.0.1, 10.0.0.0/8 or fd00::/8",
					"%q is neither an IP address nor a range of them", text)
			}
			return p.Masked(), nil
		},
		Format: func(p netip.Prefix) any {
			if p.IsSingleIP() {
				return p.Addr().String()
			}
			return p.String()
		},
		JSON: Schema{Type: "string", MinLength: 2, Noun: "IP address or range"},
	}
}

// Name is a name that becomes part of host names and store keys.
func Name() Scalar[string] {
	return Scalar[string]{
		Noun: "a name", Example: "web", Forms: []Form{FormText, FormNumber, FormBool}, Parse: parseName,
		Format: func(s string) any { return s },
		JSON:   Schema{Type: "string", Pattern: namePattern, Noun: "name"},
	}
}

const namePattern = `^[a-z]([a-z0-9-]{0,46}[a-z0-9])?$`

// HostName is like a name; but a hypervisor's is not ours to choose.
func HostName() Scalar[string] {
	shape := Name()
	shape.Example, shape.JSON.Pattern = "h1", hostPattern
	shape.Parse = func(text string) (string, *Flaw) {
		if hostForm.MatchString(text) {
			return text, nil
		}
		return parseName(text) // which says what is wrong with it
	}
	return shape
}

const hostPattern = `^[a-z]([a-z0-9.-]{0,251}[a-z0-9])?$`

var hostForm = regexp.MustCompile(hostPattern)

func parseName(text string) (string, *Flaw) {
	s, err := fleet.ParseName(text)
	if err != nil {
		return "", Flawf("", "%s", err)
	}
	return s, nil
}

// Choice is one word of a closed set. Words that the design names and that do not work yet are in later, with what to
// do instead.
func Choice[T ~string](later map[string]string, words ...T) Scalar[T] {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	return Scalar[T]{
		Noun: "one of " + strings.Join(known, ", "), Example: known[0], Forms: []Form{FormText, FormNumber, FormBool},
		Parse: func(text string) (T, *Flaw) {
			if slices.Contains(known, text) {
				return T(text), nil
			}
			if instead, ok := later[text]; ok {
				return "", Flawf(instead, "%s is not available yet", text)
			}
			return "", Flawf(DidYouMean(text, known), "%q is not known", text)
		},
		Format: func(w T) any { return string(w) },
		JSON:   Schema{Type: "string", Enum: known, Noun: "one of " + strings.Join(known, ", ")},
	}
}
