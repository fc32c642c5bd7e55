package repair_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// A command is told which machine it is about, and what it says is kept.
func TestACommandIsRun(t *testing.T) {
	t.Parallel()
	step := steps[fleet.StepRun]
	step.Run = policy.Command{Args: []string{"mend", "{name}", "{ip}"}, Env: []policy.Variable{{Name: "ID",
		Value: "{id}"}}}
	st := newStage(t, step, steps[fleet.StepPage])
	st.m.Address = netip.MustParseAddr("10.0.0.7")
	st.want("it begins", st.begin(), "repair-started heal; then run; LOOK; look")
	st.answer(fleet.PowerRunning, fleet.StandingDown)
	st.want("it fails", st.round(), "look confirmed; CALL run old; act")
	a := st.action()
	if got := strings.Join(a.Args, " ") + " ID=" + a.Env[0].Value; got != "mend web-1 10.0.0.7 ID=old" {
		t.Errorf("it is run as %q", got)
	}
	st.ends(fleet.OutcomeDone)
	st.view.Outcome.Output = "  mended\n"
	st.want("it ran", st.round(), "output; verify")
	if got := st.record(record.Output).Detail; got != "mended" {
		t.Errorf("it said %q", got)
	}
}

// A command that asks for the machine's address is passed over as long as there is none.
func TestACommandThatNeedsAnAddress(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"mend":      "repair-started heal; then run; LOOK; look",
		"mend {ip}": "repair-started heal; step-skipped no-address; then page; LOOK; look",
	} {
		step := steps[fleet.StepRun]
		step.Run.Args = strings.Fields(args)
		st := newStage(t, step, steps[fleet.StepPage])
		st.want(args, st.begin(), want)
	}
}

// L12: hale died while its command ran, and how far that came cannot be seen. Only one that was declared to bear it is
// run again.
func TestL12ACommandIsRunAgainOnlyIfItBearsThat(t *testing.T) {
	t.Parallel()
	for idempotent, want := range map[bool]string{
		true:  "look in 500ms",
		false: toPerson("run-unclear"),
	} {
		step := steps[fleet.StepRun]
		step.Run.Idempotent = idempotent
		st := newStage(t, step, steps[fleet.StepPage])
		st.begin()
		st.answer(fleet.PowerRunning, fleet.StandingDown)
		st.round()
		if got := st.m.Repair.Intent.Repeatable; got != idempotent {
			t.Errorf("it may be sent again: %t", got)
		}
		st.restarts()
		st.want("hale died", st.round(), want)
		if idempotent {
			st.due()
			st.want("then", st.round(), "LOOK; look")
			st.answer(fleet.PowerRunning, fleet.StandingDown)
			st.want("it fails", st.round(), "look confirmed; CALL run old; act")
		}
	}
}

// A command's output is kept whole, in pieces that end with a line, and never within a character.
func TestOutputIsKeptInPieces(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		output string
		want   []int // the length of each piece
	}{
		"nothing":            {" \n\t ", nil},
		"a word":             {"done", []int{4}},
		"just a piece":       {strings.Repeat("x", 2048), []int{2048}},
		"one more":           {strings.Repeat("x", 2049), []int{2048, 1}},
		"lines":              {line + "\n" + line + "\n" + line, []int{2001, 1000}},
		"one long line":      {strings.Repeat("x", 5000), []int{2048, 2048, 904}},
		"a wide character":   {strings.Repeat("x", 2047) + "é" + "y", []int{2047, 3}},
		"an empty beginning": {strings.Repeat("x", 2048) + "\n\n" + "y", []int{2048, 1}},
	} {
		st := inAct(t, fleet.OpRun, fleet.StepRun, belief.CauseChecks)
		st.ends(fleet.OutcomeFailed)
		st.view.Outcome.Output = c.output
		st.round()
		var got []int
		for _, r := range st.records {
			if r.Kind == record.Output {
				got = append(got, len(r.Detail))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s is kept in pieces of %v, want %v", name, got, c.want)
		}
	}
}
