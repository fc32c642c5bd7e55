package external

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the contract's schema anew")

const schemaFile = "../../../docs/reference/exec-provider.schema.json"

// object is a piece of JSON.
type object = map[string]any

// operations are all of the contract, with the type of their results; nil: lines of events.
var operations = map[operation]any{
	opDescribe:     description{},
	opIdentity:     identities{},
	opList:         listed{},
	opGet:          got{},
	opStart:        nothing{},
	opReboot:       nothing{},
	opPowerOff:     nothing{},
	opCreate:       nothing{},
	opDelete:       nothing{},
	opCertify:      nothing{},
	opResume:       nothing{},
	opSoftReboot:   nothing{},
	opRebuild:      nothing{},
	opKeep:         nothing{},
	opRestore:      nothing{},
	opSnapshot:     copied{},
	opDropSnapshot: nothing{},
	opAdjust:       nothing{},
	opPingGuest:    nothing{},
	opConsole:      shown{},
	opScreenshot:   shown{},
	opWatch:        nil,
	opStarts:       noted{},
	opNoteStart:    nothing{},
	opForgetStart:  nothing{},
}

// needed are the fields of answers that must be there, by their types; the others count as empty.
var needed = map[reflect.Type][]string{
	reflect.TypeFor[description](): {"contract"},
	reflect.TypeFor[identities]():  {"identities"},
	reflect.TypeFor[got]():         {"instance"},
	reflect.TypeFor[noted]():       {"starts"},
	reflect.TypeFor[instance]():    {"id", "name", "power"},
	reflect.TypeFor[mark]():        {"installation", "machine", "generation"},
	reflect.TypeFor[trouble]():     {"kind"},
}

// words are the closed sets, by the type and the field that has one of them.
var words = map[string]any{
	"instance.power":        powers,
	"instance.stop":         stops,
	"trouble.kind":          faultKinds,
	"description.abilities": Abilities(),
}

// contract describes requests and answers as JSON Schema.
func contract() object {
	d := &definitions{all: object{}}
	ask := d.of(reflect.TypeFor[request](), false)
	names := make([]string, 0, len(operations))
	for op, result := range operations {
		names = append(names, string(op))
		if result != nil {
			d.all["answer-"+string(op)] = object{"oneOf": []any{
				object{
					"type":                 "object",
					"properties":           object{"result": d.of(reflect.TypeOf(result), true)},
					"required":             []string{"result"},
					"additionalProperties": false,
				},
				object{
					"type":                 "object",
					"properties":           object{"error": d.of(reflect.TypeFor[trouble](), true)},
					"required":             []string{"error"},
					"additionalProperties": false,
				},
			}}
		}
	}
	slices.Sort(names)
	d.all["request"].(object)["properties"].(object)["operation"] = object{"enum": names}
	d.of(reflect.TypeFor[event](), true)
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The contract of exec providers, version 1",
		"description": "A request is $defs/request; the answer to an operation is $defs/answer-OPERATION; a line of " +
			"watch is $defs/event. What they mean: exec-provider.md.",
		"$ref": ask["$ref"], "$defs": d.all,
	}
}

// definitions are the types that were met.
type definitions struct{ all object }

// of describes a type. Of an answer, keys that are not known are mistyped, and few need be there.
func (d *definitions) of(t reflect.Type, answer bool) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[[]byte]():
		return object{"type": "string", "contentEncoding": "base64"}
	case t.Kind() == reflect.Pointer:
		return object{"oneOf": []any{d.of(t.Elem(), answer), object{"type": "null"}}}
	case t.Kind() == reflect.Slice:
		return object{"type": []string{"array", "null"}, "items": d.of(t.Elem(), answer)}
	case t.Kind() == reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": d.of(t.Elem(), answer)}
	case t.Kind() == reflect.Struct:
		name := t.Name()
		if !answer && t != reflect.TypeFor[request]() {
			name = "request-" + name
		}
		if d.all[name] == nil {
			d.all[name] = object{} // it may be within itself
			d.all[name] = d.fields(t, answer)
		}
		return object{"$ref": "#/$defs/" + name}
	case t.Kind() == reflect.String:
		return object{"type": "string"}
	case t.Kind() == reflect.Bool:
		return object{"type": "boolean"}
	case t.Kind() == reflect.Float64:
		return object{"type": "number"}
	case t.Kind() == reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case t.Kind() == reflect.Int:
		return object{"type": "integer"}
	}
	panic(fmt.Sprintf("the contract has a %s, which has no schema", t))
}

func (d *definitions) fields(t reflect.Type, answer bool) object {
	properties, required := object{}, slices.Clone(needed[t])
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		of := f.Type
		if slices.Contains(required, name) && of.Kind() == reflect.Pointer {
			of = of.Elem() // it must be there, so null will not do
		}
		p := d.of(of, answer)
		if set, ok := words[t.Name()+"."+name]; ok {
			if p["items"] != nil {
				p["items"] = object{"enum": set}
			} else {
				p = object{"enum": set}
			}
		}
		properties[name] = p
		if !answer && options == "" && !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	out := object{"type": "object", "properties": properties, "additionalProperties": !answer}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// The contract is published for authors of programs; go test ./internal/provider/external -update writes it anew.
func TestTheContractsSchemaIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := json.MarshalIndent(contract(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: go test ./internal/provider/external -update", schemaFile)
	}
}

// valid checks a value against as much of JSON Schema as the contract's has.
func valid(defs, schema object, v any) error {
	if ref, ok := schema["$ref"].(string); ok {
		return valid(defs, defs[strings.TrimPrefix(ref, "#/$defs/")].(object), v)
	}
	if choice, ok := schema["oneOf"].([]any); ok {
		var errs []string
		for _, s := range choice {
			if err := valid(defs, s.(object), v); err != nil {
				errs = append(errs, err.Error())
			}
		}
		if len(errs) != len(choice)-1 {
			return fmt.Errorf("%d of %d fit: %s", len(choice)-len(errs), len(choice), strings.Join(errs, "; "))
		}
		return nil
	}
	if schema["type"] == "null" && v != nil {
		return fmt.Errorf("%v is not null", v)
	}
	if set, ok := schema["enum"].([]any); ok && !slices.Contains(set, v) {
		return fmt.Errorf("%v is none of %v", v, set)
	}
	if s, ok := v.(string); ok && schema["type"] == "integer" {
		return fmt.Errorf("%q is no number", s)
	}
	if list, ok := v.([]any); ok {
		for _, e := range list {
			if err := valid(defs, schema["items"].(object), e); err != nil {
				return err
			}
		}
	}
	fields, ok := v.(object)
	if wants := schema["type"] == "object"; wants != ok && schema["properties"] != nil {
		return fmt.Errorf("%v is no object", v)
	}
	return validFields(defs, schema, fields)
}

func validFields(defs, schema, fields object) error {
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := fields[name.(string)]; !ok {
			return fmt.Errorf("%s is missing", name)
		}
	}
	properties, _ := schema["properties"].(object)
	for name, v := range fields {
		p, known := properties[name].(object)
		if !known && schema["additionalProperties"] == false {
			return fmt.Errorf("%s is unknown", name)
		}
		if !known {
			continue
		}
		if err := valid(defs, p, v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// What hale sends is in the schema, and the schema judges answers as hale does.
func TestTheContractsSchemaJudgesAsHaleDoes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs object `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	judge := func(name, text string) error {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return valid(schema.Defs, object{"$ref": "#/$defs/" + name}, v)
	}
	mark := `{"installation": "i", "fleet": "web", "machine": "web-1", "generation": 1, "certified": false, "built": "2026-11-21T18:00:00Z", "kept": false}`
	for name, c := range map[string]struct {
		of, text string
		fits     bool
	}{
		"a request": {
			"request",
			`{"hale": 1, "operation": "get", "seconds": 1, "instance": {"id": "i", "host": "", "adopted": false, "mark": ` + mark + `}}`,
			true,
		},
		"one that hale never sends": {"request", `{"hale": 1, "operation": "explode", "seconds": 1}`, false},
		"one without a limit":       {"request", `{"hale": 1, "operation": "list"}`, false},
		"a description": {
			"answer-describe",
			`{"result": {"contract": 1, "name": "x", "abilities": ["console"]}}`,
			true,
		},
		"an unknown ability": {"answer-describe", `{"result": {"contract": 1, "abilities": ["fly"]}}`, false},
		"an empty list":      {"answer-list", `{"result": {"instances": []}}`, true},
		"an instance": {
			"answer-get",
			`{"result": {"instance": {"id": "i", "name": "n", "power": "off", "mark": null}}}`,
			true,
		},
		"one with a mark": {
			"answer-get",
			`{"result": {"instance": {"id": "i", "name": "n", "power": "off", "mark": ` + mark + `}}}`,
			true,
		},
		"one without power": {"answer-get", `{"result": {"instance": {"id": "i", "name": "n"}}}`, false},
		"no instance":       {"answer-get", `{"result": {"instance": null}}`, false},
		"a word of one's own": {
			"answer-get",
			`{"result": {"instance": {"id": "i", "name": "n", "power": "asleep"}}}`,
			false,
		},
		"a mistyped key": {
			"answer-get",
			`{"result": {"instance": {"id": "i", "name": "n", "power": "off", "adress": ""}}}`,
			false,
		},
		"nothing":         {"answer-start", `{"result": {}}`, true},
		"an error":        {"answer-start", `{"error": {"kind": "conflict", "message": "it runs"}}`, true},
		"an unknown kind": {"answer-start", `{"error": {"kind": "sad"}}`, false},
		"both":            {"answer-start", `{"result": {}, "error": {"kind": "conflict"}}`, false},
		"neither":         {"answer-start", `{}`, false},
		"an event":        {"event", `{"instance": "i"}`, true},
	} {
		if err := judge(c.of, c.text); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}
