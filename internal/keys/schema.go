package keys

import (
	"slices"
	"strings"
)

// Schema is a JSON Schema (draft 2020-12), with what the reference page wants to know besides.
type Schema struct {
	Dialect              string             `json:"$schema,omitempty"`
	ID                   string             `json:"$id,omitempty"`
	Title                string             `json:"title,omitempty"`
	Ref                  string             `json:"$ref,omitempty"`
	Description          string             `json:"description,omitempty"`
	Type                 any                `json:"type,omitempty"` // a word, or several
	Default              any                `json:"default,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	Pattern              string             `json:"pattern,omitempty"`
	MinLength            int                `json:"minLength,omitempty"`
	Minimum              *int               `json:"minimum,omitempty"`
	Maximum              *int               `json:"maximum,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	MinItems             int                `json:"minItems,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	PropertyNames        *Schema            `json:"propertyNames,omitempty"`
	AdditionalProperties any                `json:"additionalProperties,omitempty"` // false or a *schema
	Required             []string           `json:"required,omitempty"`
	MinProperties        *int               `json:"minProperties,omitempty"`
	MaxProperties        *int               `json:"maxProperties,omitempty"`
	AnyOf                []*Schema          `json:"anyOf,omitempty"`
	Defs                 map[string]*Schema `json:"$defs,omitempty"`

	Noun    string            `json:"-"` // of a scalar, as "duration"
	Bounds  string            `json:"-"` // of a scalar, as "1s to 1h"
	Words   string            `json:"-"` // the default in words
	Order   []string          `json:"-"` // of Properties
	Later   map[string]string `json:"-"` // keys that do not work yet
	EachKey string            `json:"-"` // what the names of a mapping stand for
}

// Each returns the schema of a mapping's values; nil for other schemas.
func (s *Schema) Each() *Schema {
	e, _ := s.AdditionalProperties.(*Schema)
	return e
}

// Walk visits every object with its path, as "fleets.FLEET.repair", in the tables' order.
func (s *Schema) Walk(path string, visit func(path string, object *Schema)) {
	if s.Properties != nil {
		visit(path, s)
		for _, key := range s.Order {
			s.Properties[key].Walk(joinPath(path, key), visit)
		}
	}
	if e := s.Each(); e != nil {
		e.Walk(joinPath(path, s.EachKey), visit)
	}
	if s.Items != nil {
		s.Items.Walk(path, visit)
	}
	for _, a := range s.AnyOf {
		a.Walk(path, visit)
	}
}

// keyHomes says for each key of the configuration in which objects it belongs.
type keyHomes map[string][]string

// homesOf finds them in a schema.
func homesOf(s *Schema) keyHomes {
	homes := keyHomes{}
	s.Walk("", func(path string, object *Schema) {
		for _, key := range object.Order {
			if !slices.Contains(homes[key], path) {
				homes[key] = append(homes[key], path)
			}
		}
	})
	return homes
}

// of returns where a key belongs that was written under path: the one object around it or below it that knows the key;
// of several, the one that is nearest to the top alone.
func (h keyHomes) of(key, path string) (string, bool) {
	var found []string
	for _, home := range h[key] {
		if aligned(home, path) {
			found = append(found, home)
		}
	}
	depth := func(path string) int { return strings.Count(path, ".") }
	slices.SortStableFunc(found, func(a, b string) int { return depth(a) - depth(b) })
	switch {
	case len(found) == 0, len(found) > 1 && depth(found[0]) == depth(found[1]):
		return "", false
	case found[0] == "":
		return "the top of the file", true
	}
	return found[0], true
}

// aligned reports whether one of two paths leads to the other. Words in capitals stand for any name.
func aligned(home, path string) bool {
	if home == "" || path == "" {
		return true
	}
	a, b := strings.Split(home, "."), strings.Split(path, ".")
	for i := range min(len(a), len(b)) {
		step, _, _ := strings.Cut(b[i], "[")
		if a[i] != step && a[i] != strings.ToUpper(a[i]) {
			return false
		}
	}
	return true
}
