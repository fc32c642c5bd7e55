package external

import (
	"testing"

	"hale/internal/core/fault"
)

// FuzzAnswer: whatever a program writes, it is a result, or an error of the kind that its operation may have; of a
// list nothing is there twice.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"result": {"instances": [{"id": "a", "name": "web-1", "power": "running", "address": "10.0.0.1"}]}}`,
		`{"result": {"hosts": [{"name": "h1", "error": {"kind": "transient", "message": "x"}}], "instances": []}}`,
		`{"result": {"instance": {"id": "a", "name": "web-1", "power": "off", ` +
			`"mark": {"installation": "i", "machine": "web-1", "generation": 1, "built": "2026-01-01T00:00:00Z"}}}}`,
		`{"result": {"identities": {"": "x"}}}`, `{"error": {"kind": "not found", "message": "x"}}`, `{"error": {}}`,
		`{"result": null}`, `{"result": {}, "error": {}}`, `[]`, ``,
	} {
		f.Add([]byte(seed), 0)
	}
	f.Fuzz(func(t *testing.T, text []byte, code int) {
		p, err := New(Options{Command: []string{"x"}})
		if err != nil {
			t.Fatal(err)
		}
		judge := func(r request, into any) bool {
			err := p.judge(r, reply{code: code, text: text, said: p.ear(r, nil, 1)}, into)
			if err != nil && fault.KindOf(err) == "" {
				t.Errorf("%s: an error of no kind: %v", r.Operation, err)
			}
			return err == nil
		}
		var l listed
		if judge(request{Operation: opList}, &l) {
			out, err := l.listing()
			seen := map[string]bool{}
			for _, i := range out.Instances {
				at := string(i.Host) + "\x00" + string(i.ID)
				if err == nil && (i.ID == "" || i.Name == "" || seen[at]) {
					t.Errorf("it lists %+v", i)
				}
				seen[at] = true
			}
		}
		var g got
		if judge(request{Operation: opGet, Instance: &reference{ID: "a"}}, &g) && g.Instance != nil {
			_, _ = g.Instance.instance()
		}
		var ids identities
		judge(request{Operation: opIdentity}, &ids)
		if code != 0 && judge(request{Operation: opPowerOff, Instance: &reference{ID: "a"}}, &struct{}{}) {
			t.Errorf("exit code %d is success", code)
		}
	})
}
