package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"hale/internal/prose"
	"hale/internal/prose/words"
	"hale/internal/trial/rehearsal"
	"hale/internal/trial/scenario"
)

// Page is what a report is made of.
type Page struct {
	Outcome rehearsal.Outcome
	Version string // of hale
	Command string // one line that plays it again
}

//go:embed report.html
var source string

//go:embed report.css
var style string

var page = template.Must(template.New("report").Parse(source))

// Write writes the report.
func Write(w io.Writer, p Page) error {
	v := view{
		Page: p, Style: template.CSS(style), OK: p.Outcome.OK(), //nolint:gosec // our own sheet, without anything in it
		Figures: figures(p.Outcome),
	}
	for _, f := range p.Outcome.Fleets {
		v.Fleets = append(v.Fleets, viewFleet(f))
	}
	return page.Execute(w, v)
}

// view is the page as its template sees it.
type view struct {
	Page
	Style   template.CSS
	OK      bool
	Figures []table
	Fleets  []fleetView
}

// fleetView is one fleet's part of the page.
type fleetView struct {
	rehearsal.Fleet
	About    string
	Timeline timeline
	Heat     heat
	Load     loadView
	Left     string // what the timeline leaves out
	Rows     []faultRow
	Tallies  []tally
	Mistakes []mistake
	Policy   string
}

type faultRow struct {
	rehearsal.Fault
	Median string
}

// tally is one list of counts.
type tally struct {
	Title, Empty string
	Counts       []rehearsal.Count
}

type mistake struct {
	rehearsal.Misdeed
	When string
}

// figure is one line of the score, with a column for the whole and each fleet.
type figure struct {
	Name   string
	Values []string
	Never  bool // anything but 0 is wrong
	Bad    bool
}

func viewFleet(f rehearsal.Fleet) fleetView {
	v := fleetView{Fleet: f, About: about(f), Policy: string(scenario.Policy(f.Options))}
	v.Timeline, v.Heat = draw(f)
	v.Load = drawLoad(f)
	v.Left = v.Timeline.left()
	for _, row := range f.Faults {
		r := faultRow{Fault: row}
		if row.Outages > 0 {
			r.Median = prose.Span(time.Duration(row.MedianSecond) * time.Second)
		}
		v.Rows = append(v.Rows, r)
	}
	v.Tallies = []tally{
		{"Done", "Nothing was done.", f.Actions}, {"Held back", "Nothing was held back.", f.Held},
		{"Told to a person", "No person was told of anything.", f.Paged},
	}
	for _, m := range f.Wrong {
		v.Mistakes = append(v.Mistakes, mistake{m, prose.Span(time.Duration(m.AtSeconds) * time.Second)})
	}
	return v
}

func about(f rehearsal.Fleet) string {
	steps := make([]string, 0, len(f.Options.Spec.Repair.Steps))
	for _, s := range f.Options.Spec.Repair.Steps {
		steps = append(steps, string(s.Kind))
	}
	return fmt.Sprintf("%s on %s for %s, %s; hale %s (%s)", f.Machines(), plural(f.Hosts, "host"),
		prose.Span(f.Options.Horizon), plural(f.Servers, "hale server"), words.Mode(f.Mode), strings.Join(steps, ", "))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
