package agent_test

import (
	"slices"
	"strings"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/fence"
	"hale/internal/fence/agent"
	"hale/internal/fence/fencetest"
	"hale/internal/program/programtest"
	"hale/internal/secret"
)

func options(p *fencetest.Program) agent.Options {
	return agent.Options{
		Name:    "h1-agent",
		Program: p.Path,
		Values:  []secret.Named{{Name: "ip", Plain: "10.0.0.1"}, {Name: "password", Secret: p.Secret()}},
	}
}

func TestAgentsPassTheExam(t *testing.T) {
	t.Parallel()
	fencetest.Run(t, func(t *testing.T) fencetest.Bench {
		t.Helper()
		p := fencetest.NewProgram(t, fencetest.Agent)
		t.Cleanup(func() {
			if asked := p.Asked(); strings.Contains(asked, fencetest.Password) || strings.Contains(asked, "10.0.0.1") {
				t.Errorf("L14: options are in the program's arguments: %s", asked)
			}
		})
		return p.Bench(agent.New(options(p)))
	})
}

// fake writes a program that says and ends with what it is told.
func fake(t *testing.T, text string) *agent.Controller {
	t.Helper()
	return agent.New(agent.Options{Name: "fake", Program: programtest.Script(t, "fence_fake", "cat >/dev/null\n"+text)})
}

// Exit code 2 is off, and also a wrong option: only together with the words it is off.
func TestL1AnExitCodeAloneIsNotOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		want   fence.Power
		kind   fault.Kind
	}{
		"off":                 {"echo 'Status: OFF'; exit 2", fence.PowerOff, ""},
		"on":                  {"echo 'Status: ON'", fence.PowerOn, ""},
		"a wrong option":      {"echo 'Failed: Unable to parse'; exit 2", fence.PowerUnknown, fault.Invalid},
		"off, and no code":    {"echo 'Status: OFF'", fence.PowerUnknown, ""},
		"nothing at all":      {"", fence.PowerUnknown, ""},
		"login denied":        {"exit 3", fence.PowerUnknown, fault.Unauthorised},
		"connection lost":     {"exit 4", fence.PowerUnknown, fault.Transient},
		"killed by something": {"kill -9 $$", fence.PowerUnknown, fault.Transient},
		"unable to tell status": {
			"echo 'Failed: Unable to obtain correct plug status'; exit 8",
			fence.PowerUnknown,
			fault.Transient,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := fake(t, c.script).Power(t.Context()); got != c.want || fault.KindOf(err) != c.kind {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// What the program does not know it ignores, so that a misspelt option is found by its metadata, before it is needed.
func TestOptionsAreCheckedByTheProgramsOwnMetadata(t *testing.T) {
	t.Parallel()
	p := fencetest.NewProgram(t, fencetest.Agent)
	d, err := agent.Describe(t.Context(), p.Path)
	if err != nil || d.Short != "Fence agent for an exam" || d.Long != "It switches a host that is a file." ||
		!slices.Contains(d.Actions, "off") {
		t.Fatalf("%+v, %v", d, err)
	}
	at := slices.IndexFunc(d.Params, func(p agent.Param) bool { return p.Name == "privlvl" })
	if at < 0 || d.Params[at].Kind != "select" || d.Params[at].Default != "user" || len(d.Params[at].Choices) != 2 ||
		d.Params[at].Required {
		t.Errorf("%+v", d.Params)
	}
	for name, c := range map[string]struct{ given, says []string }{
		"enough":          {[]string{"ip", "password"}, nil},
		"an old name":     {[]string{"ipaddr"}, nil},
		"misspelt":        {[]string{"ip", "pasword"}, []string{"no option pasword"}},
		"hale's own":      {[]string{"ip", "action"}, []string{"hale's own"}},
		"nothing":         {nil, []string{"needs the option ip (Address)"}},
		"wrong and short": {[]string{"plug"}, []string{"no option plug", "needs the option ip"}},
	} {
		problems := d.Against(c.given)
		if len(problems) != len(c.says) {
			t.Errorf("%s: %q", name, problems)
			continue
		}
		for i := range problems {
			if !strings.Contains(problems[i], c.says[i]) {
				t.Errorf("%s: %q", name, problems[i])
			}
		}
	}
	if problems := (agent.Description{
		Program: "fence_scsi",
		Actions: []string{"off"},
	}).Against(nil); len(problems) != 1 || !strings.Contains(problems[0], "status") {
		t.Errorf("an agent that cannot say off: %q", problems)
	}
}

func TestACheckFindsWhatIsWrongWithoutTheController(t *testing.T) {
	t.Parallel()
	p := fencetest.NewProgram(t, fencetest.Agent)
	if err := agent.New(options(p)).Check(t.Context()); err != nil {
		t.Error(err)
	}
	o := options(p)
	o.Values = append(o.Values, secret.Named{Name: "lanpuls", Plain: "1"})
	if err := agent.New(o).Check(t.Context()); !fault.Is(err, fault.Invalid) ||
		!strings.Contains(err.Error(), "lanpuls") {
		t.Error(err)
	}
	if strings.Contains(p.Asked(), "fence_exam") {
		t.Error("the check switched something")
	}
	if _, err := agent.Describe(t.Context(), "/nonexistent/fence_x"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if err := fake(t, "echo hello").Check(t.Context()); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
}

func TestAgentsThatShowTheirPasswordAreKnown(t *testing.T) {
	t.Parallel()
	for program, leaks := range map[string]bool{
		"fence_ipmilan":         true,
		"/usr/sbin/fence_idrac": true,
		"fence_redfish":         false,
		"fence_apc":             false,
	} {
		if agent.Leaks(program) != leaks {
			t.Errorf("%s: %v", program, !leaks)
		}
	}
	insecure := agent.New(agent.Options{Values: []secret.Named{{Name: "ssl_insecure", Plain: "1"}}})
	if !insecure.Unverified() ||
		agent.New(agent.Options{Values: []secret.Named{{Name: "ssl_insecure", Plain: "0"}}}).Unverified() {
		t.Error("an agent that does not check the controller's identity is not known as one")
	}
}
