package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hale/internal/core/record"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/law"
	"hale/internal/trial/rehearsal"
)

// The drawing's measures, in units of its own.
const (
	labels    = 120.0 // where the lanes begin
	width     = 1080.0
	lane      = 24.0
	head      = 22.0
	narrowest = 2.0 // of a bar, so that what took seconds in a month can be seen
	mostLanes = 40  // of machines
	mostBars  = 400 // of one lane
)

// timeline is a drawing of lanes over time.
type timeline struct {
	Width, Height float64
	Ticks         []tick
	Lanes         []laneView
	machines      int // with something to see
	shown         int
	size          int
}

type tick struct {
	X     float64
	Label string
}

type laneView struct {
	Y, Base float64 // its top, and where its label stands
	Label   string
	Bars    []bar
	Marks   []mark
}

// bar is something that lasted, mark something that happened. Title is what there is to say about it, Class what it is.
type bar struct {
	X, Y, W, H   float64
	Class, Title string
}

type mark struct {
	X, Y         float64
	Class, Title string
}

// scale turns times into places.
type scale struct{ end time.Duration }

func (s scale) x(at time.Duration) float64 {
	return round(labels + (width-labels)*float64(min(max(at, 0), s.end))/float64(max(s.end, 1)))
}

// round keeps what can be seen.
func round(f float64) float64 { return float64(int(f*10+0.5)) / 10 }

// canvas draws the lanes of one fleet.
type canvas struct {
	scale
	f     rehearsal.Fleet
	h     *chronicle.History
	lanes map[string]*laneView // by machine
}

func draw(f rehearsal.Fleet) (timeline, heat) {
	h := f.Options.History
	c := canvas{scale: scale{h.End}, f: f, h: h, lanes: map[string]*laneView{}}
	t := timeline{Width: width, Ticks: c.ticks(), size: f.Size}
	all := []*laneView{c.world("world", ""), c.world("hale", "server"), c.brake()}
	c.lanes[""] = all[2] // what is said of the fleet as a whole
	for _, name := range c.worthSeeing(&t) {
		l := &laneView{Label: name}
		c.lanes[name] = l
		all = append(all, l)
	}
	c.outages()
	c.records()
	c.wrongs()
	for i, l := range all {
		l.Y = head + lane*float64(i)
		l.Base = l.Y + 13
		l.settle()
		t.Lanes = append(t.Lanes, *l)
	}
	t.Height = head + lane*float64(len(all)) + 6
	return t, c.heat()
}

// left says what the drawing leaves out.
func (t timeline) left() string {
	switch quiet := t.size - t.machines; {
	case t.machines > t.shown:
		return fmt.Sprintf("The %d machines with the most to see; %d more had an outage or a record, %d had none.",
			t.shown, t.machines-t.shown, quiet)
	case quiet > 0 && t.shown < t.size:
		return fmt.Sprintf("%s no outage and no record.", plural(quiet, "further machine")+" had")
	}
	return ""
}

// ticks are days, or what suits a shorter time.
func (c *canvas) ticks() []tick {
	steps := []time.Duration{
		time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	}
	const day = 24 * time.Hour
	for _, n := range []int{1, 2, 5, 10, 30, 100, 365, 1000} {
		steps = append(steps, time.Duration(n)*day)
	}
	step := steps[len(steps)-1]
	for _, s := range steps {
		if c.end/s <= 12 {
			step = s
			break
		}
	}
	var out []tick
	for at := time.Duration(0); at <= c.end-c.end/50; at += step { // the last one would not have room
		label := fmt.Sprintf("%dd", at/day)
		if step < day {
			label = fmt.Sprintf("%d:%02d", int(at.Hours()), int(at.Minutes())%60)
		}
		out = append(out, tick{c.x(at), label})
	}
	return out
}

// worthSeeing chooses the machines that get a lane: all of a small fleet, and of a large one those with wrong acts,
// pages and the longest outages.
func (c *canvas) worthSeeing(t *timeline) []string {
	weight := map[string]float64{}
	for _, o := range c.h.Outages {
		weight[o.Machine] += 1 + (o.To - o.From).Hours()
		if o.Paged {
			weight[o.Machine] += 1000
		}
	}
	for _, m := range c.h.Moments {
		if m.Record != nil && m.Machine != "" &&
			(m.Record.Kind == record.Paged || m.Record.Kind == record.RepairStarted) {
			weight[m.Machine] += 0.01
		}
	}
	for _, v := range c.f.Result.Violations {
		if v.Machine != "" {
			weight[v.Machine] += 1e6
		}
	}
	t.machines = len(weight)
	var names []string
	for n := 1; n <= c.f.Size; n++ {
		if name := string(c.f.Name.Machine(n)); weight[name] > 0 || c.f.Size <= mostLanes {
			names = append(names, name)
		}
	}
	byWeight := slices.Clone(names)
	slices.SortStableFunc(byWeight, func(a, b string) int { return cmp.Compare(weight[b], weight[a]) })
	chosen := byWeight[:min(len(byWeight), mostLanes)]
	names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(chosen, n) })
	t.shown = len(names)
	return names
}

// bar draws what lasted in the lane, if there is one.
func (c *canvas) bar(l *laneView, from, to time.Duration, class, title string) {
	if l == nil {
		return
	}
	b := bar{X: c.x(from), Y: 2, H: 10, Class: class, Title: title}
	switch class {
	case "shared", "brake": // they have a lane to themselves
		b.Y, b.H = 3, 13
	case "repair": // below the outage
		b.Y, b.H = 13, 3
	}
	b.W = round(max(c.x(to)-b.X, narrowest))
	l.Bars = append(l.Bars, b)
}

func (c *canvas) mark(l *laneView, at time.Duration, class, title string) {
	if l != nil {
		l.Marks = append(l.Marks, mark{X: c.x(at), Class: class, Title: title})
	}
}

// world draws what struck no single machine: hale's own servers, or everything else.
func (c *canvas) world(label, subject string) *laneView {
	l := &laneView{Label: label}
	for _, m := range c.h.Moments {
		if m.Event == nil || m.Over || m.Event.OfMachine() || m.Event.OfServer() != (subject == "server") {
			continue
		}
		c.bar(l, m.At, m.At+m.Event.For, "shared", chronicle.Stamp(m.At)+"  "+m.Event.String())
	}
	return l
}

func (c *canvas) brake() *laneView {
	l := &laneView{Label: "brake"}
	for _, s := range rehearsal.Brakes(c.h) {
		c.bar(l, s.From, s.To, "brake", "the brake is on from "+chronicle.Stamp(s.From)+" to "+chronicle.Stamp(s.To))
	}
	return l
}

// endings say how an outage is drawn, and told.
var endings = map[chronicle.Ending]struct{ class, said string }{
	chronicle.EndedByHale: {"hale", "healed by hale"}, chronicle.EndedByItself: {"itself", "over by itself"},
	chronicle.EndedByPerson: {"person", "mended by a person"}, chronicle.NotEnded: {"open", "still down at the end"},
}

func (c *canvas) outages() {
	for _, o := range c.h.Outages {
		e := endings[o.Ended]
		if o.Ended == chronicle.EndedByHale && o.Paged {
			e.class, e.said = "paged", "healed by hale after a page"
		}
		if o.Unseen {
			e.class, e.said = "unseen", e.said+"; no failure to the policy"
		}
		what := "an outage"
		if o.Event != nil {
			what = o.Event.String()
		}
		c.bar(c.lanes[o.Machine], o.From, o.To, e.class,
			fmt.Sprintf("%s  %s: down for %s, %s", chronicle.Stamp(o.From), what, (o.To-o.From).Round(time.Second),
				e.said))
	}
}

// records draws repairs, holds and pages.
func (c *canvas) records() {
	begun := map[string]time.Duration{}
	for _, m := range c.h.Moments {
		if m.Record == nil {
			continue
		}
		l, title := c.lanes[m.Machine], chronicle.Stamp(m.At)+"  "+m.Line()
		switch m.Record.Kind {
		case record.RepairStarted:
			begun[m.Machine] = m.At
		case record.RepairEnded:
			c.bar(l, begun[m.Machine], m.At, "repair", title)
			delete(begun, m.Machine)
		case record.Held:
			c.mark(l, m.At, "held", title)
		case record.Paged:
			c.mark(l, m.At, "page", title)
		default:
		}
	}
	for machine, from := range begun {
		c.bar(c.lanes[machine], from, c.end, "repair", "a repair under way at the end")
	}
}

// wrongs draws every broken law, and every act on a healthy machine.
func (c *canvas) wrongs() {
	for _, v := range c.f.Result.Violations {
		c.mark(c.lanes[v.Machine], v.At, "wrong",
			fmt.Sprintf("%s  law %s is broken: %s", chronicle.Stamp(v.At), v.Law, v.What))
	}
	for _, a := range c.h.Acts {
		if a.Wrong == law.WrongHealthy {
			c.mark(c.lanes[a.Machine], a.At, "wrong",
				fmt.Sprintf("%s  %s although it was healthy", chronicle.Stamp(a.At), a.Op))
		}
	}
}

// settle puts the lane's things at their height, and lets what lies on the same spot stand for all of it.
func (l *laneView) settle() {
	var bars []bar
	for _, b := range l.Bars {
		b.Y = round(b.Y + l.Y)
		if n := len(bars); n > 0 && bars[n-1].Class == b.Class && bars[n-1].Y == b.Y && bars[n-1].X == b.X &&
			bars[n-1].W >= b.W {
			continue
		}
		bars = append(bars, b)
	}
	if len(bars) > mostBars {
		slices.SortStableFunc(bars, func(a, b bar) int { return cmp.Compare(b.W, a.W) })
		bars = bars[:mostBars]
	}
	l.Bars = bars
	var marks []mark
	slices.SortStableFunc(l.Marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.X, b.X))
	})
	for _, m := range l.Marks {
		m.Y = round(l.Y)
		if n := len(marks); n > 0 && marks[n-1].Class == m.Class && m.X-marks[n-1].X < 1 {
			continue
		}
		marks = append(marks, m)
	}
	l.Marks = marks[:min(len(marks), mostBars)]
}
