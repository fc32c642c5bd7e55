package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hale/api"
	"hale/internal/testbed/lab"
)

// TestS20APlaybookAppliesTheConfigurationAgain lets a real ansible-playbook put a web server right that is dead on a
// machine that is well.
func TestS20APlaybookAppliesTheConfigurationAgain(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("/usr/bin/ansible-playbook"); err != nil {
		t.Fatalf("%v: scripts/install-deps.sh tests", err)
	}
	s := newStage(t, "10.90.0.0/16", settings{fleet: "web", size: 2})
	home, playbook := t.TempDir(), "../examples/playbooks/web.yaml"
	s.configure(func(set *settings) { set.fleetYAML = configured(t, playbook, home, "[page]") })
	s.scene("two machines are built", func(s stage) {
		s.raise()
		s.stands()
	})
	s.scene("S20 the page's server is gone: its configuration is applied again", configuredAgain)

	s.reload(func(set *settings) { set.fleetYAML = configured(t, "testdata/talkative.yaml", home, "[page, alive]") })
	s.scene("S20 a playbook that fails is no cure: the next step is tried", theNextStep)
	s.books()
}

// configured is a fleet with a playbook that configures a failed machine again, before any other step.
func configured(t *testing.T, playbook, home, faults string) string {
	t.Helper()
	path, err := filepath.Abs(playbook)
	if err != nil {
		t.Fatal(err)
	}
	return `      seed: true
    checks:
      alive: {ping: {}, every: 500ms, timeout: 450ms, down_after: 3}
      page: {http: {path: /healthz}, every: 1s, timeout: 900ms, down_after: 3}
    build_within: 1m
    repair:
      attempts: 50 in 1h
      backoff: 500ms
      steps:
        - run:
            command: [/usr/bin/ansible-playbook, -i, "{name},", --extra-vars, "ip={ip} apply=http://{ip}:7/cgi-bin/fault?http", "` + path + `"]
            env: {HOME: "` + home + `"}
            timeout: 2m
            idempotent: true
            for: ` + faults + `
        - rebuild: {for: [alive, provider]}`
}

// said puts together what the command said, and checks that it lies in small pieces.
func (s stage) said(story []api.Event) string {
	s.Helper()
	pieces := field(story, kind("output"), func(e api.Event) string { return e.Detail })
	for _, p := range pieces {
		if len(p) == 0 || len(p) > 2<<10 {
			s.Errorf("a piece of %d bytes", len(p))
		}
	}
	return strings.Join(pieces, "\n")
}

// wantSaid checks that the command said all that, in this order.
func (s stage) wantSaid(said string, want ...string) {
	s.Helper()
	rest := said
	for _, w := range want {
		_, after, found := strings.Cut(rest, w)
		if !found {
			s.Errorf("it did not say %q where it should:\n%s", w, said)
			return
		}
		rest = after
	}
}

func configuredAgain(s stage) {
	victim := s.pick()
	old, mark := s.body(victim), s.journal.mark()
	s.fault(victim, lab.FaultNoHTTP)
	story := s.healed(victim, mark)
	s.wantCalls(story, "run")
	s.became(victim, old, kept{instance: true, process: true, boot: true})
	s.alone(victim, mark)
	s.wantSaid(s.said(story), "PLAY [The web server's configuration]", "TASK [Apply the configuration]",
		"changed: ["+victim+"]",
		"ok: ["+victim+"]", "PLAY RECAP", "failed=0")
	s.wantSaid(s.says("why", victim), "What happened last",
		"TASK [Apply the configuration]", "changed: ["+victim+"]", "failed=0", "run worked")
}

// theNextStep pulls the cable, which no playbook mends. What it says is longer than what is kept of it.
func theNextStep(s stage) {
	victim := s.pick()
	old, mark := s.body(victim), s.journal.mark()
	s.fault(victim, lab.FaultLinkDown)
	story := s.healed(victim, mark)
	s.wantSteps(story, "run", "rebuild")
	s.wantCalls(story, "run", "power-off", "rebuild")
	if count(story, because("step-failed", "run-failed")) != 1 {
		s.Error("no event says that the playbook failed")
	}
	s.became(victim, old, kept{instance: true})
	s.alone(victim, mark)
	said := s.said(story)
	s.wantSaid(said, "PLAY [A playbook that talks and fails]",
		"line 0 of "+victim, "bytes left out]", "fatal: ["+victim+"]", "PLAY RECAP", "failed=1")
	if len(said) > 25<<10 {
		s.Errorf("%d bytes are kept", len(said))
	}
	if why := s.says("why", victim); !strings.Contains(why, "exit code 2") {
		s.Errorf("hale why does not say how it ended:\n%s", tail(why, 40))
	}
}
