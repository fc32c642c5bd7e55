package prose

import (
	"fmt"
	"slices"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// mostDomains is how many domains a page about several names; the others are only counted.
const mostDomains = 10

// pagedJointly says that a person must look at several machines, or domains, of a fleet, for one reason; or at one of
// them, together with the others.
func pagedJointly(r record.Record, must string) string {
	switch {
	case r.Joined():
		return Because(must+subjectOfPage(r)+after(r), whyPaged(r)) + " (told with others, " + r.Joint + ")"
	case len(r.Domains) > 0:
		return Because(must+severalDomains(r)+after(r), whyPaged(r))
	}
	return Because(Aside(must+severalOf(r), named(r))+after(r)+", each for the same reason", whyPaged(r))
}

// again says how often a machine was held without a record of its own, since the reasons came and went.
func again(r record.Record) string {
	switch {
	case r.Again == 0:
		return ""
	case r.Kind == record.Warning:
		return fmt.Sprintf(" (it came back %s within the last hour)", times(r.Again))
	case r.Kind == record.Held:
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

func jointOver(r record.Record) string {
	several := "machines"
	if len(r.Domains) > 0 {
		several = "domains"
	}
	return about(r) + ": " + Aside("what a person was told of several "+several+" together is over"+after(r), r.Joint)
}

// severalDomains names the domains that a record about a fleet is about.
func severalDomains(r record.Record) string {
	kind := r.Domains[0].Kind
	mixed := slices.ContainsFunc(r.Domains, func(d fleet.Domain) bool { return d.Kind != kind })
	names := make([]string, 0, mostDomains)
	for _, d := range r.Domains[:min(len(r.Domains), mostDomains)] {
		name := d.Name
		if mixed {
			name = words.Domain(d)
		}
		names = append(names, name)
	}
	if more := len(r.Domains) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	what := "domain"
	if !mixed {
		what = words.DomainKind(kind)
	}
	return Aside(fmt.Sprintf("%d %ss of fleet %s", len(r.Domains), what, r.Fleet), strings.Join(names, ", "))
}

// severalOf counts the machines that a record about a fleet is about.
func severalOf(r record.Record) string {
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
func named(r record.Record) string {
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
func jointSymptom(r record.Record) string {
	if len(r.Domains) > 0 {
		return Because(severalDomains(r), whyPaged(r))
	}
	if state, _ := stateOf(r); state != "" && hides[r.Reason] {
		are := " are "
		if r.Failing == 1 {
			are = " is "
		}
		return Because(severalOf(r)+are+state, named(r))
	}
	return Because(severalOf(r), whyPaged(r), named(r))
}
