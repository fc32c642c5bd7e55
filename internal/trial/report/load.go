package report

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/prose"
	"hale/internal/sim/chronicle"
	"hale/internal/trial/rehearsal"
)

// loadView draws the load on a fleet, and the machines beside it, in machines that the load takes all of.
type loadView struct {
	Width, Height float64
	Ticks         []tick
	Levels        []level
	Asked, On     string  // paths: the area of the load, and the machines that were on
	Size          string  // and how many were asked for
	Short         []bar   // when too few served
	Cost          string  // in a sentence
	Base          float64 // where the ground is
}

// level is a line of the scale.
type level struct {
	Y     float64
	Label string
}

const (
	plot      = 200.0 // its height
	mostSteps = 4     // of the scale
	mostSpots = 1500  // of a path
)

// drawLoad draws the load of a fleet that bears one.
func drawLoad(f rehearsal.Fleet) loadView {
	h := f.Options.History
	if len(h.Loads) == 0 {
		return loadView{}
	}
	c := canvas{scale: scale{h.End}, f: f, h: h}
	most := 1.0
	for _, l := range h.Loads {
		most = max(most, l.Asked, float64(l.On), float64(l.Size))
	}
	v := loadView{Width: width, Height: head + plot + 8, Ticks: c.ticks(), Base: head + plot}
	y := func(machines float64) float64 { return round(v.Base - plot*machines/most) }
	step := max(1, (int(most)+mostSteps-1)/mostSteps)
	for n := 0; float64(n) <= most; n += step {
		v.Levels = append(v.Levels, level{y(float64(n)), fmt.Sprintf("%d machines", n)})
	}
	v.Levels[0].Label = "0"
	var asked, on, size strings.Builder
	fmt.Fprintf(&asked, "M%v %v", c.x(h.Loads[0].At), v.Base)
	stride := max(1, len(h.Loads)/mostSpots)
	for i, l := range h.Loads {
		to := h.End
		if i+1 < len(h.Loads) {
			to = h.Loads[i+1].At
		}
		if l.Serving < l.Needed {
			v.short(c, l, to)
		}
		if i%stride != 0 {
			continue
		}
		x := c.x(l.At)
		fmt.Fprintf(&asked, "L%v %v", x, y(l.Asked))
		stair(&on, x, y(float64(l.On)))
		stair(&size, x, y(float64(l.Size)))
	}
	end := c.x(h.End)
	fmt.Fprintf(&asked, "H%vV%vZ", end, v.Base)
	fmt.Fprintf(&on, "H%v", end)
	fmt.Fprintf(&size, "H%v", end)
	v.Asked, v.On, v.Size = asked.String(), on.String(), size.String()
	s := f.Score.Sizes
	v.Cost = fmt.Sprintf("For %s fewer machines served than the load needed. Of %.1f machine-hours %.1f were more than it "+
		"needed. The size grew %d times, and shrank %d times.",
		prose.Span(time.Duration(s.SecondsUnder)*time.Second), s.MachineHours, s.HoursOver, s.ScaledOut, s.ScaledIn)
	return v
}

// stair goes on to a point along the path's height.
func stair(path *strings.Builder, x, y float64) {
	if path.Len() == 0 {
		fmt.Fprintf(path, "M%v %v", x, y)
		return
	}
	fmt.Fprintf(path, "H%vV%v", x, y)
}

// short marks a time in which too few served; one that follows at once makes the last one longer.
func (v *loadView) short(c canvas, l chronicle.Load, to time.Duration) {
	x := c.x(l.At)
	w := round(max(c.x(to)-x, narrowest))
	if n := len(v.Short); n > 0 && v.Short[n-1].X+v.Short[n-1].W >= x {
		v.Short[n-1].W = round(max(v.Short[n-1].W, x+w-v.Short[n-1].X))
		return
	}
	v.Short = append(v.Short, bar{X: x, Y: head, W: w, H: plot, Title: fmt.Sprintf("%s  %d of %d machines served",
		chronicle.Stamp(l.At), l.Serving, l.Needed)})
}
