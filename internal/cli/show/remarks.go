package show

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/paper"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/prose"
	"hale/internal/prose/words"
)

// remarks are what there is to say below the fleets.
func (p sheet) remarks(s api.Status, now time.Time, c cut) []string {
	lines := p.attention(s, now, c)
	if broken := p.fenceLines(s.Fleets); len(broken) > 0 {
		lines = append(append(lines, ""), broken...)
	}
	if warnings := p.warningLines(s.Fleets); len(warnings) > 0 {
		lines = append(append(lines, ""), warnings...)
	}
	if late := p.messageLines(s.Fleets, now); len(late) > 0 {
		lines = append(append(lines, ""), late...)
	}
	lines = append(lines, p.unownedLines(s.Unowned, now)...)
	if defects := p.defectLines(s.Defects, now); len(defects) > 0 {
		lines = append(append(lines, ""), defects...)
	}
	return lines
}

// warningLines say which checks that only tell are down, and on which machines.
func (p sheet) warningLines(fleets []api.Fleet) []string {
	var lines []string
	for _, f := range fleets {
		var said []string // in the order in which they are found
		on := map[string][]string{}
		for _, m := range f.Machines {
			for _, c := range m.Checks {
				if !c.Tells || c.Standing != string(fleet.StandingDown) {
					continue
				}
				if on[c.Name] == nil {
					said = append(said, c.Name)
				}
				on[c.Name] = append(on[c.Name], m.Name)
			}
		}
		for _, check := range said {
			text := fmt.Sprintf("warning: fleet %s, check %s is down on %s", f.Name, check, paper.Named(on[check]))
			lines = append(lines, p.Paint(paper.Yellow, paper.Clip(text, p.Width)))
		}
	}
	return lines
}

// defectLines name what panicked within the last hour.
func (p sheet) defectLines(defects []api.Defect, now time.Time) []string {
	var lines []string
	for _, d := range defects {
		ago := now.Sub(d.Last)
		if ago > defect.Calm {
			continue
		}
		where := strings.Fields(d.Part + " " + d.Of + " " + d.Name)
		lines = append(lines, p.Paint(paper.Red, paper.Clip(fmt.Sprintf(
			"a defect: %s panicked %d times, last %s ago: %s; hale's log has the place",
			strings.Join(where, " "), d.Count, prose.Span(max(ago, 0)), d.Said), p.Width)))
	}
	return lines
}

// unownedLines list what bears hale's mark and no fleet owns. What is another hale's is only counted: that one lists
// it.
func (p sheet) unownedLines(all []api.Unowned, now time.Time) []string {
	columns := []paper.Column{
		{Title: "NAME", Keep: paper.KeepAlways}, {Title: "FLEET", Keep: paper.KeepAlways}, {Title: "POWER", Keep: 6},
		{Title: "SINCE", Keep: 5},
		{Title: "INSTANCE", Keep: 8}, {Title: "HOST", Keep: 7}, {Title: "PROVIDER", Keep: 4},
	}
	foreign, ours := map[string]int{}, 0
	for _, u := range all {
		if u.Installation != "" {
			foreign[u.Installation]++
			continue
		}
		ours++
		for i, text := range []string{u.Name, u.Fleet, u.Power, prose.Span(max(0, now.Sub(u.Since))), u.Instance,
			u.Host, u.Provider} {
			columns[i].Cells = append(columns[i].Cells, paper.Cell{Text: text})
		}
	}
	var lines []string
	if ours > 0 {
		lines = append(lines, "",
			p.Paint(paper.Yellow, "Marked by hale, owned by no fleet (nothing watches or repairs them):"))
		lines = append(lines, p.Table(columns)...)
		lines = append(lines,
			"  A fleet of that name in the configuration takes its machines back; else remove them at the provider.")
	}
	for _, id := range slices.Sorted(maps.Keys(foreign)) {
		lines = append(lines, "",
			fmt.Sprintf("%s of no fleet here: marked by another installation of hale, %s (hale status --json lists "+
				"them)",
				paper.Count(foreign[id], "instance"), id))
	}
	return lines
}

// storeLines tell what is wrong with hale's store.
func (p sheet) storeLines(s *api.StoreTrouble, now time.Time) []string {
	if s == nil {
		return nil
	}
	var lines []string
	say := func(color paper.Style, text string) {
		for _, line := range paper.Wrapped(text, p.Width) {
			lines = append(lines, p.Paint(color, line))
		}
	}
	if !s.Takes {
		say(paper.Red, fmt.Sprintf("hale's store takes nothing since %s (%s): %s. %s", paper.Moment(s.Since, now),
			prose.Span(max(0, now.Sub(s.Since))), s.Detail, s.Reason.Advice))
	}
	if s.Low != "" {
		say(paper.Yellow, fmt.Sprintf("hale's store is nearly full: %s. %s", s.Low, words.Advice(fleet.ReasonStoreLow)))
	}
	return append(lines, "")
}

// wantedLines tell of what people ordered beside the configuration, what waits for a person's word, and which old
// instances are kept.
func wantedLines(f api.Fleet, now time.Time) []string {
	var lines []string
	if said := sizeLine(f); said != "" {
		lines = append(lines, said)
	}
	if f.Rollout != "" {
		lines = append(lines, f.Rollout+" (hale rollout status "+f.Name+")")
	}
	if f.Drifted > 0 {
		lines = append(lines, fmt.Sprintf("%s differ from the template in force (hale rollout status %s)",
			prose.Machines(f.Drifted), f.Name))
	}
	for _, w := range f.Plans {
		lines = append(lines, fmt.Sprintf("plan %s waits to be confirmed: %s (hale apply)", w.ID,
			strings.TrimPrefix(Aim(w), w.Subject+": ")))
	}
	for _, k := range f.Kept {
		back := "hale undo " + k.Machine
		if k.Orphan {
			back = "its machine has gone"
		}
		lines = append(lines, fmt.Sprintf("%s: old instance %s is kept until %s (%s more; %s)", k.Machine,
			prose.Instance(fleet.InstanceID(k.Instance)),
			paper.Moment(k.Until, now), prose.Span(max(0, k.Until.Sub(now))), back))
	}
	return lines
}

// parentLine tells of the incident of a domain, and of the machines under it.
func parentLine(i api.Parent, now time.Time) string {
	said := fmt.Sprintf("incident %s for %s: %s", i.ID, prose.Span(now.Sub(i.Opened)), i.Text)
	if n := len(i.Children); n > 0 {
		said += fmt.Sprintf("; %d held together: %s", n, paper.Named(i.Children))
	}
	return said
}

// attention lists what a person must look at.
func (p sheet) attention(s api.Status, now time.Time, c cut) []string {
	var lines []string
	for _, t := range s.Troubles {
		lines = append(lines, fmt.Sprintf("  %s (for %s): %s", t.Text, prose.Span(max(0, now.Sub(t.Since))), t.Advice))
	}
	for _, w := range s.Plans {
		if w.Subject == api.SubjectConfiguration {
			lines = append(lines, fmt.Sprintf("  %s: %s; until plan %s is confirmed the fleets stay as they were "+
				"(hale apply)", w.Subject, w.Text, w.ID))
			continue
		}
		lines = append(lines, fmt.Sprintf("  %s: %s; until plan %s is confirmed it is asked where it was (hale apply)",
			w.Subject, w.Text, w.ID))
	}
	for _, f := range s.Fleets {
		if f.Brake.Engaged && f.Brake.By == "" {
			on := "the brake is on"
			if f.Brake.Ends != "" {
				on += ", " + f.Brake.Ends
			}
			lines = append(lines, fmt.Sprintf("  %s: %s: %s", f.Name, on, words.Advice(fleet.ReasonBrake)))
		}
		for _, i := range f.Parents {
			if i.Paged {
				lines = append(lines, fmt.Sprintf("  %s: %s (incident %s): %s", f.Name, i.Text, i.ID,
					words.Advice(fleet.ReasonSharedFate)))
			}
		}
		if d := f.Vantage.Doubt; d.Code != "" {
			lines = append(lines, fmt.Sprintf("  %s: %s: %s", f.Name, d.Text, d.Advice))
		}
		if !f.Acting && f.NotActing.Advice != "" {
			lines = append(lines, fmt.Sprintf("  %s: %s: %s", f.Name, f.NotActing.Text, f.NotActing.Advice))
		}
		lines = append(lines, worldPleas(f)...)
		needy := slices.DeleteFunc(slices.Clone(f.Machines), func(m api.Machine) bool { return !m.NeedsPerson })
		for i, m := range needy {
			if i == c.ill {
				lines = append(lines, fmt.Sprintf("  %s: %s more (hale status %s --failing)", f.Name,
					paper.Count(len(needy)-i, "machine"), f.Name))
				break
			}
			lines = append(lines, p.plea(m, now))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return append([]string{"", p.Paint(paper.Red, "A person must look:")}, lines...)
}

func (p sheet) plea(m api.Machine, now time.Time) string {
	why := m.Waiting
	since := m.Since
	if m.Quarantine != nil {
		why, since = m.Quarantine.Reason, m.Quarantine.Since
	}
	said := fmt.Sprintf("  %s for %s", prose.Called(fleet.MachineName(m.Name), m.Alias), prose.Span(now.Sub(since)))
	if text := why.Text; text != "" {
		said += ": " + text
	} else if m.Text != "" {
		said += ": " + m.Text
	}
	if m.Quarantine == nil && why.Code == string(fleet.ReasonBackoff) && why.Advice != "" {
		said += "; " + why.Advice
	}
	return said + fmt.Sprintf(" (hale why %s)", m.Name)
}

// Aim says what a plan is for.
func Aim(w api.Waiting) string {
	parts := []string{}
	if w.From != w.To {
		parts = append(parts, fmt.Sprintf("from %d to %d machines", w.From, w.To))
	}
	if w.Template {
		parts = append(parts, "another template")
	}
	if w.Text != "" {
		parts = append(parts, w.Text)
	}
	return w.Subject + ": " + strings.Join(parts, ", and ")
}

// worldStory says in status that the store does not know the world, or cannot know whether it does.
func (p sheet) worldStory(f api.Fleet, now time.Time) []string {
	var lines []string
	if o := f.Older; o != nil {
		lines = append(lines,
			p.Paint(paper.Red,
				paper.Clip(fmt.Sprintf("HELD for %s: the store is older than the world: %s",
					prose.Span(now.Sub(o.Since)), o.Why.Detail), max(0, p.Width-2))))
	}
	for _, x := range f.Foreign {
		lines = append(lines,
			p.Paint(paper.Red,
				paper.Clip("NO FIRST BUILDS for "+prose.Span(now.Sub(x.Since))+": "+x.Why.Detail, max(0, p.Width-2))))
	}
	if why := f.Unnoted; why.Code != "" {
		lines = append(
			lines,
			p.Paint(
				paper.Red,
				paper.Clip("NOTHING BUILT OR DESTROYED: the provider does not keep hale's note: "+why.Detail,
					max(0, p.Width-2)),
			),
		)
	}
	return lines
}

// worldPleas say what a person can do about that.
func worldPleas(f api.Fleet) []string {
	var lines []string
	if o := f.Older; o != nil {
		lines = append(lines, fmt.Sprintf("  %s: %s: %s", f.Name, o.Why.Text, o.Why.Advice))
	}
	for _, x := range f.Foreign {
		lines = append(lines, fmt.Sprintf("  %s: %s, %s: %s", f.Name, x.Why.Text, x.Installation, x.Why.Advice))
	}
	for _, u := range f.Unproven {
		if u.Failing {
			lines = append(lines, fmt.Sprintf("  %s: %s: %s", f.Name, u.Text, words.Advice(fleet.ReasonUnproven)))
		}
	}
	if why := f.Unnoted; why.Code != "" {
		lines = append(lines, fmt.Sprintf("  %s: %s: %s", f.Name, why.Text, why.Advice))
	}
	return lines
}

// fenceLines name the hosts without a working fence, and the fences that do not verify the server.
func (p sheet) fenceLines(fleets []api.Fleet) []string {
	var lines []string
	for _, f := range fleets {
		for _, b := range f.Fencing {
			about := fmt.Sprintf("host %s of fleet %s: method %s ", b.Host, f.Name, b.Method)
			switch {
			case b.Untested:
				lines = append(lines, p.Paint(paper.Yellow, about+"was not tested yet: hale fence test "+b.Host))
			case b.Unverified:
				lines = append(lines,
					p.Paint(paper.Yellow, about+"sends its password to an unverified server (verify: false)"))
			default:
				lines = append(lines, p.Paint(paper.Red, about+"cannot cut its power: "+b.Detail))
			}
		}
	}
	return lines
}

// messageLines say which messages wait, and which were given up.
func (p sheet) messageLines(fleets []api.Fleet, now time.Time) []string {
	var lines []string
	for _, f := range fleets {
		m := f.Messages
		if m.Waiting > 0 && m.Target != "" {
			said := fmt.Sprintf(
				"%s of fleet %s not taken for %s: %s says %s",
				paper.Count(
					m.Waiting,
					"message",
				),
				f.Name,
				prose.Span(now.Sub(m.Since)),
				m.Target,
				cmp.Or(m.Detail, "(nothing)"),
			)
			lines = append(lines, p.Paint(paper.Yellow, said))
		}
		if m.Dead > 0 {
			lines = append(lines,
				p.Paint(paper.Red,
					fmt.Sprintf("%s of fleet %s given up: hale notify dead", paper.Count(m.Dead, "message"), f.Name)))
		}
	}
	return lines
}
