package ways_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/hook/ways"
	"hale/internal/program"
	"hale/internal/program/programtest"
)

// errand is a hook for web-2, which is at 127.0.0.1.
func errand(h policy.Hook) *situation.Errand {
	h.Name, h.Within = "drain", 20*time.Second
	return &situation.Errand{Hook: h, Moment: fleet.MomentLeave, Repair: "web-2/r1", Incident: "web-2/1",
		Kind: belief.RepairHeal, Step: fleet.StepRecreate, Facts: policy.Facts{Machine: "web-2", Instance: "i-2",
			Host: "h1", Address: netip.MustParseAddr("127.0.0.1")}}
}

var here = ways.Ways{Programs: program.Here{}, Version: "test"}

// A command is told which machine it is about, and what it floods is cut.
func TestACommandIsToldAndItsFloodIsCut(t *testing.T) {
	t.Parallel()
	script := programtest.Script(t, "drain",
		`echo "$1 $2"; i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done`)
	r, err := here.Run(t.Context(), errand(policy.Hook{Kind: policy.HookCommand,
		Run: policy.Command{Args: []string{script, "{name}", "{ip}"}}}))
	if err != nil || r.Code != 0 || !strings.HasPrefix(r.Output, "web-2 127.0.0.1\n") {
		t.Fatalf("%d, %v: %.80s", r.Code, err, r.Output)
	}
	if len(r.Output) > 64<<10 || !strings.Contains(r.Output, "left out") {
		t.Errorf("%d bytes of a flood are kept", len(r.Output))
	}
}

// A request says what it is about. Only a 2xx is a yes; 503 is tried again, and of another failure of the receiver it
// is unknown what came of the request (L12).
func TestARequestSaysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]fault.Kind{http.StatusNoContent: "", http.StatusServiceUnavailable: fault.Transient,
		http.StatusTooManyRequests: fault.Throttled, http.StatusFound: fault.Transient,
		http.StatusInternalServerError: fault.UnknownOutcome, http.StatusBadGateway: fault.UnknownOutcome,
		http.StatusBadRequest: fault.Invalid} {
		var got map[string]string
		to := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(body, &got)
			if r.Header.Get("X-Team") != "web" {
				got = nil
			}
			w.WriteHeader(code)
		}))
		_, err := here.Run(t.Context(), errand(policy.Hook{Kind: policy.HookHTTP, Request: policy.HookRequest{
			URL: policy.Variable{Value: to.URL}, Headers: []policy.Header{{Name: "X-Team", Value: "web"}}}}))
		to.Close()
		if code != http.StatusFound && fault.KindOf(err) != want || code == http.StatusFound && err == nil {
			t.Errorf("%d: %v", code, err)
		}
		if got["machine"] != "web-2" || got["fleet"] != "web" || got["hook"] != "drain" || got["moment"] != "leave" ||
			got["instance"] != "i-2" || got["address"] != "127.0.0.1" || got["step"] != "recreate" {
			t.Errorf("%d: it is told %v", code, got)
		}
	}
}

// A playbook is about one machine alone: the program gets an inventory of it.
func TestAPlaybookIsAboutOneMachine(t *testing.T) {
	t.Parallel()
	ssh := httptest.NewServer(http.NotFoundHandler()) // something that answers at the port
	t.Cleanup(ssh.Close)
	at := netip.MustParseAddrPort(ssh.Listener.Addr().String())
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("of\nthe\nmachine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := &recorder{}
	_, err := ways.Ways{Programs: seen}.Run(t.Context(), errand(policy.Hook{Kind: policy.HookAnsible,
		Playbook: policy.Playbook{Path: "/etc/hale/site.yaml", Args: []string{"--diff"},
			Login: policy.Login{User: "root", Key: key, Port: int(at.Port())}}}))
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Join(seen.job.Args, " ")
	if !strings.HasPrefix(args, "ansible-playbook -i /") || !strings.HasSuffix(args, " --diff /etc/hale/site.yaml") {
		t.Errorf("it runs %s", args)
	}
	var inventory struct {
		All struct {
			Hosts    map[string]map[string]any
			Children map[string]struct{ Hosts map[string]any }
		}
	}
	if err := json.Unmarshal(seen.inventory, &inventory); err != nil || len(inventory.All.Hosts) != 1 ||
		inventory.All.Hosts["web-2"]["ansible_host"] != "127.0.0.1" ||
		inventory.All.Hosts["web-2"]["hale_fleet"] != "web" || len(inventory.All.Children["web"].Hosts) != 1 {
		t.Errorf("%v: %s", err, seen.inventory)
	}
	if _, err := os.Stat(seen.job.Args[2]); err == nil {
		t.Error("the inventory is left behind")
	}
}

// recorder notes what it is to run.
type recorder struct {
	job       program.Job
	inventory []byte
}

func (r *recorder) Run(_ context.Context, j program.Job) (program.Result, error) {
	r.job = j
	r.inventory, _ = os.ReadFile(j.Args[2])
	return program.Result{}, nil
}

// A machine at which SSH does not answer is waited for, and no longer than there is time.
func TestSSHIsWaitedFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := here.Run(ctx, errand(policy.Hook{Kind: policy.HookAnsible, Playbook: policy.Playbook{Path: "site.yaml",
		Login: policy.Login{Port: 9}}}))
	if !fault.Is(err, fault.Transient) {
		t.Errorf("it says %v", err)
	}
}
