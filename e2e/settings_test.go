package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"hale/internal/testbed/lab"
)

// settings are what a scene's configuration says; the rest is the same for all.
type settings struct {
	fleet string
	also  []string // further fleets, the same in all but their name
	size  int
	// sizes is the YAML of `size` where the size moves, and most the number of machines that it may reach. With most,
	// the provider is asked every second.
	sizes  string
	most   int
	checks []string // names of knownChecks
	// downAfter is how many failures in a row make a check down; 0 means three.
	downAfter int
	ladder    string // YAML of repair.steps
	stop      string // on_external_stop; empty: hale's default
	build     time.Duration
	// memory of a machine, in MiB; 0: what the guest needs. Another one is given to a machine where it is.
	memory int
	// release stands on the kernel's command line unless it is 0. With another one, a machine is built anew.
	release int
	// state is the folder of disks and seeds; empty: the lab's.
	state string
	// xml is a domain of one's own, instead of the guest's kernel.
	xml string
	// providerYAML is the provider "lab" in other words, with what it needs beside.
	providerYAML string
	// fleetYAML replaces everything above but fleet and size, and says nothing that it does not mean.
	fleetYAML string
}

// pingEvery is short, but no shorter than an operator with few machines would write it.
const pingEvery = 500 * time.Millisecond

// knownChecks are the three ways to look at a guest. An emulated one may be slow to answer while others boot.
var knownChecks = map[string]string{
	"alive": "ping: {}, every: 500ms, timeout: 450ms",
	"port":  "tcp: {port: 80}, every: 1s, timeout: 900ms",
	"page":  "http: {path: /healthz}, every: 1s, timeout: 900ms",
}

// Ladders. The impatient one is for machines that a reboot does not cure: its next step comes soon.
const (
	replaceOnly = "[recreate]"
	replaceSoon = "[recreate: {timeout: 5s}]"
	fullLadder  = "[start, reboot, recreate]"
	impatient   = "[start: {}, reboot: {verify_within: 5s}, recreate: {}]"
)

// render writes the configuration file.
func (s settings) render(l *lab.Lab, initrd string) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("providers:")
	if s.providerYAML != "" {
		p("%s", s.providerYAML)
	} else {
		p("  lab: {type: libvirt, uri: %q, state_dir: %q%s}", l.URI(), cmp.Or(s.state, l.Info().Images), s.poll())
	}
	p("fleets:")
	for _, name := range s.fleets() {
		p("  %s:", name)
		p("%s", s.renderFleet(l, initrd))
	}
	return b.String()
}

// fleets are the names of all fleets.
func (s settings) fleets() []string { return append([]string{s.fleet}, s.also...) }

// renderFleet writes all of a fleet but its name.
func (s settings) renderFleet(l *lab.Lab, initrd string) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("    provider: lab")
	p("    size: %s", cmp.Or(s.sizes, strconv.Itoa(s.size)))
	p("    template:")
	if s.xml != "" {
		p("      xml: {file: %q}", s.xml)
	} else {
		p("      kernel: %q", l.Info().Guest.Kernel)
		p("      initrd: %q", initrd)
		p("      cmdline: \"%s console=ttyS0 hale.name={name}%s\"", lab.KernelArgs, s.released())
	}
	p("      memory: %dMiB", max(s.memory, lab.GuestMemoryMiB))
	if s.fleetYAML != "" {
		p("%s", s.fleetYAML)
		return b.String()
	}
	p("      seed: true") // a file of its own for each instance, to be removed with it
	p("    checks:")
	for _, name := range s.checks {
		p("      %s: {%s, down_after: %d}", name, knownChecks[name], max(s.downAfter, 3))
	}
	if s.stop != "" {
		p("    on_external_stop: %s", s.stop)
	}
	p("    build_within: %s", s.build)
	p("    repair: {steps: %s, attempts: 50 in 1h, backoff: 500ms}", s.ladder)
	return b.String()
}

func (s settings) released() string {
	if s.release == 0 {
		return ""
	}
	return fmt.Sprintf(" hale.release=%d", s.release)
}

func (s settings) poll() string {
	if s.fleetYAML != "" && s.most == 0 {
		return ""
	}
	return ", poll: 1s"
}

// initrd is the file that new instances boot from. What it makes of them can be changed while hale runs; instances that
// run already keep what they have, also when they are reset.
type initrd struct {
	path string
	well []byte
}

// firstSickness is the guest's line that says how sick it is from boot on.
const firstSickness = "SICK=$(conf sick none);"

// newInitrd makes a file that makes well guests.
func newInitrd(path string, g lab.Guest) (*initrd, error) {
	well, err := os.ReadFile(g.Initrd)
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(well, []byte(firstSickness)); n != 1 {
		return nil, fmt.Errorf("%s has the line %q %d times, want once", g.Initrd, firstSickness, n)
	}
	i := &initrd{path: path, well: well}
	if err := i.yield("none"); err != nil {
		return nil, err
	}
	return i, nil
}

// yield makes the guests that boot from now on sick (see lab.DomainSpec), or well with "none".
func (i *initrd) yield(sick string) error {
	line := fmt.Sprintf("%-*s;", len(firstSickness)-1, "SICK="+sick) // as long as before: the archive stays sound
	next := i.path + "~"
	if err := os.WriteFile(next, bytes.Replace(i.well, []byte(firstSickness), []byte(line), 1), 0o600); err != nil {
		return err
	}
	return os.Rename(next, i.path)
}
