package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/core/policy"
	"hale/internal/sim/script"
	"hale/internal/trial/rehearsal"
	"hale/internal/trial/report"
)

const day = 24 * time.Hour

// rehearsed plays a fleet of the size for the time, changed as the test wants.
func rehearsed(t *testing.T, size int, horizon time.Duration, change func(*config.Config),
	kinds ...script.Kind) rehearsal.Outcome {
	t.Helper()
	c, err := config.Parse("hale.yaml", []byte(fmt.Sprintf(`
providers: {dream: {type: simulated, boot: 20s, latency: 100ms}}
fleets: {web: {provider: dream, size: %d, checks: {page: {http: {}, every: 10s}}, limits: {in_repair: %d}}}
`, size, max(size/20, 1))), adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(c)
	}
	out, err := rehearsal.Rehearse(rehearsal.Options{
		Config: c, Seed: 1, Horizon: horizon, Operator: time.Hour, Weather: rehearsal.Faults{Kinds: kinds},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func written(t *testing.T, p report.Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// element is what the tests look at: a name with its attributes, and the text right below it.
type element struct {
	name string
	attr map[string]string
	text string
}

// elements reads the page strictly: every tag is closed in its order.
func elements(t *testing.T, page string) []element {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Entity = xml.HTMLEntity
	var all []element
	var open []int
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("the page is not well formed: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := element{name: x.Name.Local, attr: map[string]string{}}
			for _, a := range x.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			open = append(open, len(all))
			all = append(all, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				all[open[len(open)-1]].text += string(x)
			}
		}
	}
}

func count(all []element, is func(element) bool) int {
	n := 0
	for _, e := range all {
		if is(e) {
			n++
		}
	}
	return n
}

func TestTheReportShowsWhatHappened(t *testing.T) {
	t.Parallel()
	out := rehearsed(t, 3, 30*day, nil, script.KindMachine, script.KindPower, script.KindController)
	page := written(t, report.Page{Outcome: out, Version: "1.2", Command: "hale simulate hale.yaml --seed 1"})
	all := elements(t, page)
	for _, want := range []string{
		"Nothing wrong was done",
		"hale simulate hale.yaml --seed 1",
		"hale 1.2",
		"Fleet web",
		"healthy machines destroyed",
		"What struck, and who ended it",
		"size: 3", // the policy
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	lanes := map[string]bool{}
	for i, e := range all {
		if e.name == "g" && e.attr["class"] == "lane" {
			lanes[all[i+1].text] = true
		}
	}
	for _, name := range []string{"world", "hale", "brake", "web-1", "web-2", "web-3"} {
		if !lanes[name] {
			t.Errorf("there is no lane %s: %v", name, lanes)
		}
	}
	outages := count(all, func(e element) bool {
		return e.name == "rect" && strings.HasPrefix(e.attr["class"], "b-hale") && e.attr["x"] != ""
	})
	if outages == 0 || outages > out.Outages {
		t.Errorf("%d healed outages are drawn, of %d", outages, out.Outages)
	}
	if bars, titles := count(all, func(e element) bool {
		return e.name == "rect" && e.attr["x"] != "" && e.attr["x"] != "1"
	}),
		count(all, func(e element) bool { return e.name == "title" }); titles <= bars {
		t.Errorf("%d bars, and %d titles for them and the page", bars, titles)
	}
}

func TestAWrongActIsShownWithItsLinesAndTheLeastThatDoesItAgain(t *testing.T) {
	t.Parallel()
	acts := func(c *config.Config) { c.Fleets[0].Repair.Silence = policy.SilenceActs }
	out := rehearsed(t, 1, 10*day, acts, script.KindPartition)
	out.Found = out.Find(nil)
	page := written(t, report.Page{Outcome: out})
	all := elements(t, page)
	if n := count(all, func(e element) bool { return e.name == "path" && e.attr["class"] == "m-wrong" }); n < 2 {
		// one is the legend's
		t.Errorf("%d wrong acts are marked", n)
	}
	for _, want := range []string{
		"Something went wrong that must never happen",
		"law harm, web-",
		"is out of sight of hale-1",
		"BROKEN harm",
		"-- events --",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestALargeFleetIsShownByPlaceAndByItsWorstMachines(t *testing.T) {
	t.Parallel()
	out := rehearsed(t, 2000, 5*day, nil, script.KindMachine, script.KindStorm)
	page := written(t, report.Page{Outcome: out})
	all := elements(t, page)
	if lanes := count(all, func(e element) bool { return e.attr["class"] == "lane" }); lanes != 43 {
		t.Errorf("%d lanes; 40 machines and 3 more were wanted", lanes)
	}
	if heat := count(all, func(e element) bool { return e.name == "svg" && e.attr["class"] == "heat" }); heat != 1 {
		t.Errorf("%d strips of heat", heat)
	}
	if !regexp.MustCompile(`The 40 machines with the most to see; \d+ more had`).MatchString(page) {
		t.Error("it does not say what is left out")
	}
	if len(page) > 2<<20 {
		t.Errorf("the page has %d bytes for %d outages", len(page), out.Outages)
	}
	small := elements(t, written(t, report.Page{Outcome: rehearsed(t, 3, day, nil, script.KindMachine)}))
	if count(small, func(e element) bool { return e.attr["class"] == "heat" }) != 0 {
		t.Error("three machines need no strips")
	}
}

func TestThePageStandsAloneAndRunsNothing(t *testing.T) {
	t.Parallel()
	page := written(t, report.Page{Outcome: rehearsed(t, 5, 10*day, nil, script.FirstKinds()...)})
	for _, e := range elements(t, page) {
		if e.name == "script" || e.name == "link" || e.name == "iframe" || e.name == "img" {
			t.Errorf("there is a <%s>", e.name)
		}
		for name, value := range e.attr {
			if name == "src" || name == "href" || name == "style" || strings.HasPrefix(name, "on") {
				t.Errorf("<%s> has %s=%q", e.name, name, value)
			}
		}
	}
	for _, word := range []string{"http://", "https://", "url(", "@import", "javascript:"} {
		if strings.Contains(page, word) {
			t.Errorf("the page contains %s", word)
		}
	}
	if !strings.Contains(page, "prefers-color-scheme:dark") || !strings.Contains(page, "default-src 'none'") {
		t.Error("it has one look only, or may fetch what it likes")
	}
}

func TestHostileNamesStayNames(t *testing.T) {
	t.Parallel()
	const evil = `x"><script>alert(1)</script>`
	out := rehearsed(t, 3, 10*day, func(c *config.Config) {
		c.Fleets[0].Name = evil
		c.Fleets[0].Checks[0].Name = evil
		c.Fleets[0].UnhealthyWhen = policy.Condition{Op: policy.OpTerm, Term: evil}
	}, script.KindMachine)
	out.DidNotFit = append(out.DidNotFit, evil)
	out.Fleets[0].Warnings = append(out.Fleets[0].Warnings, evil)
	page := written(t, report.Page{Outcome: out, Version: evil, Command: evil})
	for _, e := range elements(t, page) {
		if e.name == "script" {
			t.Fatal("a name became a script")
		}
	}
	if n := strings.Count(page, "&lt;script&gt;"); n < 10 {
		t.Errorf("the name is written %d times", n)
	}
}
