package ways_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/core/policy"
)

// The real ansible-playbook plays what is about a machine's fleet. Where no play is about the machine it ends well, and
// the hook has failed all the same: nothing was done.
func TestAPlaybookThatIsAboutNoMachineFails(t *testing.T) {
	t.Parallel()
	ssh := httptest.NewServer(http.NotFoundHandler()) // something that answers at the port
	t.Cleanup(ssh.Close)
	at := netip.MustParseAddrPort(ssh.Listener.Addr().String())
	play := func(hosts string) string {
		return "- hosts: " + hosts + "\n  connection: local\n  gather_facts: false\n" +
			"  tasks: [{ansible.builtin.debug: {msg: 'this is {{ inventory_hostname }} of {{ hale_fleet }}'}}]\n"
	}
	for name, c := range map[string]struct {
		playbook string
		failed   bool
	}{
		"by the fleet's name": {play("web"), false},
		"by all":              {play("all"), false},
		"one of several":      {play("db") + play("web"), false},
		"about another fleet": {play("db"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "site.yaml")
			if err := os.WriteFile(path, []byte(c.playbook), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := here.Run(t.Context(), errand(policy.Hook{Kind: policy.HookAnsible,
				Playbook: policy.Playbook{Path: path, Login: policy.Login{Port: int(at.Port())}}}))
			if failed := r.Code != 0 || fault.Is(err, fault.Permanent); failed != c.failed || err != nil && !failed {
				t.Fatalf("it failed: %v, and should have: %v (%d, %v)\n%s", failed, c.failed, r.Code, err, r.Output)
			}
			if !c.failed && !strings.Contains(r.Output, "this is web-2 of web") {
				t.Errorf("it says %s", r.Output)
			}
		})
	}
}
