package e2e

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/api"
)

// The drawing's measures.
const (
	drawnWidth  = 960.0
	drawnLeft   = 52.0  // where the time begins
	drawnRight  = 908.0 // where it ends
	loadTop     = 44.0
	loadBottom  = 264.0
	failsBottom = 312.0
	laneHeight  = 18.0
	lanesTop    = 326.0
)

// drawing is a picture of a day: the load and what there was for it, failed requests, and each machine.
type drawing struct {
	strings.Builder
	d      *day
	length time.Duration
	top    float64 // requests per second at loadTop
}

const style = `<style>
text{font:12px system-ui,sans-serif;fill:#1b1f24}.soft{fill:#59636e;font-size:11px}.mid{text-anchor:middle}.end{text-anchor:end}
.line{stroke:#d1d9e0}.load{fill:#0072b2;opacity:.28}.size{fill:none;stroke:#1b1f24;stroke-width:1.6}
.well{fill:none;stroke:#117733;stroke-width:1.6;stroke-dasharray:5 3}.fails{fill:#b3261e}.deaf{fill:#8c959f;opacity:.22}
.there{fill:#d1d9e0}.down{fill:#e69f00}.goes{fill:#56b4e9}.hit{stroke:#b3261e;stroke-width:2.2;fill:none}
</style>
`

// draw draws the day.
func (d *day) draw(events []api.Event) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := &drawing{d: d, length: d.seen[len(d.seen)-1].at, top: float64((d.most + 1) * eachServes)}
	height := lanesTop + laneHeight*float64(d.lanes()) + 34
	g.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="%s">`, drawnWidth, height,
		"Load, size, failed requests and repairs of a fleet over time")
	g.put("%s<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>", style)
	g.axes(height - 20)
	g.load()
	g.fails()
	g.machines(events)
	g.legend()
	g.put("</svg>")
	return g.String()
}

func (g *drawing) put(format string, args ...any) { fmt.Fprintf(g, format+"\n", args...) }

func (g *drawing) x(at time.Duration) float64 {
	return tenth(drawnLeft + (drawnRight-drawnLeft)*float64(min(max(at, 0), g.length))/float64(g.length))
}

func (g *drawing) y(rate float64) float64 {
	return tenth(loadBottom - (loadBottom-loadTop)*min(rate/g.top, 1))
}

// tenth keeps what can be seen.
func tenth(f float64) float64 { return float64(int(f*10+0.5)) / 10 }

// lanes is how many machines there were at all.
func (d *day) lanes() int {
	most := 0
	for _, s := range d.seen {
		for _, m := range s.all {
			most = max(most, ordinal(m))
		}
	}
	return most
}

// axes are requests per second on the left, as many machines as they take on the right, and the time that was played,
// with the time of the recording.
func (g *drawing) axes(bottom float64) {
	g.put(`<text class="soft" x="8" y="%g">requests/s</text><text class="soft end" x="%g" y="%g">machines</text>`,
		loadTop-8, drawnWidth-8, loadTop-8)
	for n := 0; n <= g.d.most+1; n++ {
		y := g.y(float64(n * eachServes))
		g.put(`<path class="line" d="M%g %gH%g"/><text class="soft end" x="%g" y="%g">%d</text>`+
			`<text class="soft" x="%g" y="%g">%d</text>`,
			drawnLeft, y, drawnRight, drawnLeft-6, y+4, n*eachServes, drawnRight+6, y+4, n)
	}
	for hour := g.d.load.From; !hour.After(g.d.load.To); hour = hour.Add(g.d.tick) {
		at := g.d.load.After(hour)
		g.put(`<path class="line" d="M%g %gV%g"/><text class="soft mid" x="%g" y="%g">%s</text>`,
			g.x(at), loadTop, bottom-10, g.x(at), bottom+4, hour.Format("2 Jan 15:04"))
	}
	g.put(`<text class="soft" x="8" y="%g">the times are those of the recording: %.0f hours of it, played in %.0f minutes</text>`,
		bottom+18, g.d.to.Sub(g.d.from).Hours(), g.d.dose.length.Minutes())
}

// load is the rate that users want, and what the size is good for.
func (g *drawing) load() {
	if s := g.d.silent; s != nil {
		g.put(`<rect class="deaf" x="%g" y="%g" width="%g" height="%g"/><text class="soft mid" x="%g" y="%g">no metric</text>`,
			g.x(s.from), loadTop, tenth(g.x(s.to)-g.x(s.from)), loadBottom-loadTop,
			tenth((g.x(s.from)+g.x(s.to))/2), loadTop+14)
	}
	area := fmt.Sprintf("M%g %g", g.x(0), loadBottom)
	for at := time.Duration(0); at < g.d.dose.length; at += g.d.dose.length / 450 {
		area += fmt.Sprintf("L%g %g", g.x(at), g.y(g.d.load.Rate(at)))
	}
	g.put(`<path class="load" d="%sV%gZ"/>`, area, loadBottom)
	g.put(`<path class="size" d="%s"/><path class="well" d="%s"/>`,
		g.steps(func(s sight) int { return s.size }), g.steps(func(s sight) int { return s.healthy }))
}

// steps is the way of a number of machines over time.
func (g *drawing) steps(of func(sight) int) string {
	way, last := "", -1
	for _, s := range g.d.seen {
		switch n := of(s); {
		case last < 0:
			way = fmt.Sprintf("M%g %g", g.x(s.at), g.y(float64(n*eachServes)))
			last = n
		case n != last:
			way += fmt.Sprintf("H%gV%g", g.x(s.at), g.y(float64(n*eachServes)))
			last = n
		}
	}
	return way + fmt.Sprintf("H%g", drawnRight)
}

// fails are the failed requests of each second.
func (g *drawing) fails() {
	total := g.d.seen[len(g.d.seen)-1].tally
	g.put(`<text x="%g" y="%g">failed requests: %d of %d</text><path class="line" d="M%g %gH%g"/>`, drawnLeft,
		loadBottom+18, total.Failed, total.Sent, drawnLeft, failsBottom, drawnRight)
	inSecond, before := map[int]int{}, 0
	for _, s := range g.d.seen {
		inSecond[int(s.at.Seconds())] += s.tally.Failed - before
		before = s.tally.Failed
	}
	for second := range int(g.length.Seconds()) + 1 {
		if n := inSecond[second]; n > 0 {
			h := min(float64(n)*4, failsBottom-loadBottom-22)
			at := time.Duration(second) * time.Second
			g.put(`<rect class="fails" x="%g" y="%g" width="%g" height="%g"/>`, g.x(at), failsBottom-h,
				max(tenth(g.x(at+time.Second)-g.x(at)), 1), h)
		}
	}
}

// machines are lanes: when each was there, when it was down, and when it went.
func (g *drawing) machines(events []api.Event) {
	for n := 1; n <= g.d.lanes(); n++ {
		name := fmt.Sprintf("%s-%d", g.d.settings.fleet, n)
		top := lanesTop + laneHeight*float64(n-1)
		g.put(`<text class="soft" x="8" y="%g">%s</text>`, top+11, name)
		g.bars(top+2, 12, "there", g.times(func(s sight) bool { return slices.Contains(s.all, name) }))
		g.bars(top+5, 6, "down", g.d.between(events, name, kind("incident-opened"), kind("incident-closed")))
		g.bars(top+5, 6, "goes", g.d.between(events, name, because("repair-started", "remove"),
			because("change", "size-down")))
		for _, k := range g.d.kills {
			if k.machine == name {
				g.put(`<path class="hit" d="M%g %gl8 8m0 -8l-8 8"/>`, tenth(g.x(k.at)-4), top+4)
			}
		}
	}
}

func (g *drawing) bars(top, height float64, class string, spans []span) {
	for _, s := range spans {
		g.put(`<rect class="%s" x="%g" y="%g" width="%g" height="%g"/>`, class, g.x(s.from), top,
			max(tenth(g.x(s.to)-g.x(s.from)), 1.5), height)
	}
}

// times are when something was to be seen.
func (g *drawing) times(holds func(sight) bool) []span {
	var out []span
	open := false
	for _, s := range g.d.seen {
		switch {
		case holds(s) && !open:
			out, open = append(out, span{from: s.at, to: g.length}), true
		case !holds(s) && open:
			out[len(out)-1].to, open = s.at, false
		}
	}
	return out
}

// between are the times from one kind of event of the machine to another.
func (d *day) between(events []api.Event, machine string, from, to match) []span {
	var out []span
	end := d.seen[len(d.seen)-1].at
	open := false
	for _, e := range events {
		switch at := e.At.Sub(d.begin); {
		case e.Machine != machine:
		case from(e) && !open:
			out, open = append(out, span{at, end}), true
		case to(e) && open:
			out[len(out)-1].to, open = at, false
		}
	}
	return out
}

// legend says what the colours are.
func (g *drawing) legend() {
	x := drawnLeft
	for _, l := range []struct{ mark, what string }{
		{`<rect class="load" x="%g" y="8" width="18" height="10"/>`, "requests"},
		{`<path class="size" d="M%g 13h18"/>`, "size"},
		{`<path class="well" d="M%g 13h18"/>`, "healthy machines"},
		{`<rect class="fails" x="%g" y="8" width="18" height="10"/>`, "failed requests"},
		{`<rect class="there" x="%g" y="8" width="18" height="10"/>`, "machine"},
		{`<rect class="down" x="%g" y="10" width="18" height="6"/>`, "down, until healed"},
		{`<rect class="goes" x="%g" y="10" width="18" height="6"/>`, "removed"},
		{`<path class="hit" d="M%g 9l8 8m0 -8l-8 8"/>`, "struck"},
	} {
		g.put(l.mark+`<text class="soft" x="%g" y="17">%s</text>`, x, x+24, l.what)
		x += 44 + 6*float64(len(l.what))
	}
}
