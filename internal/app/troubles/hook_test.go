package troubles_test

import (
	"path/filepath"
	"testing"

	"hale/internal/app/troubles"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// The secrets and keys of hooks can be looked for before their time comes, of each kind of hook.
func TestWhatAHookNeedsIsLookedFor(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	kept := fleet.Secret{File: none}
	for name, h := range map[string]policy.Hook{
		"a variable": {Run: policy.Command{Env: []policy.Variable{{Name: "A", Secret: kept}}}},
		"an address": {Request: policy.HookRequest{URL: policy.Variable{Secret: kept}}},
		"a header":   {Request: policy.HookRequest{Headers: []policy.Header{{Secret: kept}}}},
		"a playbook": {Playbook: policy.Playbook{Login: policy.Login{Key: none}}},
		"files":      {Copy: policy.Copying{Login: policy.Login{Key: none}}},
	} {
		all := troubles.SecretsOfHook(&h)
		if len(all) != 1 {
			t.Errorf("%s: it needs %d secrets", name, len(all))
			continue
		}
		if _, err := all[0].Resolve(t.Context()); err == nil {
			t.Errorf("%s: it is not missed", name)
		}
	}
	if all := troubles.SecretsOfHook(&policy.Hook{Run: policy.Command{Args: []string{"true"}}}); len(all) > 0 {
		t.Errorf("a hook without secrets needs %d", len(all))
	}
}
