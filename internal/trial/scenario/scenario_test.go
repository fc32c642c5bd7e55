package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/sim"
	"hale/internal/sim/script"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// ten is the smallest configuration of a scenario, ten lines with its marker.
const ten = `-- hale.yaml --
providers: {lab: {type: simulated}}
fleets:
  web:
    provider: lab
    size: 3
    template: {image: web.qcow2, disks: {root: ephemeral}}
    checks: {alive: {ping: {}, every: 5s, timeout: 1s, down_after: 3}}
    repair: {steps: [start, recreate: {}]}
`

// TestWhatIsWrongWithAFile: each mistake is named with its line, and the way out.
func TestWhatIsWrongWithAFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file string
		want []string // problems in their order, by what they say
	}{
		"an empty file": {"",
			[]string{"f.txt:1: begins without a purpose", "f.txt:1: has no part hale.yaml: it says which fleet"}},
		"no purpose": {ten,
			[]string{"f.txt:1: begins without a purpose: say in a sentence what it shows, before the first part"}},
		"no fleet": {"A story.\n-- events --\n1m web-1 crashes\n", []string{"f.txt:1: has no part hale.yaml"}},
		"a part that is none": {"A story.\n" + ten + "-- evnts --\n1m web-1 crashes\n",
			[]string{`f.txt:11: there is no part "evnts": the parts are hale.yaml, world, load, events, expect, trace`}},
		"a part without a name": {"A story.\n-- --\n", []string{"f.txt:2: a part has no name: write -- hale.yaml --"}},
		"a part said twice": {"A story.\n" + ten + "-- world --\n-- world --\nempty\n",
			[]string{"f.txt:12: part world is there already, on line 11: keep one of the two"}},
		"a mistake in the configuration": {"A story.\n\n" + strings.Replace(ten, "size", "siez", 1),
			[]string{"f.txt:6: fleets.web", "f.txt:8: fleets.web.siez: unknown key"}},
		"two fleets": {"A story.\n-- hale.yaml --\nproviders: {lab: {type: simulated}}\nfleets: {a: {provider: lab, " +
			"size: 1}, b: {provider: lab, size: 1}}\n",
			[]string{"f.txt:3: a scenario is about one fleet, and here are 2: write a file for each"}},
		"settings that are none": {"A story.\n" + ten +
			"-- world --\nhost h1 rack\nhost h1 row 3\nspeed 9\nservers many\nservers 10\nrun -1m\nboot soon\nfull\n",
			[]string{
				"f.txt:12: the name of the rack is missing: write pairs, as host h1 rack r1",
				`f.txt:13: a host has a rack, room, zone, network and storage, but no "row"`,
				`f.txt:14: there is no setting "speed": write host, empty, or one of boot, calm, capacity, latency, operator, ` +
					`run, seed, servers`,
				"f.txt:15: servers many: write a whole number from 1 to 9",
				"f.txt:16: servers 10: write a whole number from 1 to 9",
				"f.txt:17: run -1m: write a duration, as 30s or 1h30m", "f.txt:18: boot soon: write a duration",
				`f.txt:19: "full": write host NAME rack R room M zone Z network N storage S, home MACHINE HOST, ` +
					`empty, measure METRIC QUANTITY, pool BALANCER WAIT, after FLEET, or one of boot, calm, capacity`,
			}},
		"events that cannot be": {"A story.\n" + ten +
			"-- events --\n# a comment\n1m web-9 crashes\n1m hale-2 dies\n\n1m host h9 loses power\n1m web-1 " +
			"explodes\nweb-1 crashes\n",
			[]string{
				"f.txt:13: web-9 crashes: fleet web has machines web-1 to web-3",
				"f.txt:14: hale-2 dies: the servers are hale-1 to hale-1",
				"f.txt:16: host h9 loses power: no host lies in host h9",
				`f.txt:17: "web-1 explodes" says nothing that can happen to a machine`,
				`f.txt:18: "web-1 crashes": begin with the time since the start`,
			}},
		"expectations that are none": {"A story.\n" + ten +
			"-- expect --\nrepairs\nheals 1\nrepairs >= 1\nrepairs few\nrepairs NaN\n",
			[]string{
				`f.txt:12: "repairs": write a figure and its value, as repairs 1, held > 0 or paged < 2`,
				`f.txt:13: the score has no "heals"; it has actions, below_least, brake_hours,`,
				`f.txt:14: "repairs >= 1": write a figure`, `f.txt:15: "few" is no number`,
				`f.txt:16: "NaN" is no number`,
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Parse("f.txt", []byte(c.file))
			var got Problems
			if !errors.As(err, &got) || s != nil {
				t.Fatalf("no problem was found: %v", err)
			}
			if len(got) != len(c.want) {
				t.Fatalf("%d problems, wanted %d:\n%v", len(got), len(c.want), got)
			}
			for i, p := range got {
				if !strings.HasPrefix(p.String(), c.want[i]) {
					t.Errorf("problem %d is\n%s\nand should begin with\n%s", i+1, p, c.want[i])
				}
			}
		})
	}
}

// TestAWholeFile: every part is taken over, in whatever order they come.
func TestAWholeFile(t *testing.T) {
	t.Parallel()
	s, err := Parse("f.txt", []byte(`A story in
two lines.
-- events --
2m  host h2 loses power for 5m   # with its control plane
1m  web-1 crashes
-- expect --
repairs 1
held > 0
-- world --
host h2 rack r1 room m1 zone z1 network n1 storage s1
host h1
servers 3
seed 7
run 20m
calm 5m
boot 9s
latency 80ms
operator 30m
empty
`+ten))
	if err != nil {
		t.Fatal(err)
	}
	if s.Purpose != "A story in\ntwo lines." || s.Trace != nil {
		t.Errorf("purpose %q, trace %q", s.Purpose, s.Trace)
	}
	o := s.Options
	if o.Spec.Name != "web" || o.Spec.Size != 3 {
		t.Errorf("the fleet is %s of %d", o.Spec.Name, o.Spec.Size)
	}
	o.Spec = sim.Options{}.Spec
	want := sim.Options{
		Hosts: []world.Host{
			{Name: "h2", Rack: "r1", Room: "m1", Zone: "z1", Network: "n1", Storage: "s1"},
			{Name: "h1"},
		},
		Servers: 3, Seed: 7, Horizon: 20 * time.Minute, Calm: 5 * time.Minute, Boot: 9 * time.Second,
		BootMost: 9 * time.Second,
		Latency:  80 * time.Millisecond, LatencyMost: 80 * time.Millisecond, Poll: 5 * time.Second,
		Operator: 30 * time.Minute, Empty: true,
		Plan: []script.Event{
			{At: 2 * time.Minute, Subject: "host h2", Verb: verbs.LosesPower, For: 5 * time.Minute},
			{At: time.Minute, Subject: "web-1", Verb: verbs.Crashes},
		},
	}
	if diff := cmp.Diff(want, o, cmpopts.IgnoreUnexported(sim.Options{})); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Expectation{{"repairs", "=", 1, 7}, {"held", ">", 0, 8}}, s.Expect); diff != "" {
		t.Errorf("expectations (-want +got):\n%s", diff)
	}
}

// TestHostsOfTheConfiguration: the world says more about the hosts that the configuration names, and adds others.
func TestHostsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	libvirt := strings.Replace(ten, "{lab: {type: simulated}}",
		`{lab: {type: libvirt, hosts: [{name: h1, uri: "qemu+tls://h1/system"}, `+
			`{name: h2, uri: "qemu+tls://h2/system", room: m1}]}}`, 1)
	s, err := Parse("f.txt", []byte("A story.\n"+libvirt+"-- world --\nhost h2 rack r2\nhost h3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]world.Host{{Name: "h1"}, {Name: "h2", Rack: "r2", Room: "m1"}, {Name: "h3"}},
		s.Options.Hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
}

// TestWhatIsLeftOut: a run lasts an hour longer than its last event, and a minute more without new ones.
func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	s, err := Parse("f.txt", []byte("A story.\n"+ten+"-- events --\n1m web-1 hangs for 10m\n5m web-1 crashes\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Options.Horizon != 71*time.Minute || s.Options.Calm != time.Minute || s.Options.Empty {
		t.Errorf("%v and %v, empty %v", s.Options.Horizon, s.Options.Calm, s.Options.Empty)
	}
}

func TestFilesOfAFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"b.txt", "a.txtar", ".b.txt", "README.md", "c.txt~"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("A story.\n"+ten), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "d.txt"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := Files(folder)
	if want := []string{filepath.Join(folder, "a.txtar"), filepath.Join(folder, "b.txt")}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Files(filepath.Join(folder, "README.md")); err != nil || len(got) != 1 {
		t.Errorf("a file that is named is taken whatever it is called: %v, %v", got, err)
	}
	if _, err := Files(t.TempDir()); err == nil || !strings.Contains(err.Error(), "they end in .txt or .txtar") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Files(filepath.Join(folder, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent folder: %v", err)
	}
	if _, err := Load(filepath.Join(folder, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}
