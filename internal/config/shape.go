package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/fleet"
)

// shape is what a value may look like. The same shape reads it, tells an editor about it and documents it.
type shape[V any] interface {
	// read returns the value. False: it is not usable, and the problem is reported; what could be read is returned.
	read(r *reader, n node) (V, bool)
	schema() *schema
}

// scalar is a value of one word, number or text.
type scalar[V any] struct {
	noun    string // as "a duration"
	example string
	forms   []form // that it may be written in
	parse   func(text string) (V, *flaw)
	format  func(V) any // the value as JSON has it, for the schema's default
	json    schema
	// mapping is what is wrong when a mapping is written instead; nil: nothing particular.
	mapping *flaw
}

func (s scalar[V]) read(r *reader, n node) (V, bool) {
	var zero V
	if !slices.Contains(s.forms, n.form) {
		f := s.wrongForm(n)
		r.add(n.spot, f.message, f.hint)
		return zero, false
	}
	v, bad := s.parse(n.text)
	if bad != nil {
		r.add(n.spot, bad.message, bad.hint)
		return zero, false
	}
	return v, true
}

func (s scalar[V]) wrongForm(n node) *flaw {
	hint := "write for example " + s.example
	switch {
	case n.form == formMapping && s.mapping != nil:
		return s.mapping
	case n.form == formEmpty:
		return flawf(hint, "is empty; %s is wanted", s.noun)
	case n.form == formText && slices.Contains(s.forms, formNumber):
		if _, bad := s.parse(n.text); bad == nil {
			return flawf("write "+n.text+" without quotes", "is text; %s is wanted", s.noun)
		}
	case (n.form == formNumber || n.form == formBool) && slices.Contains(s.forms, formText):
		return flawf("write it in quotes: "+strconv.Quote(n.text), "is %s; %s is wanted", n.form, s.noun)
	}
	return flawf(hint, "is %s; %s is wanted", n.form, s.noun)
}

func (s scalar[V]) schema() *schema { j := s.json; return &j }

// bounded adds a range, both ends allowed, to a parser.
func bounded[V int | uint64 | time.Duration](parse func(string) (V, *flaw), low, high V,
	format func(V) string) func(string) (V, *flaw) {
	return func(text string) (V, *flaw) {
		v, bad := parse(text)
		if bad != nil {
			return v, bad
		}
		return v, inRange(v, low, high, format)
	}
}

func span[V any](low, high V, format func(V) string) string {
	return format(low) + " to " + format(high)
}

// spanPattern is how a length of time is written: days, what time.ParseDuration reads, or both.
const spanPattern = `([0-9]+d)?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+|[0-9]+d`

func duration(low, high time.Duration) scalar[time.Duration] {
	return scalar[time.Duration]{
		noun: "a duration", example: "30s", forms: []form{formText, formNumber},
		parse:  bounded(parseDuration, low, high, formatDuration),
		format: func(d time.Duration) any { return formatDuration(d) },
		json: schema{
			Type: "string", Pattern: "^(" + spanPattern + ")$", noun: "duration",
			bounds: span(low, high, formatDuration),
		},
	}
}

func size(low, high uint64) scalar[uint64] {
	return scalar[uint64]{
		noun: "a size", example: "256MiB", forms: []form{formText, formNumber},
		parse:  bounded(parseSize, low, high, formatSize),
		format: func(b uint64) any { return formatSize(b) },
		json: schema{
			Type: "string", Pattern: `^[0-9]+[KMGT]iB$`, noun: "size", bounds: span(low, high, formatSize),
		},
	}
}

func integer(low, high int) scalar[int] {
	return scalar[int]{
		noun: "a whole number", example: strconv.Itoa(max(low, min(high, 1))), forms: []form{formNumber},
		parse:  bounded(parseInteger, low, high, strconv.Itoa),
		format: func(n int) any { return n },
		json: schema{Type: "integer", Minimum: &low, Maximum: &high, noun: "whole number",
			bounds: span(low, high, strconv.Itoa)},
	}
}

func percent() scalar[int] {
	return scalar[int]{
		noun: "a percentage", example: "20%", forms: []form{formText, formNumber}, parse: parsePercent,
		format: func(n int) any { return formatPercent(n) },
		json:   schema{Type: "string", Pattern: `^(100|[0-9]{1,2})%$`, noun: "percentage", bounds: "0% to 100%"},
	}
}

func attempts() scalar[rate] {
	return scalar[rate]{
		noun: "a number within a time", example: "3 in 1h", forms: []form{formText, formNumber}, parse: parseRate,
		format: func(r rate) any { return formatRate(r) },
		json: schema{
			Type: "string", Pattern: "^[0-9]+ +in +(" + spanPattern + ")$", noun: "number in time",
			bounds: fmt.Sprintf("%d to %d in %s", minAttempts, maxAttempts,
				span(minAttemptsIn, maxAttemptsIn, formatDuration)),
		},
	}
}

func boolean() scalar[bool] {
	return scalar[bool]{
		noun: "true or false", example: "true", forms: []form{formBool},
		parse: func(text string) (bool, *flaw) {
			b, err := strconv.ParseBool(strings.ToLower(text))
			if err != nil {
				return false, flawf("write true or false", "%q is neither true nor false", text)
			}
			return b, nil
		},
		format: func(b bool) any { return b },
		json:   schema{Type: "boolean", noun: "true or false"},
	}
}

// text is any non-empty text. The noun names it, as "a path".
func text(noun, example string) scalar[string] {
	return scalar[string]{
		noun: noun, example: example, forms: []form{formText},
		parse: func(text string) (string, *flaw) {
			if strings.TrimSpace(text) == "" {
				return "", flawf("write for example "+example, "is empty; %s is wanted", noun)
			}
			if strings.ContainsRune(text, 0) {
				return "", flawf("take it out", "contains a NUL character")
			}
			return text, nil
		},
		format: func(s string) any { return s },
		json:   schema{Type: "string", MinLength: 1, noun: strings.TrimPrefix(strings.TrimPrefix(noun, "a "), "an ")},
	}
}

// address is a literal IP address.
func address() scalar[netip.Addr] {
	return scalar[netip.Addr]{
		noun: "an IP address", example: "10.0.0.1", forms: []form{formText},
		parse: func(text string) (netip.Addr, *flaw) {
			a, err := netip.ParseAddr(text)
			if err != nil || a.IsUnspecified() || a.IsMulticast() {
				return netip.Addr{}, flawf("write for example 10.0.0.1 or fd00::1",
					"%q is not the IP address of a machine", text)
			}
			return a.Unmap(), nil
		},
		format: func(a netip.Addr) any { return a.String() },
		json:   schema{Type: "string", MinLength: 2, noun: "IP address"},
	}
}

// name is a name that becomes part of host names and store keys.
func name() scalar[string] {
	return scalar[string]{
		noun: "a name", example: "web", forms: []form{formText, formNumber, formBool}, parse: parseName,
		format: func(s string) any { return s },
		json:   schema{Type: "string", Pattern: namePattern, noun: "name"},
	}
}

const namePattern = `^[a-z]([a-z0-9-]{0,46}[a-z0-9])?$`

// hostName is like a name; but a hypervisor's is not ours to choose.
func hostName() scalar[string] {
	shape := name()
	shape.example, shape.json.Pattern = "h1", hostPattern
	shape.parse = func(text string) (string, *flaw) {
		if hostForm.MatchString(text) {
			return text, nil
		}
		return parseName(text) // which says what is wrong with it
	}
	return shape
}

const hostPattern = `^[a-z]([a-z0-9.-]{0,251}[a-z0-9])?$`

var hostForm = regexp.MustCompile(hostPattern)

func parseName(text string) (string, *flaw) {
	s, err := fleet.ParseName(text)
	if err != nil {
		return "", flawf("", "%s", err)
	}
	return s, nil
}

// choice is one word of a closed set. Words that the design names and that do not work yet are in later, with what to
// do instead.
func choice[T ~string](later map[string]string, words ...T) scalar[T] {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	return scalar[T]{
		noun: "one of " + strings.Join(known, ", "), example: known[0], forms: []form{formText, formNumber, formBool},
		parse: func(text string) (T, *flaw) {
			if slices.Contains(known, text) {
				return T(text), nil
			}
			if instead, ok := later[text]; ok {
				return "", flawf(instead, "%s is not available yet", text)
			}
			return "", flawf(didYouMean(text, known), "%q is not known", text)
		},
		format: func(w T) any { return string(w) },
		json:   schema{Type: "string", Enum: known, noun: "one of " + strings.Join(known, ", ")},
	}
}
