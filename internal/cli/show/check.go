package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/prose"
)

// CheckFlag asks for the answer that a monitoring system understands.
const CheckFlag = "check"

// How a plugin of a monitoring system ends (Nagios, Icinga and their kin).
const (
	checkOK       = 0
	checkWarning  = 1
	checkCritical = 2
	CheckUnknown  = 3
)

var checkWords = []string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}

// checkWithin is how long hale may take to answer a check. Plugins are ended after ten seconds as a rule.
const checkWithin = 8 * time.Second

// CheckEnded is how a check ended. All there is to say was said on standard output.
type CheckEnded int

func (c CheckEnded) Error() string { return checkWords[c] }

// check prints one line, and ends as a plugin does.
func (c reader) check(ctx context.Context, ask func(context.Context) (api.Status, error)) error {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	s, err := ask(ctx)
	if err != nil {
		return c.unanswered(err)
	}
	level, said := assess(s)
	t := tally(s)
	fmt.Fprintf(
		c.Out,
		"HALE %s - %s | machines=%d healthy=%d failing=%d suspect=%d in_repair=%d in_build=%d needs_person=%d "+
			"braked=%d\n",
		checkWords[level],
		singleLine(said),
		t.size,
		t.healthy,
		t.failing,
		t.suspect,
		t.inRepair,
		t.inBuild,
		t.needy,
		t.braked,
	)
	if level == checkOK {
		return nil
	}
	return CheckEnded(level)
}

// unanswered is the check of a hale that did not answer. A hale that does not run is critical: it does not watch its
// machines.
func (c reader) unanswered(err error) error {
	var absent api.NotRunning
	level := CheckUnknown
	if errors.As(err, &absent) && !errors.Is(err, fs.ErrPermission) || errors.Is(err, context.DeadlineExceeded) {
		level = checkCritical
	}
	said := command.Message(err)
	if errors.Is(err, context.DeadlineExceeded) {
		said = fmt.Sprintf("hale did not answer within %s", checkWithin)
	}
	fmt.Fprintf(c.Out, "HALE %s - %s\n", checkWords[level], singleLine(said))
	return CheckEnded(level)
}

// singleLine is text that cannot be taken for more lines, or for the numbers behind it.
func singleLine(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "/")
}

// finding is one thing that a check has to say.
type finding struct {
	level int
	text  string
}

// assess says how bad it is, and what is: the worst first.
func assess(s api.Status) (int, string) {
	var all []finding
	add := func(level int, format string, args ...any) {
		all = append(all, finding{level, fmt.Sprintf(format, args...)})
	}
	if s.Stopping {
		add(checkCritical, "hale is stopping: nothing is watched any more")
	}
	for _, t := range s.Troubles {
		add(checkCritical, "%s", t.Text)
	}
	if s.Store != nil && !s.Store.Takes {
		add(checkCritical, "hale's store takes nothing: %s", s.Store.Detail)
	}
	if s.Store != nil && s.Store.Low != "" {
		add(checkWarning, "hale's store is nearly full: %s", s.Store.Low)
	}
	for _, w := range s.Plans {
		add(checkWarning, "%s: plan %s waits to be confirmed", w.Subject, w.ID)
	}
	if len(s.Fleets) == 0 {
		add(checkWarning, "there are no fleets")
	}
	for _, f := range s.Fleets {
		assessFleet(f, add)
	}
	slices.SortStableFunc(all, func(a, b finding) int { return b.level - a.level })
	level, said := checkOK, []string(nil)
	for i, f := range all {
		level = max(level, f.level)
		if i == paper.FewNames {
			said = append(said, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		said = append(said, f.text)
	}
	t := tally(s)
	counts := fmt.Sprintf(
		"%d of %s in %s healthy",
		t.healthy,
		paper.Count(t.size, "machine"),
		paper.Count(len(s.Fleets), "fleet"),
	)
	return level, strings.Join(append([]string{counts}, said...), "; ")
}

func assessFleet(f api.Fleet, add func(int, string, ...any)) {
	if !f.Acting {
		add(checkCritical, "fleet %s: hale does not act: %s", f.Name, f.NotActing.Text)
	}
	switch fleet.ProviderStanding(f.Provider.Standing) {
	case fleet.ProviderDown:
		add(checkCritical, "fleet %s: provider %s does not answer", f.Name, f.Provider.Name)
	case fleet.ProviderDoubtful:
		add(checkCritical, "fleet %s: provider %s is another one than before", f.Name, f.Provider.Name)
	case fleet.ProviderUnknown:
		add(checkWarning, "fleet %s: provider %s was not asked yet", f.Name, f.Provider.Name)
	case fleet.ProviderUp:
	}
	switch {
	case f.Brake.By != "":
		add(checkWarning, "fleet %s: %s put the brake on", f.Name, f.Brake.By)
	case f.Brake.Engaged:
		add(checkCritical, "fleet %s: the brake is on, %d fail", f.Name, cmp.Or(f.Brake.Failing, f.Failing))
	}
	if d := f.Vantage.Doubt; d.Code != "" {
		add(checkCritical, "fleet %s: %s", f.Name, d.Text)
	}
	for _, p := range f.Parents {
		add(checkCritical, "fleet %s: %s", f.Name, p.Text)
	}
	if f.Older != nil || len(f.Foreign) > 0 {
		add(checkCritical, "fleet %s: the store does not know the world (hale status)", f.Name)
	}
	if f.Unnoted.Code != "" {
		add(checkCritical, "fleet %s: %s", f.Name, f.Unnoted.Text)
	}
	if f.Messages.Target != "" || f.Messages.Dead > 0 {
		add(checkWarning, "fleet %s: messages are not taken (hale notify dead)", f.Name)
	}
	for _, u := range f.Unproven {
		if u.Failing {
			add(checkCritical, "fleet %s: %s", f.Name, u.Text)
		}
	}
	if len(f.Fencing) > 0 {
		add(checkWarning, "fleet %s: the power of a host could not be cut", f.Name)
	}
	if f.Shortfall != "" {
		add(checkWarning, "fleet %s: %s", f.Name, f.Shortfall)
	}
	if len(f.Plans) > 0 {
		add(checkWarning, "fleet %s: plan %s waits to be confirmed", f.Name, f.Plans[0].ID)
	}
	assessMachines(f, add)
}

func assessMachines(f api.Fleet, add func(int, string, ...any)) {
	for _, m := range f.Machines {
		var level int
		switch {
		case m.NeedsPerson:
			level = checkCritical
		case m.Verdict != string(belief.VerdictHealthy) && m.Verdict != string(belief.VerdictSuspect):
			level = checkWarning
		default:
			continue
		}
		why := m.Text
		if m.Quarantine != nil {
			why = m.Quarantine.Reason.Text
		}
		said := prose.Called(fleet.MachineName(m.Name), m.Alias) + " is " + m.Verdict
		if why != "" {
			said += ": " + why
		}
		add(level, "%s", said)
	}
}
