package keys

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"hale/internal/core/fleet"
)

// Pairs are the keys of a mapping that is written back in one line, without what is as it is anyway.
type Pairs []string

// Add writes a key.
func (p *Pairs) Add(key, format string, value ...any) {
	*p = append(*p, key+": "+fmt.Sprintf(format, value...))
}

// May writes a key unless the value is the zero one of its type, which is what is meant where nothing is written.
func (p *Pairs) May(key, format string, value any) {
	if !reflect.ValueOf(value).IsZero() {
		p.Add(key, format, value)
	}
}

// MayText is May for a text that is written in quotes.
func (p *Pairs) MayText(key, text string) {
	if text != "" {
		p.Add(key, "%s", Quoted(text))
	}
}

// String returns the mapping.
func (p Pairs) String() string { return "{" + strings.Join(p, ", ") + "}" }

// PlainOrSecret writes a value. Of a secret not even the place is told; simulated machines do not ask for it.
func PlainOrSecret(value string, s fleet.Secret) string {
	if s.None() {
		return Quoted(value)
	}
	return "{env: SECRET}"
}

// Quoted writes a text so that YAML reads it as it is: JSON is YAML.
func Quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return `""` // a string always can be marshalled
	}
	return string(data)
}
