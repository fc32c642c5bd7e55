package app_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"testing"

	"hale/api"
	"hale/internal/app"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"

	"github.com/google/go-cmp/cmp"
)

// plan makes a plan and returns it as "machine: verdict, action".
func (h *house) plan() (api.Plan, []string) {
	h.t.Helper()
	p, err := app.Plan(h.t.Context(), app.PlanOptions{
		Config:  h.config,
		DataDir: h.dir,
		Client:  h.client(h.socket),
		Logger:  slog.New(slog.DiscardHandler),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	var said []string
	for _, m := range p.Fleets[0].Machines {
		said = append(said, m.Machine+": "+m.Verdict+", "+m.Action+m.Held.Code)
	}
	return p, said
}

// prints tells the content of every file in the data folder.
func (h *house) prints() map[string]string {
	h.t.Helper()
	found := map[string]string{}
	root := os.DirFS(h.dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		found[name] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}

// S73: the operator runs plan; the decisions for the present state are listed, and nothing is done.
func TestS73APlanListsWhatWouldBeDone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick)
	p, said := h.plan()
	if diff := cmp.Diff([]string{"web-1: unknown, build", "web-2: unknown, build"}, said); diff != "" {
		t.Error(diff)
	}
	if p.State != api.FromNothing || !p.Settled {
		t.Errorf("got %s, settled %v", p.State, p.Settled)
	}
	if _, err := os.Stat(h.dir); !os.IsNotExist(err) {
		t.Errorf("a plan made the data folder: %v", err)
	}
}

func TestS73APlanTouchesNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick)
	stop := h.run()
	h.await("built", allWell)
	want := []string{"web-1: healthy, none", "web-2: healthy, none"}
	client := api.Dial(h.socket)
	defer client.Close()
	before, err := client.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, said := h.plan()
	if diff := cmp.Diff(want, said); diff != "" || p.State != api.FromController {
		t.Errorf("%s: %s", p.State, diff)
	}
	after, err := client.State(t.Context())
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Errorf("the controller's beliefs are other ones: %v %s", err, diff)
	}
	stop()

	files := h.prints()
	p, said = h.plan()
	if diff := cmp.Diff(want, said); diff != "" || p.State != api.FromDataFolder {
		t.Errorf("%s: %s", p.State, diff)
	}
	if diff := cmp.Diff(files, h.prints()); diff != "" {
		t.Errorf("the data folder was touched: %s", diff)
	}
}

func TestAPlanDoesNotReadBehindAControllersBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t, quick)
	h.run()
	h.await("built", allWell)
	_, err := app.Plan(t.Context(), app.PlanOptions{
		Config:  h.config,
		DataDir: h.dir,
		Client:  h.client(h.socket + "2"),
		Logger:  slog.New(slog.DiscardHandler),
	})
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("got %v", err)
	}
}

// A plan asks a provider at the address where hale is connected, as hale does until a person confirms an edited one.
// The answer must not pass for the new address's.
func TestS73APlanSaysThatItAskedWhereAProviderWas(t *testing.T) {
	t.Parallel()
	const two = "hosts: [{name: h1}, {name: h2}]"
	h := newHouse(t, strings.Replace(quick, "poll: 500ms", "poll: 500ms, "+two, 1))
	h.run()
	h.await("built", allWell)
	if p, _ := h.plan(); len(p.Fleets[0].Warnings) != 0 {
		t.Errorf("nothing is edited, and it warns: %q", p.Fleets[0].Warnings)
	}
	h.config = newHouse(t, strings.Replace(quick, "poll: 500ms", "poll: 500ms, hosts: [{name: h1}]", 1)).config
	p, _ := h.plan()
	w := p.Fleets[0].Warnings
	if len(w) != 1 || !strings.HasPrefix(w[0], "provider lab has another address in this configuration: ") {
		t.Errorf("got %q", w)
	}
}

// What is held, and what is done, goes by how the fleets that come first stand at the end of the look.
func TestS73APlanKnowsHowTheFleetsStandThatComeFirst(t *testing.T) {
	t.Parallel()
	h := newHouse(t, ordered(2))
	stop := h.run()
	h.await("built", allWell)
	stop()
	h.config = newHouse(t, ordered(3)).config
	for settled, tries := 0, 0; settled < 5; tries++ {
		p, _ := h.plan()
		if !p.Settled && tries < 20 {
			continue // on a busy machine the look may end before the database is judged, and the plan says so
		}
		settled++
		var said []string
		for _, m := range p.Fleets[1].Machines {
			said = append(said, m.Machine+": "+m.Action+" "+m.Held.Code)
		}
		if diff := cmp.Diff([]string{"web-1: none ", "web-2: none ", "web-3: build "}, said); diff != "" {
			t.Errorf("its database serves: %s", diff)
		}
	}
	h = newHouse(t, ordered(2))
	if p, _ := h.plan(); p.Fleets[1].Machines[0].Held.Code != string(fleet.ReasonAfter) {
		t.Errorf("its database is not there: %+v", p.Fleets[1].Machines)
	}
}

// ordered is a web of so many machines behind a database.
func ordered(size int) string {
	return fmt.Sprintf(`
providers: {lab: {type: simulated, boot: 100ms, poll: 500ms}}
fleets:
  db:
    provider: lab
    size: 1
    template: {image: db.qcow2, disks: {root: ephemeral}}
    checks: {page: {http: {port: 8080}, every: 200ms, timeout: 100ms, down_after: 2, up_after: 1}}
  web:
    provider: lab
    size: %d
    after: [db]
    template: {image: web.qcow2, disks: {root: ephemeral}}
    checks: {page: {http: {port: 8080}, every: 200ms, timeout: 100ms, down_after: 2, up_after: 1}}
`, size)
}
