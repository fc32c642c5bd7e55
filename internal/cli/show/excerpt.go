package show

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/paper"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// manyFleets is from how many fleets on a line for each is shown, and not their machines.
const manyFleets = 12

// selection is what of the status a person wants to see.
type selection struct {
	fleets  []string // empty: all
	failing bool
	all     bool
}

// of returns what is wanted of the status. The counts of a fleet stay those of the whole fleet.
func (w selection) of(s api.Status) (api.Status, error) {
	var known []string
	for _, f := range s.Fleets {
		known = append(known, f.Name)
	}
	for _, name := range w.fleets {
		if !slices.Contains(known, name) {
			return s, api.UnknownFleet(name, known)
		}
	}
	fleets := []api.Fleet{}
	for _, f := range s.Fleets {
		if len(w.fleets) > 0 && !slices.Contains(w.fleets, f.Name) {
			continue
		}
		if w.failing {
			f.Machines = slices.DeleteFunc(slices.Clone(f.Machines), func(m api.Machine) bool { return !ill(m) })
			if len(f.Machines) == 0 && !unwell(f) {
				continue
			}
		}
		fleets = append(fleets, f)
	}
	s.Fleets = fleets
	return s, nil
}

// ill reports whether a machine is one to look at.
func ill(m api.Machine) bool {
	return m.NeedsPerson || m.Quarantine != nil || m.Verdict != string(belief.VerdictHealthy)
}

// urgency orders machines: what a person must look at and what fails, what is not healthy, what is at work, the rest.
func urgency(m api.Machine) int {
	switch {
	case m.NeedsPerson, m.Verdict == string(belief.VerdictUnhealthy):
		return 0
	case ill(m):
		return 1
	case m.Repair != nil, m.Waiting.Code != "", m.Adoption == api.AdoptionCandidate:
		return 2
	}
	return 3
}

// unwell reports whether something of the fleet as a whole is to be looked at.
func unwell(f api.Fleet) bool {
	return f.Healthy < f.Size || f.Brake.Engaged || !f.Acting || f.Provider.Standing != string(fleet.ProviderUp) ||
		f.Shortfall != "" ||
		f.Vantage.Doubt.Code != "" || len(f.Parents) > 0 || len(f.Fencing) > 0 ||
		f.Messages.Waiting+f.Messages.Dead > 0 ||
		f.Older != nil ||
		len(f.Foreign) > 0 ||
		f.Unnoted.Code != "" ||
		slices.ContainsFunc(f.Machines, ill)
}

// worstFirst returns the fleets in which something is wrong before the others.
func worstFirst(fleets []api.Fleet) []api.Fleet {
	rank := func(f api.Fleet) int {
		if unwell(f) {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(
		slices.Values(fleets),
		func(a, b api.Fleet) int { return cmp.Compare(rank(a), rank(b)) },
	)
}

// cut is how much is shown at most.
type cut struct {
	healthy, ill int    // machines of each fleet
	summary      bool   // of each fleet a line
	fleets       int    // lines of the summary
	none         string // what is said instead of no fleets
}

// whole leaves nothing out.
var whole = cut{healthy: math.MaxInt, ill: math.MaxInt, fleets: math.MaxInt}

// machines returns those that are shown, what is ill first, and says how many are not.
func (c cut) machines(all []api.Machine) (shown []api.Machine, left string) {
	var sick, well int
	for _, m := range slices.SortedStableFunc(slices.Values(all), func(a, b api.Machine) int {
		return cmp.Compare(urgency(a), urgency(b))
	}) {
		switch {
		case ill(m) && sick < c.ill:
			sick++
		case !ill(m) && well < c.healthy:
			well++
		default:
			continue
		}
		shown = append(shown, m)
	}
	hidden := len(all) - len(shown)
	for _, m := range all {
		if ill(m) {
			sick--
		}
	}
	switch {
	case hidden == 0, -sick == 0 && len(shown) == 0: // the headline has the number of healthy ones
		return shown, ""
	case -sick == 0:
		return shown, paper.Count(hidden, "healthy machine") + " more"
	case -sick == hidden:
		return shown, paper.Count(hidden, "machine") + " more, none of them healthy"
	}
	return shown, fmt.Sprintf("%s more, %d of them not healthy", paper.Count(hidden, "machine"), -sick)
}

// overview renders what a person asked for.
func (p sheet) overview(s api.Status, w selection, now time.Time) []string {
	switch {
	case w.failing && len(s.Fleets) == 0:
		c := whole
		c.none = "every machine that was asked for is healthy"
		return p.excerpt(s, now, c)
	case w.failing, w.all, len(w.fleets) > 0, len(s.Fleets) <= manyFleets:
		return p.status(s, now)
	}
	c := whole
	c.summary = true
	lines := append([]string{p.totals(s), ""}, p.excerpt(s, now, c)...)
	const more = "hale status FLEET shows its machines, --failing those that are not healthy, --all every one"
	return append(lines, "", p.Paint(paper.Faint, paper.Clip(more, p.Width)))
}

// fitting renders as much as there is room for: it leaves out healthy machines first, then ill ones, then the
// machines altogether. room 0: everything.
func (p sheet) fitting(s api.Status, now time.Time, room int) []string {
	lines := p.excerpt(s, now, whole)
	if room <= 0 || len(lines) <= room {
		return lines
	}
	longest, unwellFleets := 0, 0
	for _, f := range s.Fleets {
		longest = max(longest, len(f.Machines))
		if unwell(f) {
			unwellFleets++
		}
	}
	s.Fleets = worstFirst(s.Fleets)
	for _, try := range []struct {
		least, most int
		cut         func(n int) cut
	}{
		{0, longest, func(n int) cut { return cut{healthy: n, ill: math.MaxInt} }},
		{0, longest, func(n int) cut { return cut{ill: n} }},
		{unwellFleets, len(s.Fleets), func(n int) cut { return cut{summary: true, fleets: n, ill: 1} }},
		{unwellFleets, len(s.Fleets), func(n int) cut { return cut{summary: true, fleets: n} }},
	} {
		if lines = p.excerpt(s, now, try.cut(try.least)); len(lines) > room {
			continue
		}
		low, high := try.least, try.most // low fits
		for low < high {
			middle := (low + high + 1) / 2
			if l := p.excerpt(s, now, try.cut(middle)); len(l) <= room {
				low, lines = middle, l
			} else {
				high = middle - 1
			}
		}
		return lines
	}
	return p.cramped(s, now, room, max(1, min(unwellFleets, room/2)))
}

// cramped renders what comes first where there is no room for all that is ill: so many fleets, the worst first, then as
// many remarks as fit, without empty lines, and how many lines are left out.
func (p sheet) cramped(s api.Status, now time.Time, room, fleets int) []string {
	lines := append(p.storeLines(s.Store, now), p.fleets(s, now, cut{summary: true, fleets: fleets})...)
	lines = slices.DeleteFunc(append(lines, p.remarks(s, now, cut{ill: 1})...), func(l string) bool { return l == "" })
	if left := len(lines) - room + 1; left > 1 {
		lines = append(
			lines[:len(lines)-left],
			p.Paint(paper.Faint, paper.Clip(fmt.Sprintf("  and %d lines more (hale status)",
				left), p.Width)),
		)
	}
	return lines
}

// fleets renders them one after the other, or as a line each.
func (p sheet) fleets(s api.Status, now time.Time, c cut) []string {
	if len(s.Fleets) == 0 {
		return []string{cmp.Or(c.none, "there are no fleets in the configuration")}
	}
	if c.summary {
		return p.summary(s.Fleets, now, c.fleets)
	}
	var lines []string
	for i, f := range s.Fleets {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, p.fleet(f, now, c)...)
	}
	return lines
}

// summary is a line for each fleet, those first in which something is wrong.
func (p sheet) summary(fleets []api.Fleet, now time.Time, most int) []string {
	columns := []paper.Column{
		{Title: "FLEET", Keep: paper.KeepAlways},
		{Title: "HEALTHY", Keep: paper.KeepAlways},
		{Title: "STANDS", Keep: 5, Narrowest: 16},
	}
	sorted := worstFirst(fleets)
	for _, f := range sorted[:min(most, len(sorted))] {
		parts := headParts(f, now)
		said := make([]string, 0, len(parts))
		for _, part := range parts[1:] {
			if part.Style != paper.Plain {
				said = append(said, part.Text)
			}
		}
		stands := paper.Cell{Text: strings.Join(said, ", "), Style: paper.Yellow}
		healthy := paper.Cell{Text: fmt.Sprintf("%d of %d", f.Healthy, f.Size), Style: parts[0].Style}
		for i, c := range []paper.Cell{{Text: f.Name}, healthy, stands} {
			columns[i].Cells = append(columns[i].Cells, c)
		}
	}
	lines := p.Table(columns)
	if left := len(sorted) - most; left > 0 && most < len(sorted) {
		lines = append(lines, p.Paint(paper.Faint, paper.Clip("  and "+paper.Count(left, "fleet")+" more", p.Width)))
	}
	return lines
}

// totals counts everything in one line.
func (p sheet) totals(s api.Status) string {
	t := tally(s)
	parts := []string{fmt.Sprintf("%d of %s healthy", t.healthy, paper.Count(t.size, "machine"))}
	for _, c := range []struct {
		n    int
		what string
	}{{t.failing, "fail"}, {t.needy, "need you"}, {t.inRepair, "in repair"}, {t.inBuild, "being built"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if t.braked > 0 {
		parts = append(parts, paper.Count(t.braked, "fleet")+" braked")
	}
	colour := paper.Green
	if t.healthy < t.size || t.needy > 0 {
		colour = paper.Yellow
	}
	return p.Paint(colour, paper.Clip(paper.Count(len(s.Fleets), "fleet")+": "+strings.Join(parts, ", "), p.Width))
}

// tallied are the numbers of all fleets together.
type tallied struct{ size, healthy, failing, suspect, needy, inRepair, inBuild, braked int }

func tally(s api.Status) tallied {
	var t tallied
	for _, f := range s.Fleets {
		t.size += f.Size
		t.healthy += f.Healthy
		t.failing += f.Failing
		t.suspect += f.Suspect
		t.inRepair += f.InRepair
		t.inBuild += f.InBuild
		if f.Brake.Engaged {
			t.braked++
		}
		for _, m := range f.Machines {
			if m.NeedsPerson {
				t.needy++
			}
		}
	}
	return t
}
