package e2e

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/testbed/lab"
)

// envFaults is how many faults the records must survive; a run of the suite takes the few that time allows.
const envFaults = "E2E_RECORD_FAULTS"

// recordFleet is a fleet of machines that write records on a disk that QEMU does not guard: every instance of a machine
// may write to it at any time. Only hale keeps two from doing so.
const recordFleet = `      user_data: {file: %q}
      disks: {journal: ephemeral}
    checks:
      alive: {ping: {}, every: 500ms, timeout: 450ms, down_after: 3}
      page: {http: {path: /healthz}, every: 1s, timeout: 900ms, down_after: 3}
    on_external_stop: heal
    build_within: 1m
    repair: {attempts: 100 in 1h, backoff: 500ms, steps: [recreate]}`

// breakdowns are the ways in which machines fail. The old instance writes on in all but the first four.
var breakdowns = []lab.Fault{
	lab.FaultKill, lab.FaultPanic, lab.FaultOff, lab.FaultDestroy, lab.FaultLinkDown, lab.FaultNoNet, lab.FaultHang,
	lab.FaultNoHTTP, lab.FaultHTTP503,
}

// TestRecordsOfAnOlderInstanceNeverFollowANewerOnes has guests append numbered, signed records to a disk that all
// instances of a machine share while machines fail at random and are replaced, and hale and libvirtd die, or stand
// still, at random moments of that. In the end a second writer, behind hale's back, shows that the disks would not have
// kept it secret.
func TestRecordsOfAnOlderInstanceNeverFollowANewerOnes(t *testing.T) {
	t.Parallel()
	faults := rounds(t, envFaults, 3)
	s := newStage(t, "10.88.0.0/16", settings{fleet: "log", size: 3})
	s.write()
	defer func() {
		if t.Failed() {
			s.diagnose()
		}
	}()
	s.raise()
	s.stands()
	for m := range s.machines() {
		s.writes(m)
	}
	for range faults {
		victim := s.pick()
		old := s.machine(victim)
		mark := s.journal.mark()
		s.fault(victim, breakdowns[s.dice.IntN(len(breakdowns))])
		s.event("the verdict", mark, of(victim, verdict("unhealthy")))
		s.pause(3 * time.Second)
		disturbances[s.dice.IntN(len(disturbances))](s, victim)
		s.stands()
		if now := s.machine(victim); now.Instance == old.Instance {
			s.Fatalf("%s still is instance %s", victim, old.Instance)
		}
		s.writes(victim)
		s.lawful()
		s.wantOrder(victim)
	}
	for m := range s.machines() {
		r := s.wantOrder(m)
		t.Logf("%s: %d records of %d instances, in their order", m, r.records, len(r.instances))
	}
	s.betrayed()
}

// disturbances are what else goes wrong while a machine is repaired.
var disturbances = []func(s stage, victim string){
	func(stage, string) {},
	func(stage, string) {},
	func(s stage, _ string) {
		s.hale.kill()
		s.pause(500 * time.Millisecond)
		s.raise()
	},
	func(s stage, victim string) {
		s.must(s.lab.KillLibvirtd(s.within(moment)))
		if s.startingForEver(victim) {
			s.must(os.Remove(s.status(victim)))
		}
		s.pause(time.Second)
		s.must(s.lab.StartLibvirtd(s.within(moment)))
	},
	func(s stage, _ string) {
		s.must(s.lab.FreezeLibvirtd(s.within(moment)))
		s.pause(3 * time.Second)
		s.must(s.lab.ThawLibvirtd(s.within(moment)))
	},
}

// write has the machines write records, each on a disk of its own.
func (s stage) write() {
	s.Helper()
	xml, err := os.ReadFile("testdata/records.xml")
	s.must(err)
	script, err := filepath.Abs("testdata/records.sh")
	s.must(err)
	key := make([]byte, 16)
	_, err = rand.Read(key)
	s.must(err)
	s.props.key = hex.EncodeToString(key)
	g := s.lab.Info().Guest
	text := strings.NewReplacer("@kernel@", g.Kernel, "@initrd@", g.Initrd, "@disks@", s.lab.Info().Images,
		"@cmdline@", lab.KernelArgs+" console=ttyS0 hale.key="+s.key).Replace(string(xml))
	s.configure(func(set *settings) {
		set.xml = s.hale.path("records.xml")
		set.fleetYAML = fmt.Sprintf(recordFleet, script)
	})
	s.must(os.WriteFile(s.settings.xml, []byte(text), 0o600))
	for m := range s.machines() {
		s.must(os.WriteFile(s.disk(m), nil, 0o600))
		s.must(os.Truncate(s.disk(m), 64<<20))
	}
}

// disk is the file that all instances of a machine write to.
func (s stage) disk(machine string) string {
	return filepath.Join(s.lab.Info().Images, machine+".raw")
}

// writes waits until the machine's instance has written a record.
func (s stage) writes(machine string) {
	s.Helper()
	s.await(machine+" writes", func() error {
		m := s.machine(machine) // on a crowded machine it may have failed once more
		r, err := s.read(machine)
		if err == nil && r.last.instance != m.Instance {
			err = fmt.Errorf("the last record is that of %s, and it is %s", r.last.instance, m.Instance)
		}
		return err
	})
}

// wantOrder checks the records of a machine.
func (s stage) wantOrder(machine string) reading {
	s.Helper()
	r, err := s.read(machine)
	if err != nil {
		s.Fatalf("%s: %v", machine, err)
	}
	return r
}

// read reads the records of a machine.
func (s stage) read(machine string) (reading, error) {
	image, err := os.ReadFile(s.disk(machine))
	s.must(err)
	generations := map[string]uint64{}
	for _, e := range s.after(0) {
		if e.Machine == machine && e.Op == "create" && e.Instance != "" {
			generations[e.Instance] = e.Generation
		}
	}
	return readRecords(image, s.key, generations)
}

// betrayed lets an older instance write beside the present one, which hale would never do, and checks that its records
// tell.
func (s stage) betrayed() {
	s.Helper()
	victim := s.last
	r := s.wantOrder(victim)
	older := r.instances[0]
	s.must(s.hale.stop(s.within(moment)))
	now, err := s.lab.Virsh(s.within(moment), "dumpxml", "--inactive", victim)
	s.must(err)
	file := s.hale.path("betrayer.xml")
	s.must(os.WriteFile(file, []byte(betrayer(now, r.last.instance, older)), 0o600))
	_, err = s.lab.Virsh(s.within(moment), "create", file)
	s.must(err)
	var out disorder
	s.await("the records tell of the older instance", func() error {
		if _, err := s.read(victim); !errors.As(err, &out) {
			return fmt.Errorf("they tell: %w", err)
		}
		return nil
	})
	s.Logf("with an older instance beside it: %v", out)
}

// betrayer makes of an instance's definition that of an older one, which libvirt does not know any more.
func betrayer(xml, now, older string) string {
	xml = strings.ReplaceAll(xml, now, older)
	name, rest, _ := strings.Cut(xml, "</name>")
	xml = name + "-betrayer</name>" + rest
	before, mac, _ := strings.Cut(xml, "<mac address='")
	_, after, _ := strings.Cut(mac, "'/>")
	xml = before + "<mac address='52:54:00:00:00:01'/>" + after
	for _, path := range []string{".iso'", ".console.log'"} { // its own, or none
		xml = strings.ReplaceAll(xml, older+path, now+path)
	}
	return xml
}

// record is what a guest wrote into one block.
type record struct {
	place    int
	instance string
	boot     string
	count    int
}

// recordSize is that of a record on the disk, in bytes.
const recordSize = 512

// parseRecord reads a block, and checks its signature.
func parseRecord(block []byte, key string) (record, error) {
	text := strings.TrimRight(string(block), " \n")
	body, sign, _ := cutLast(text)
	want := sha256.Sum256([]byte(body + " " + key))
	if sign != hex.EncodeToString(want[:]) {
		return record{}, fmt.Errorf("a record with a wrong signature: %q", text)
	}
	var r record
	_, err := fmt.Sscanf(body, "RECORD %d %s %s %d", &r.place, &r.instance, &r.boot, &r.count)
	return r, err
}

func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// reading is what a disk's records say.
type reading struct {
	records   int
	instances []string // in the order in which they began to write
	last      record
}

// disorder is what must never be: the record of an instance or a boot that was over, or one that was written over.
type disorder struct {
	before, after record
	what          string
}

func (d disorder) Error() string {
	return fmt.Sprintf("%s: after %+v came %+v", d.what, d.before, d.after)
}

// readRecords reads a disk up to the first block without a record, and returns a disorder where there is one.
func readRecords(image []byte, key string, generations map[string]uint64) (reading, error) {
	var out reading
	seen := map[string]bool{}
	for n := 1; (n+1)*recordSize <= len(image); n++ {
		block := image[n*recordSize : (n+1)*recordSize]
		if !bytes.HasPrefix(block, []byte("RECORD")) {
			break
		}
		r, err := parseRecord(block, key)
		if err != nil {
			return out, fmt.Errorf("block %d: %w", n, err)
		}
		if d, wrong := disordered(out.last, r, n, seen, generations); wrong {
			return out, d
		}
		if r.instance != out.last.instance {
			out.instances = append(out.instances, r.instance)
		}
		seen[r.boot] = true
		out.records++
		out.last = r
	}
	if out.records == 0 {
		return out, errors.New("no record")
	}
	return out, nil
}

// disordered says what is wrong about the record at place n, given the one before it and the boots that have written.
func disordered(before, r record, n int, seen map[string]bool, generations map[string]uint64) (disorder, bool) {
	d := disorder{before: before, after: r}
	switch {
	case r.place != n:
		d.what = "a record of another place"
	case generations[r.instance] == 0:
		d.what = "a record of an instance that hale did not build"
	case generations[r.instance] < generations[before.instance]:
		d.what = "an older generation's follows a newer one's"
	case r.boot == before.boot && r.count != before.count+1:
		d.what = "one was written over"
	case r.boot != before.boot && seen[r.boot]:
		d.what = "a boot that was over goes on"
	case r.boot != before.boot && r.count != 1:
		d.what = "the first ones of a boot were written over"
	default:
		return d, false
	}
	return d, true
}

// TestDisorderIsSeen: no kind of disorder goes unnoticed.
func TestDisorderIsSeen(t *testing.T) {
	t.Parallel()
	const key = "k"
	line := func(r record) []byte {
		body := fmt.Sprintf("RECORD %d %s %s %d", r.place, r.instance, r.boot, r.count)
		sign := sha256.Sum256([]byte(body + " " + key))
		return fmt.Appendf(nil, "%-511s\n", body+" "+hex.EncodeToString(sign[:]))
	}
	generations := map[string]uint64{"a": 1, "b": 2}
	for name, tc := range map[string]struct {
		records []record
		want    string
	}{
		"in order": {[]record{{1, "a", "x", 1}, {2, "a", "x", 2}, {3, "b", "y", 1}}, ""},
		"an older one goes on": {[]record{{1, "a", "x", 1}, {2, "b", "y", 1}, {3, "a", "x", 2}},
			"an older generation's follows a newer one's"},
		"an older one boots": {[]record{{1, "b", "y", 1}, {2, "a", "z", 1}},
			"an older generation's follows a newer one's"},
		"one is gone": {[]record{{1, "a", "x", 1}, {2, "a", "x", 3}}, "one was written over"},
		"the first is gone": {[]record{{1, "a", "x", 1}, {2, "b", "y", 2}},
			"the first ones of a boot were written over"},
		"a boot goes on": {[]record{{1, "a", "x", 1}, {2, "a", "z", 1}, {3, "a", "x", 2}},
			"a boot that was over goes on"},
		"it was written elsewhere": {[]record{{1, "a", "x", 1}, {3, "a", "x", 2}}, "a record of another place"},
		"of a stranger":            {[]record{{1, "c", "x", 1}}, "a record of an instance that hale did not build"},
	} {
		empty := make([]byte, recordSize)
		blocks := [][]byte{empty}
		for _, r := range tc.records {
			blocks = append(blocks, line(r))
		}
		_, err := readRecords(slices.Concat(append(blocks, empty)...), key, generations)
		var d disorder
		errors.As(err, &d)
		if d.what != tc.want {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	forged := bytes.Replace(line(record{1, "a", "x", 1}), []byte(" a "), []byte(" b "), 1)
	if _, err := readRecords(slices.Concat(make([]byte, recordSize), forged), key, generations); err == nil {
		t.Error("a forged record is read")
	}
}
