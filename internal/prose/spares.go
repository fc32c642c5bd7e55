package prose

import (
	"fmt"
	"strings"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// Spares says which machines do not serve, and why there are any.
func Spares(names []fleet.MachineName) string {
	said := make([]string, len(names))
	for i, n := range names {
		said[i] = string(n)
	}
	if len(said) == 1 {
		return said[0] + " is a spare: it serves as soon as another machine cannot"
	}
	return strings.Join(said, ", ") + " are spares: each serves as soon as another machine cannot"
}

// Surge says which machine is beyond the size, and whether it is to go.
func Surge(l *belief.Ledger, s belief.Surge) string {
	if l.Removal(s.Machine) != nil {
		return string(s.Machine) + " is beyond the size, and goes as soon as all others serve"
	}
	return string(s.Machine) + " is beyond the size: it serves while others are changed, and goes then"
}

// SparesOf counts spares: "1 spare", "2 spares".
func SparesOf(n int) string {
	if n == 1 {
		return "1 spare"
	}
	return fmt.Sprintf("%d spares", n)
}

// operated says what hale is to do with a machine: what a person ordered, or what the fleet needs of its spares.
func operated(r record.Record) string {
	switch {
	case r.Order.OfSpare() && r.Step == fleet.StepStop:
		return fmt.Sprintf("%s: hale turns the spare off until it is needed (%s)", about(r), r.Repair)
	case r.Order.OfSpare():
		return fmt.Sprintf("%s: hale starts it, as it is needed (%s)", about(r), r.Repair)
	}
	return fmt.Sprintf("%s: hale is to %s, by order of %s (%s)", about(r), words.Step(r.Step), giver(r), r.Repair)
}

// more says that there are to be more machines, or more spares, or that one of these takes a place.
func more(r record.Record) string {
	switch {
	case r.Reason == fleet.ReasonSizeUp:
		return fmt.Sprintf("%s grows from %d to %d machines", about(r), r.Limit, r.Size)
	case r.Reason == fleet.ReasonSparesUp:
		return fmt.Sprintf("%s is to have %s, and had %d", about(r), SparesOf(r.Size), r.Limit)
	case r.Detail != "":
		return fmt.Sprintf("%s, a spare, takes the place of %s, which is the spare from now on", about(r), r.Detail)
	}
	return Because(about(r), words.Reason(r.Reason))
}

// left says that a machine has left, and how many serve from then on.
func left(r record.Record) string {
	if r.Detail != "" {
		return fmt.Sprintf("%s, which was beyond the size, has left: fleet %s has %s", about(r), r.Fleet,
			machines(r.Size))
	}
	if r.Size == r.Limit {
		return fmt.Sprintf("%s, a spare, has left: in fleet %s %s serve as before", about(r), r.Fleet, machines(r.Size))
	}
	return fmt.Sprintf("%s has left: fleet %s has %d machines, and had %d", about(r), r.Fleet, r.Size, r.Limit)
}
