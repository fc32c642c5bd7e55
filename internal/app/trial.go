package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"hale/api"
	"hale/internal/adapters"
	"hale/internal/app/troubles"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/gauge"
	"hale/internal/kinds"
	"hale/internal/notify"
	"hale/internal/provider"
	"hale/internal/secret"
)

// trialWithin limits what is asked of one provider about one machine.
const trialWithin = 30 * time.Second

// trials are what was tried for a plan without changing anything, in the order in which it was.
type trials struct{ done []api.Trial }

func (t *trials) add(subject, what string, err error) {
	problem := ""
	if err != nil {
		problem = plainly(err)
	}
	t.done = append(t.done, api.Trial{Subject: subject, What: what, Problem: problem})
}

// plainly is what went wrong, without hale's operations and the ids of instances that were only made up.
func plainly(err error) string {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var parts []string
		for _, e := range several.Unwrap() {
			parts = append(parts, plainly(e))
		}
		return strings.Join(parts, "; ")
	}
	if f := (*fault.Error)(nil); errors.As(err, &f) && f.Err != nil {
		return plainly(f.Err)
	}
	return notify.Why(err)
}

// try looks whether what the configuration names would be there if it was needed: secrets, programs, and what a new
// machine of each fleet would be built from.
func (s *site) try(ctx context.Context) []api.Trial {
	t := &trials{}
	for _, target := range s.config.Targets {
		t.outside(ctx, "target "+string(target.Name), target.Settings)
	}
	for _, f := range s.config.Fences {
		t.outside(ctx, "fence "+f.Name, f.Settings)
	}
	for i := range s.config.Fleets {
		f := &s.config.Fleets[i]
		t.fleet(ctx, f)
		t.metrics(ctx, f)
		t.builds(ctx, f, adapterOf(s.adapters, f.Provider))
	}
	return t.done
}

func (t *trials) secrets(ctx context.Context, subject string, all []secret.Secret) {
	for _, s := range all {
		_, err := s.Resolve(ctx)
		t.add(subject, "its secret can be read", err)
	}
}

// program looks for one that is run on hale's side. One that is named by a placeholder is left out.
func (t *trials) program(subject string, command []string) {
	if len(command) == 0 || strings.Contains(command[0], "{") {
		return
	}
	_, err := exec.LookPath(command[0])
	if bad := (*exec.Error)(nil); errors.As(err, &bad) {
		err = bad.Err
	}
	t.add(subject, "program "+command[0]+" can be run", err)
}

// outside tries what a fence or a target needs.
func (t *trials) outside(ctx context.Context, subject string, settings interface{ Secrets() []secret.Secret }) {
	t.secrets(ctx, subject, settings.Secrets())
	if r, ok := settings.(kinds.Running); ok {
		t.program(subject, r.Program())
	}
}

func (t *trials) fleet(ctx context.Context, f *policy.Spec) {
	for _, c := range f.Asked() {
		subject := fmt.Sprintf("fleet %s, check %s", f.Name, c.Name)
		t.secrets(ctx, subject, troubles.SecretsOf(c))
		t.program(subject, c.Exec.Command)
	}
	for id, h := range f.AllHooks() {
		subject := fmt.Sprintf("fleet %s, hook %s", f.Name, id)
		t.secrets(ctx, subject, troubles.SecretsOfHook(h))
		t.hook(subject, h)
	}
	for i := range f.Repair.Steps {
		t.program(fmt.Sprintf("fleet %s, step %s", f.Name, f.Repair.Steps[i].Kind), f.Repair.Steps[i].Run.Args)
	}
}

// hook looks for what a hook needs on hale's side beside its secrets.
func (t *trials) hook(subject string, h *policy.Hook) {
	t.program(subject, h.Run.Args)
	if h.Kind == policy.HookAnsible {
		t.program(subject, []string{"ansible-playbook"})
		t.file(subject, h.Playbook.Path)
	}
	for _, f := range h.Copy.Files {
		t.file(subject, f.From)
	}
}

// file looks whether one can be read.
func (t *trials) file(subject, path string) {
	file, err := os.Open(path)
	if err == nil {
		err = file.Close()
	}
	if bad := (*fs.PathError)(nil); errors.As(err, &bad) {
		err = bad.Err
	}
	t.add(subject, "file "+path+" can be read", err)
}

// metrics reads each metric once that a server is asked for; programs are only looked for.
func (t *trials) metrics(ctx context.Context, f *policy.Spec) {
	sources := adapters.NewGauges("")
	defer sources.Close()
	var machines []gauge.Machine
	most := f.Size
	if f.Sizing != nil {
		most = f.Sizing.Max
	}
	for n := range most {
		machines = append(machines, gauge.Machine{Name: f.Name.Machine(n + 1)})
	}
	for _, m := range f.Metrics() {
		subject := fmt.Sprintf("fleet %s, metric %s", f.Name, m.Name)
		t.program(subject, m.Command.Args)
		if m.Kind != policy.MetricPrometheus {
			continue
		}
		within, cancel := context.WithTimeout(ctx, m.Patience())
		r, err := sources.Open(f.Name, m).Read(within, machines)
		cancel()
		if err == nil {
			_, err = gauge.Weigh(&m, r)
		}
		if m.Prometheus.Label != "" && fault.Is(err, fault.NotFound) { // it may name machines by their addresses
			t.done = append(t.done, api.Trial{Subject: subject, What: "it is a number", Untried: plainly(err)})
			continue
		}
		t.add(subject, "it is a number", err)
	}
}

// builds asks the provider, for each host that takes machines, whether another machine of the fleet could be built, and
// whether the names of the fleet's machines are free, or its own.
func (t *trials) builds(ctx context.Context, f *policy.Spec, a adapter) {
	subject := "fleet " + string(f.Name)
	ctx, cancel := context.WithTimeout(ctx, trialWithin)
	defer cancel()
	listing, err := a.Provider.List(ctx)
	t.add(subject, "provider "+string(f.Provider)+" lists its machines", err)
	if err != nil {
		return
	}
	if !f.Rolled() {
		t.done = append(t.done, api.Trial{Subject: subject, What: "a new machine could be built",
			Untried: "it adopts machines and builds none, so there is nothing to try"})
		return
	}
	if !f.Adopt.Selects() {
		t.names(subject, f, listing)
	}
	able, _ := provider.ReadOnly(a.Provider).(provider.Rehearser)
	for _, h := range listing.Hosts {
		if h.Closed || h.Err != nil {
			continue
		}
		order := provider.Blueprint{
			Ref: provider.Ref{ID: fleet.InstanceID(uuid.NewString()), Host: h.Name, Mark: fleet.Mark{
				Installation: "trial", Fleet: f.Name, Machine: f.Name.Machine(1), Generation: 1,
			}},
			Name: "hale-trial-" + uuid.NewString()[:8], Template: f.Template,
		}
		what := "a machine of the template could be built"
		if h.Name != "" {
			what += " on " + string(h.Name)
		}
		err := able.Rehearse(ctx, order)
		if fault.Is(err, fault.Unsupported) {
			t.done = append(
				t.done,
				api.Trial{Subject: subject, What: what, Untried: "the provider cannot say so beforehand"},
			)
			return
		}
		t.add(subject, what, err)
	}
}

// names finds what else has the name of a machine of the fleet.
func (t *trials) names(subject string, f *policy.Spec, l provider.Listing) {
	var problems []error
	for n := range f.Size {
		name := f.Name.Machine(n + 1)
		i := slices.IndexFunc(l.Instances, func(i fleet.Instance) bool {
			return i.Name == string(name) && i.Mark.Machine != name && i.Power != fleet.PowerGone
		})
		if i >= 0 {
			problems = append(
				problems,
				fmt.Errorf(
					"%s belongs to instance %s, which does not bear hale's mark of it: rename or remove that one",
					name,
					l.Instances[i].ID,
				),
			)
		}
	}
	t.add(subject, "the names of its machines are free, or its own", errors.Join(problems...))
}
