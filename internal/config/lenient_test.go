package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hale/internal/adapters"
)

const small = "providers:\n  lab: {type: simulated}\nfleets:\n  web:\n    provider: lab\n    size: 5\n"

func TestAMarkOfBytesBeforeTheTextIsNoPartOfIt(t *testing.T) {
	t.Parallel()
	c, err := parsed("hale.yaml", []byte("\xef\xbb\xbf"+small))
	if err != nil || len(c.Fleets) != 1 {
		t.Errorf("got %v", err)
	}
	_, err = parsed("hale.yaml", []byte("\xef\xbb\xbfprovider: x\n"))
	if err == nil || !strings.Contains(err.Error(), "hale.yaml:1:1: ") {
		t.Errorf("the place is another one: %v", err)
	}
}

func TestGraceMayBeWrittenInDays(t *testing.T) {
	t.Parallel()
	c, err := parsed("hale.yaml", []byte(small+"    on_external_stop: {hold: 2d}\n"))
	if err != nil || c.Fleets[0].Repair.ExternalStopHold != 48*time.Hour {
		t.Errorf("got %v", err)
	}
}

func TestWordsOfOtherSystemsAreTranslated(t *testing.T) {
	t.Parallel()
	_, err := parsed("hale.yaml", []byte(small+"    repair: {steps: [restart, recreate]}\n"))
	if err == nil || !strings.Contains(err.Error(), "did you mean reboot?") {
		t.Errorf("got %v", err)
	}
	_, err = parsed("hale.yaml", []byte(strings.Replace(small, "size:", "replicas:", 1)))
	if err == nil || !strings.Contains(err.Error(), "did you mean size?") {
		t.Errorf("got %v", err)
	}
}

func TestABrakeThatIsAlwaysOnIsWarnedOf(t *testing.T) {
	t.Parallel()
	for limits, warned := range map[string]bool{
		"{brake: {percent: 10%, at_least: 0}}":                    true,
		"{brake: {percent: 20%, at_least: 0}}":                    false,
		"{brake: {percent: 10%, at_least: 1}}":                    false,
		"{brake: {percent: 10%, at_least: 0}}\n    mode: observe": false,
	} {
		c, err := parsed("hale.yaml", []byte(small+"    limits: "+limits+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if w := strings.Join(c.Warnings(adapters.All()), "\n"); strings.Contains(
			w,
			"fleets.web.limits.brake: 10% of 5 machines is none",
		) != warned {
			t.Errorf("%s is warned of: %q", limits, w)
		}
	}
}

// Hale starts with a target on its own server that is not listed, since machines are to be healed all the same, and says
// which line is missing.
func TestATargetOnHalesOwnServerIsWarnedOf(t *testing.T) {
	t.Parallel()
	for hook, warned := range map[string]bool{
		`{url: "http://localhost:9093/"}`:                                 true,
		`{url: "http://169.254.169.254/"}`:                                true,
		`{url: "http://[::1]:9093/", allow_addresses: [127.0.0.1]}`:       true,
		`{url: "http://localhost:9093/", allow_addresses: [127.0.0.0/8]}`: false,
		`{url: "http://[::1]:9093/", allow_addresses: ["::1"]}`:           false,
		`{url: "https://example.org/hook"}`:                               false,
	} {
		c, err := parsed("hale.yaml", []byte("notify: {ops: {webhook: "+hook+"}}\n"+small))
		if err != nil {
			t.Fatal(err)
		}
		w := strings.Join(c.Warnings(adapters.All()), "\n")
		if strings.Contains(w, "notify.ops: no message reaches it: refusing address ") != warned ||
			strings.Contains(w, "write allow_addresses: [") != warned {
			t.Errorf("%s: %q", hook, w)
		}
	}
}

func TestAProtectedMachineBeyondTheSizeIsWarnedOf(t *testing.T) {
	t.Parallel()
	for name, warned := range map[string]bool{"web-5": false, "web-9": true} {
		c, err := parsed("hale.yaml", []byte(small+"    protect: ["+name+"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		w := strings.Join(c.Warnings(adapters.All()), "\n")
		if strings.Contains(w, "fleets.web.protect: web-9 is beyond the size of 5") != warned {
			t.Errorf("protect %s: %q", name, w)
		}
	}
}

func TestOneLostPacketThatDecidesIsWarnedOf(t *testing.T) {
	t.Parallel()
	for checks, warned := range map[string]bool{
		"{alive: {ping: {}, every: 5s, timeout: 1s, down_after: 1}}":                    true,
		"{alive: {ping: {}, every: 5s, timeout: 1s, down_after: 2}}":                    false,
		"{alive: {ping: {}, every: 5s, timeout: 1s, down_after: 1}}\n    mode: observe": false,
	} {
		c, err := parsed("hale.yaml", []byte(small+"    checks: "+checks+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if w := strings.Join(c.Warnings(adapters.All()), "\n"); strings.Contains(w,
			"fleets.web.checks.alive.down_after: 1: a single") != warned {
			t.Errorf("%s is warned of: %q", checks, w)
		}
	}
}

func TestWhatIsNotDoneOnSilenceAloneIsWarnedOf(t *testing.T) {
	t.Parallel()
	const base = "fences: {bmc: {command: {command: [/bin/off, \"{host}\"]}}}\nproviders:\n" +
		"  lab: {type: simulated, hosts: [{name: h1, fence: [bmc]}, {name: h2, fence: [bmc]}]}\n" +
		"fleets:\n  web:\n    provider: lab\n    size: 5\n    checks: {alive: {ping: {}}}\n"
	for lines, says := range map[string]string{
		"    shared_fate: {then: evacuate}\n":                    "fleets.web.shared_fate.then: evacuate: machines",
		"    repair: {fence: {hosts: off}}\n":                    "fleets.web.repair.fence.hosts: off: a host that",
		"    shared_fate: {then: evacuate}\n    silence: act\n":  "",
		"    repair: {fence: {hosts: off}}\n    silence: act\n":  "",
		"    repair: {fence: {hosts: off}}\n    mode: observe\n": "",
	} {
		c, err := parsed("hale.yaml", []byte(base+lines))
		if err != nil {
			t.Fatal(err)
		}
		if w := strings.Join(c.Warnings(adapters.All()), "\n"); !strings.Contains(w, says) || says == "" && w != "" {
			t.Errorf("%q is warned of: %q", lines, w)
		}
	}
}

func TestWhatCanHaveNoWitnessIsWarnedOf(t *testing.T) {
	t.Parallel()
	const small = "size: 1, template: {image: web.qcow2, disks: {root: ephemeral}}"
	for _, c := range []struct{ provider, fleet, says string }{
		{"type: exec, command: [/bin/mine]", "size: 1", "where its only machine is alone on its host"},
		{"type: exec, command: [/bin/mine]", "size: 3", ""},
		{"type: exec, command: [/bin/mine]", "size: 3, placement: {apart: true}", "where a machine is alone on"},
		{"type: exec, command: [/bin/mine]", "size: 1, silence: act", ""},
		{"type: exec, command: [/bin/mine]", "size: 1, mode: observe", ""},
		{"type: libvirt, uri: \"qemu:///system\"", small, ""},
	} {
		text := "providers: {lab: {" + c.provider + "}}\n" +
			"fleets: {web: {provider: lab, checks: {alive: {ping: {}}}, " + c.fleet + "}}\n"
		sound, err := parsed("hale.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		w := strings.Join(sound.Warnings(adapters.All()), "\n")
		if !strings.Contains(w, c.says) || c.says == "" && strings.Contains(w, "bears witness") {
			t.Errorf("%s is warned of: %q", text, w)
		}
	}
}

// TestABootLongerThanGraceIsWarnedOf: a machine that boots would be taken for failed each time.
func TestABootLongerThanGraceIsWarnedOf(t *testing.T) {
	t.Parallel()
	const file = "providers: {lab: {type: simulated, boot: %s}}\nfleets:\n  web:\n    provider: lab\n    size: 3\n" +
		"    template: {image: a.qcow2, disks: {root: ephemeral}}\n    checks: {alive: {ping: {}}}\n    grace: 1m\n%s"
	for boot, more := range map[string]string{"61s": "", "60s": "quiet", "2m": "    mode: observe\n"} {
		c, err := parsed("hale.yaml", []byte(fmt.Sprintf(file, boot, strings.TrimPrefix(more, "quiet"))))
		if err != nil {
			t.Fatal(err)
		}
		w := strings.Join(c.Warnings(adapters.All()), "\n")
		if said := strings.Contains(w, "fleets.web.grace: 1m is less than the"); said != (more == "") {
			t.Errorf("boot %s: it says %q", boot, w)
		}
	}
}
