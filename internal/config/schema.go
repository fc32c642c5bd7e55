package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// schema is a JSON Schema (draft 2020-12), with what the reference page wants to know besides.
type schema struct {
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
	Items                *schema            `json:"items,omitempty"`
	MinItems             int                `json:"minItems,omitempty"`
	Properties           map[string]*schema `json:"properties,omitempty"`
	PropertyNames        *schema            `json:"propertyNames,omitempty"`
	AdditionalProperties any                `json:"additionalProperties,omitempty"` // false or a *schema
	Required             []string           `json:"required,omitempty"`
	MinProperties        *int               `json:"minProperties,omitempty"`
	MaxProperties        *int               `json:"maxProperties,omitempty"`
	AnyOf                []*schema          `json:"anyOf,omitempty"`
	Defs                 map[string]*schema `json:"$defs,omitempty"`

	noun    string            // of a scalar, as "duration"
	bounds  string            // of a scalar, as "1s to 1h"
	words   string            // the default in words
	order   []string          // of Properties
	later   map[string]string // keys that do not work yet
	eachKey string            // what the names of a mapping stand for
}

// Schema returns the JSON Schema of the configuration, for editors. It describes the form; what only the whole can
// tell (unknown providers, intervals, ladders) is for Parse.
func Schema() ([]byte, error) {
	s := documentShape().schema()
	s.Dialect = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "hale configuration"
	s.Defs = map[string]*schema{"condition": conditionShape().schema()}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// each returns the schema of a mapping's values; nil for other schemas.
func (s *schema) each() *schema {
	e, _ := s.AdditionalProperties.(*schema)
	return e
}

// walk visits every object with its path, as "fleets.FLEET.repair", in the tables' order.
func (s *schema) walk(path string, visit func(path string, object *schema)) {
	if s.Properties != nil {
		visit(path, s)
		for _, key := range s.order {
			s.Properties[key].walk(joinPath(path, key), visit)
		}
	}
	if e := s.each(); e != nil {
		e.walk(joinPath(path, s.eachKey), visit)
	}
	if s.Items != nil {
		s.Items.walk(path, visit)
	}
	for _, a := range s.AnyOf {
		a.walk(path, visit)
	}
}

// keyHomes says for each key of the configuration in which objects it belongs.
type keyHomes map[string][]string

func findHomes() keyHomes {
	homes := keyHomes{}
	documentShape().schema().walk("", func(path string, object *schema) {
		for _, key := range object.order {
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
