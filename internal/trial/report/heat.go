package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/sim/world"
)

// heat is a strip for each place of a large fleet: how much of its machines' time was lost, moment by moment.
type heat struct {
	Width, Height float64
	What          string // what a strip is: a host, rack, room or the fleet
	Ticks         []tick
	Strips        []strip
}

type strip struct {
	Y, Base float64
	Label   string
	Cells   []bar
}

const (
	bins       = 240
	mostStrips = 60
	stripLane  = 13.0
)

// heat draws the strips of a fleet that is too large for a lane per machine; else there are none.
func (c *canvas) heat() heat {
	if c.f.Size <= mostLanes {
		return heat{}
	}
	what, placeOf, places := c.places()
	lost := make([][]time.Duration, len(places))
	for i := range lost {
		lost[i] = make([]time.Duration, bins)
	}
	size := make([]int, len(places))
	for _, p := range placeOf {
		size[p]++
	}
	bin := max(c.end/bins, 1)
	for _, o := range c.h.Outages {
		n, ok := fleet.MachineName(o.Machine).Ordinal()
		if !ok || n > len(placeOf) {
			continue
		}
		for b, at := int(o.From/bin), o.From.Truncate(bin); b < bins && at < o.To; b, at = b+1, at+bin {
			lost[placeOf[n-1]][b] += min(o.To, at+bin) - max(o.From, at)
		}
	}
	t := heat{Width: width, Height: head + stripLane*float64(len(places)) + 6, What: what, Ticks: c.ticks()}
	for i, name := range places {
		s := strip{Y: head + stripLane*float64(i), Label: name}
		s.Base = s.Y + stripLane - 3
		s.Cells = c.cells(lost[i], bin*time.Duration(max(size[i], 1)), s.Y, name)
		t.Strips = append(t.Strips, s)
	}
	return t
}

// cells draws one strip; neighbours of one level are one cell.
func (c *canvas) cells(lost []time.Duration, whole time.Duration, y float64, name string) []bar {
	step := (width - labels) / bins
	var out []bar
	for b, d := range lost {
		if d == 0 {
			continue
		}
		share := float64(d) / float64(whole)
		class := levelOf(share)
		x := round(labels + step*float64(b))
		if n := len(out); n > 0 && out[n-1].Class == class && round(out[n-1].X+out[n-1].W) >= x-0.2 {
			out[n-1].W = round(x + step - out[n-1].X)
			continue
		}
		out = append(out, bar{X: x, Y: y + 1, W: round(step), H: stripLane - 2, Class: class,
			Title: fmt.Sprintf("%s at day %.1f: %.1f %% of its time without service",
				name, float64(b)*c.end.Hours()/24/bins, 100*share)})
	}
	return out
}

// levelOf is how strongly a share is drawn, on a scale of five.
func levelOf(share float64) string {
	switch {
	case share >= 0.5:
		return "l5"
	case share >= 0.2:
		return "l4"
	case share >= 0.05:
		return "l3"
	case share >= 0.01:
		return "l2"
	}
	return "l1"
}

// places returns what the strips are: the racks, or hosts where there are no racks, or rooms where those are too many;
// and for each machine which of them it stood in at the start.
func (c *canvas) places() (what string, of []int, names []string) {
	at := map[string]world.Host{}
	for _, h := range c.f.Options.Hosts {
		at[h.Name] = h
	}
	homes := c.f.Options.Standing()
	for _, p := range []struct {
		what string
		name func(world.Host) string
	}{
		{"rack", func(h world.Host) string { return h.Rack }}, {"host", func(h world.Host) string { return h.Name }},
		{"room", func(h world.Host) string { return h.Room }}, {"fleet", func(world.Host) string { return "all" }},
	} {
		of, names = of[:0], nil
		index := map[string]int{}
		for _, home := range homes {
			name := p.name(at[home])
			if _, known := index[name]; !known && name != "" {
				index[name] = len(names)
				names = append(names, name)
			}
			of = append(of, index[name])
		}
		if len(names) > 0 && len(names) <= mostStrips && !slices.Contains(names, "") {
			return p.what, of, names
		}
	}
	return cmp.Or(what, "fleet"), of, names
}
