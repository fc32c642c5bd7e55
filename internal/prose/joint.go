package prose

import (
	"fmt"
	"strings"

	"hale/internal/core/fleet"
)

// pagedJointly says that a person must look at several machines of a fleet, for one reason; or at one of them, together
// with the others.
func pagedJointly(r fleet.Record, must string) string {
	if r.Joined() {
		return because(must+about(r)+after(r), whyPaged(r)) + " (told with others, " + r.Joint + ")"
	}
	return because(aside(must+severalOf(r), named(r))+after(r)+", each for the same reason", whyPaged(r))
}

// again says how often a machine was held without a record of its own, since the reasons came and went.
func again(r fleet.Record) string {
	switch {
	case r.Again == 0:
		return ""
	case r.Kind == fleet.RecordWarning:
		return fmt.Sprintf(" (it came back %s within the last hour)", times(r.Again))
	case r.Kind == fleet.RecordHeld:
		return fmt.Sprintf(" (%s more since it was written down last)", times(r.Again))
	}
	return fmt.Sprintf(" (before this it was held %s more, for reasons that came and went)", times(r.Again))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func jointOver(r fleet.Record) string {
	return about(r) + ": " + aside("what a person was told of several machines together is over"+after(r), r.Joint)
}

// severalOf counts the machines that a record about a fleet is about.
func severalOf(r fleet.Record) string {
	said := fmt.Sprintf("%d machines of fleet %s", r.Failing, r.Fleet)
	if r.Failing == 1 {
		said = "1 machine of fleet " + string(r.Fleet)
	}
	if r.Host != "" {
		said += " on host " + string(r.Host)
	}
	return said
}

// named are the names of the machines that a record about a fleet is about, as far as it has them.
func named(r fleet.Record) string {
	names := make([]string, 0, len(r.Of))
	for _, m := range r.Of {
		names = append(names, Called(m.Machine, m.Alias))
	}
	said := strings.Join(names, ", ")
	if more := r.Failing - len(names); more > 0 {
		said += fmt.Sprintf(" and %d more", more)
	}
	return said
}

// jointSymptom says what is wrong with several machines.
func jointSymptom(r fleet.Record) string {
	if state, _ := stateOf(r); state != "" && hides[r.Reason] {
		are := " are "
		if r.Failing == 1 {
			are = " is "
		}
		return because(severalOf(r)+are+state, named(r))
	}
	return because(severalOf(r), whyPaged(r), named(r))
}
