package cli

import (
	"fmt"
	"time"

	"hale/internal/api"
	"hale/internal/prose"
)

// fleetHold is a hold with the fleet that it is in, as hale holds --json prints it.
type fleetHold struct {
	Fleet string `json:"fleet"`
	api.Hold
}

func heldIn(s api.Status) []fleetHold {
	out := []fleetHold{}
	for _, f := range s.Fleets {
		for _, h := range f.Holds {
			out = append(out, fleetHold{f.Name, h})
		}
	}
	return out
}

// subject is what is held, as one writes it in a command.
func (h fleetHold) subject() string {
	switch {
	case h.Machine != "":
		return h.Machine
	case h.Host != "":
		return "host:" + h.Host
	}
	return h.Fleet
}

// holds renders a table of holds, as of now and in now's time zone.
func (p paper) holds(held []fleetHold, now time.Time) []string {
	if len(held) == 0 {
		return []string{"nothing is held"}
	}
	columns := []column{
		{title: "HELD", keep: keepAlways}, {title: "FLEET", keep: 3}, {title: "UNTIL", keep: keepAlways},
		{title: "LEFT", keep: 6}, {title: "BY", keep: 8}, {title: "REASON", keep: 7, narrowest: 12},
	}
	for _, h := range held {
		for i, text := range []string{h.subject(), h.Fleet, moment(h.Until, now), left(h.Hold, now), h.By, h.Reason} {
			columns[i].cells = append(columns[i].cells, cell{text, plain})
		}
	}
	return p.table(columns)
}

func left(h api.Hold, now time.Time) string {
	if d := h.Until.Sub(now); d > 0 {
		return prose.Span(d)
	}
	return "a moment"
}

// holdLine tells of a hold under its fleet in status.
func holdLine(name string, h api.Hold, now time.Time) string {
	what := "the fleet"
	if h.Machine != "" || h.Host != "" {
		what = fleetHold{name, h}.subject()
	}
	return fmt.Sprintf("%s is held by %s until %s: %s", what, h.By, moment(h.Until, now), h.Reason)
}
