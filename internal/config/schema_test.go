package config

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"

	"hale/internal/adapters"
)

// judge is a JSON Schema validator for the keywords that Schema uses; any other keyword fails the test.
type judge struct {
	t    *testing.T
	root map[string]any
}

func newJudge(t *testing.T) judge {
	t.Helper()
	data, err := Schema(adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	j := judge{t: t}
	if err := json.Unmarshal(data, &j.root); err != nil {
		t.Fatal(err)
	}
	return j
}

// accepts reports whether the YAML text has the schema's form.
func (j judge) accepts(text string) bool {
	j.t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return false
	}
	data, err := json.Marshal(v)
	if err != nil {
		j.t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		j.t.Fatal(err)
	}
	return j.valid(j.root, plain)
}

func (j judge) valid(s map[string]any, v any) bool {
	for keyword, arg := range s {
		switch keyword {
		case "$schema", "$id", "$defs", "title", "description", "default":
			continue
		case "$ref":
			name := strings.TrimPrefix(arg.(string), "#/$defs/")
			if !j.valid(j.root["$defs"].(map[string]any)[name].(map[string]any), v) {
				return false
			}
			continue
		case "anyOf":
			if !slices.ContainsFunc(arg.([]any), func(a any) bool { return j.valid(a.(map[string]any), v) }) {
				return false
			}
			continue
		case "type":
			if !hasType(arg, v) {
				return false
			}
			continue
		}
		if !j.keyword(s, keyword, arg, v) {
			return false
		}
	}
	return true
}

func hasType(arg, v any) bool {
	if list, ok := arg.([]any); ok {
		return slices.ContainsFunc(list, func(a any) bool { return hasType(a, v) })
	}
	got := map[string]bool{}
	switch v := v.(type) {
	case nil:
		got["null"] = true
	case string:
		got["string"] = true
	case bool:
		got["boolean"] = true
	case float64:
		got["number"], got["integer"] = true, v == float64(int64(v))
	case []any:
		got["array"] = true
	case map[string]any:
		got["object"] = true
	}
	return got[arg.(string)]
}

// keyword judges the keywords that say something about values of one type only.
func (j judge) keyword(s map[string]any, keyword string, arg, v any) bool {
	switch value := v.(type) {
	case string:
		switch keyword {
		case "enum":
			return slices.Contains(arg.([]any), v)
		case "pattern":
			return regexp.MustCompile(arg.(string)).MatchString(value)
		case "minLength":
			return float64(utf8.RuneCountInString(value)) >= arg.(float64)
		}
	case float64:
		switch keyword {
		case "minimum":
			return value >= arg.(float64)
		case "maximum":
			return value <= arg.(float64)
		}
	case []any:
		switch keyword {
		case "items":
			return !slices.ContainsFunc(value, func(e any) bool { return !j.valid(arg.(map[string]any), e) })
		case "minItems":
			return float64(len(value)) >= arg.(float64)
		}
	case map[string]any:
		return j.object(s, keyword, arg, value)
	}
	known := []string{
		"enum", "pattern", "minLength", "minimum", "maximum", "items", "minItems", "properties", "propertyNames",
		"additionalProperties", "required", "minProperties", "maxProperties",
	}
	if !slices.Contains(known, keyword) {
		j.t.Fatalf("the schema uses %q, which this validator does not know", keyword)
	}
	return true
}

func (j judge) object(s map[string]any, keyword string, arg any, value map[string]any) bool {
	properties, _ := s["properties"].(map[string]any)
	switch keyword {
	case "required":
		return !slices.ContainsFunc(arg.([]any), func(k any) bool { _, ok := value[k.(string)]; return !ok })
	case "minProperties":
		return float64(len(value)) >= arg.(float64)
	case "maxProperties":
		return float64(len(value)) <= arg.(float64)
	}
	for k, v := range value {
		p, listed := properties[k].(map[string]any)
		switch keyword {
		case "properties":
			if listed && !j.valid(p, v) {
				return false
			}
		case "propertyNames":
			if !j.valid(arg.(map[string]any), k) {
				return false
			}
		case "additionalProperties":
			if each, ok := arg.(map[string]any); !listed && (!ok || !j.valid(each, v)) {
				return false
			}
		}
	}
	return true
}

func TestSchemaAcceptsWhatIsValid(t *testing.T) {
	t.Parallel()
	j := newJudge(t)
	texts := map[string]string{
		"starter": starter,
		"days": "fleets:\n  web:\n    provider: lab\n    size: 1\n    history: 90d\n    grace: 1d\n" +
			"    repair:\n      attempts: 3 in 2d12h\n",
		"bare words": "fleets:\n  web:\n    provider: lab\n    size: 1\n    unhealthy_when: a\n    checks:\n      " +
			"a:\n        ping:\n" +
			"    repair:\n      steps:\n        - start\n        - reboot:\n        - recreate: {}\n",
		"nothing": "providers:\nfleets:\n",
	}
	for _, path := range examples(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(data)
	}
	for name, text := range texts {
		if !j.accepts(text) {
			t.Errorf("%s is refused by the schema", name)
		}
	}
}

// What is wrong in form is seen in the editor already.
func TestSchemaRefusesWhatIsWrongInForm(t *testing.T) {
	t.Parallel()
	j := newJudge(t)
	for _, story := range []string{
		"attempts", "check-exec", "check-not-a-mapping", "check-tcp-without-port", "condition-empty",
		"duration-empty", "duration-not-one",
		"duration-without-unit", "external-stop", "fence-proof", "integer-forms", "later-keys",
		"limits", "names", "not-a-mapping",
		"percent", "provider-credentials", "provider-type", "several-at-once", "size", "size-of-memory",
		"steps-empty", "steps-forms",
		"steps-later", "steps-unknown", "unknown-key-elsewhere", "unknown-key-far", "unknown-key-near",
		"unknown-key-none-known",
		"unknown-key-too-high", "unknown-key-top", "wrong-forms",
	} {
		archive, err := txtar.ParseFile(fmt.Sprintf("testdata/invalid/%s.txtar", story))
		if err != nil {
			t.Fatal(err)
		}
		if j.accepts(string(archive.Files[0].Data)) {
			t.Errorf("%s is accepted by the schema", story)
		}
	}
}
