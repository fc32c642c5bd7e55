package change

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
)

// Kind says what differs between two configurations.
type Kind string

// The kinds of difference.
const (
	FleetAdded      Kind = "fleet-added"
	FleetRemoved    Kind = "fleet-removed" // it is released: nothing is destroyed
	CheckAdded      Kind = "check-added"
	CheckRemoved    Kind = "check-removed"
	CheckChanged    Kind = "check-changed"  // it begins anew, from unknown
	PolicyChanged   Kind = "policy-changed" // ladder, limits, conditions, mode, times
	SizeUp          Kind = "size-up"
	SizeDown        Kind = "size-down"
	TemplateChanged Kind = "template-changed"
	ProviderChanged Kind = "provider-changed" // the fleet names another provider

	ProviderAdded       Kind = "provider-added"
	ProviderRemoved     Kind = "provider-removed"
	ProviderReconnected Kind = "provider-reconnected" // its options changed, or it has more hosts
	AddressChanged      Kind = "address-changed"      // of a host that there was: another one may answer there
	VantageChanged      Kind = "vantage-changed"
	TargetsChanged      Kind = "targets-changed"    // who is told
	FencesChanged       Kind = "fences-changed"     // how the power of hosts is cut
	AccessChanged       Kind = "access-changed"     // where the API listens, and who may use it
	MetricsChanged      Kind = "metrics-changed"    // what monitoring is told
	BalancersChanged    Kind = "balancers-changed"  // whose machines are in which pools, and how these are reached
	DiscoveryChanged    Kind = "discovery-changed"  // the files that say which machines there are
	HeartbeatsChanged   Kind = "heartbeats-changed" // where machines report by themselves
	SatellitesChanged   Kind = "satellites-changed" // which probes in other networks report
	StateChanged        Kind = "state-changed"      // where the state is kept
	TelemetryChanged    Kind = "telemetry-changed"  // where traces and the journal go
)

// Destructive reports whether it would destroy something, or make hale believe that something is gone: such an edit
// waits for a person's word.
func (k Kind) Destructive() bool {
	switch k {
	case SizeDown, TemplateChanged, ProviderChanged, AddressChanged:
		return true
	case FleetAdded, FleetRemoved, CheckAdded, CheckRemoved, CheckChanged, PolicyChanged, SizeUp,
		ProviderAdded, ProviderRemoved, ProviderReconnected, VantageChanged, TargetsChanged, FencesChanged,
		AccessChanged, MetricsChanged, BalancersChanged, DiscoveryChanged, HeartbeatsChanged, SatellitesChanged,
		StateChanged, TelemetryChanged:
	}
	return false
}

// Difference is one thing that differs.
type Difference struct {
	Kind Kind
	// Subject is the fleet's or provider's name; empty for the vantage.
	Subject string
	Check   fleet.CheckName // the Check kinds
	// Was and Is are the two values, where they can be said in a word; of CheckChanged and PolicyChanged, Is names all
	// that differs: "mode: act → observe".
	Was, Is string
}

// Fleets compares the fleets of two configurations, each sorted by name. The result is in order of their names.
func Fleets(was, is []policy.Spec) []Difference {
	var out []Difference
	for len(was) > 0 || len(is) > 0 {
		switch order := first(was, is); {
		case order < 0:
			out = append(out, Difference{Kind: FleetRemoved, Subject: string(was[0].Name)})
			was = was[1:]
		case order > 0:
			out = append(out, Difference{Kind: FleetAdded, Subject: string(is[0].Name)})
			is = is[1:]
		default:
			out = append(out, Specs(&was[0], &is[0])...)
			was, is = was[1:], is[1:]
		}
	}
	return out
}

// first compares the names at the heads of two lists; an empty list comes last.
func first(a, b []policy.Spec) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return cmp.Compare(a[0].Name, b[0].Name)
}

// Specs compares two specs of one fleet.
func Specs(was, is *policy.Spec) []Difference {
	out := checks(was, is)
	say := func(kind Kind, from, to string) {
		out = append(out, Difference{Kind: kind, Subject: string(is.Name), Was: from, Is: to})
	}
	if !samePolicy(was, is) {
		say(PolicyChanged, "", told(parts(policyOf(*was)), parts(policyOf(*is))))
	}
	switch from, to := was.Said(), is.Said(); { // whoever begins, or ceases, to say a size changes the policy
	case from == 0 || to == 0 || from == to:
	case to < from:
		say(SizeDown, strconv.Itoa(from), strconv.Itoa(to))
	default:
		say(SizeUp, strconv.Itoa(from), strconv.Itoa(to))
	}
	if !was.Template.Builds(is.Template) {
		say(TemplateChanged, "", "")
	}
	if was.Provider != is.Provider {
		say(ProviderChanged, string(was.Provider), string(is.Provider))
	}
	return out
}

func checks(was, is *policy.Spec) []Difference {
	var out []Difference
	before, after := was.Asked(), is.Asked()
	for _, c := range before {
		switch i := find(after, c.Name); {
		case i < 0:
			out = append(out, Difference{Kind: CheckRemoved, Subject: string(is.Name), Check: c.Name})
		case !SameCheck(*c, *after[i]):
			out = append(out, Difference{Kind: CheckChanged, Subject: string(is.Name), Check: c.Name,
				Is: told(partsOfCheck(*c), partsOfCheck(*after[i]))})
		}
	}
	for _, c := range after {
		if find(before, c.Name) < 0 {
			out = append(out, Difference{Kind: CheckAdded, Subject: string(is.Name), Check: c.Name})
		}
	}
	return out
}

func find(checks []*policy.Check, name fleet.CheckName) int {
	return slices.IndexFunc(checks, func(c *policy.Check) bool { return c.Name == name })
}

// SameCheck reports whether a check goes on undisturbed.
func SameCheck(a, b policy.Check) bool { return reflect.DeepEqual(a, b) }

// samePolicy compares whatever is not told of by another kind.
func samePolicy(a, b *policy.Spec) bool {
	return reflect.DeepEqual(policyOf(*a), policyOf(*b))
}

func policyOf(s policy.Spec) policy.Spec {
	s.Provider, s.Size, s.Left, s.Template, s.Checks = "", 0, nil, policy.Template{Disks: s.Template.Disks}, nil
	s.Tells = nil
	if s.Sizing != nil { // another size is told of by another kind; whether there is one is policy
		sizing := *s.Sizing
		sizing.Desired, s.Sizing = min(sizing.Desired, 1), &sizing
	}
	return s
}

// Same reports whether nothing differs.
func Same(a, b *policy.Spec) bool { return reflect.DeepEqual(a, b) }

// Record returns the record of a fleet's difference that was taken in. The caller adds fleet and time.
func Record(d Difference) record.Record {
	detail := string(d.Kind)
	if d.Was != "" || d.Is != "" {
		detail += " " + d.Was + " " + d.Is
	}
	return record.Record{Kind: record.Change, Reason: fleet.ReasonReloaded, Check: d.Check, Detail: detail}
}

// Recorded returns the difference that such a record tells of.
func Recorded(r record.Record) Difference {
	d := Difference{Subject: string(r.Fleet), Check: r.Check}
	kind, values, _ := strings.Cut(r.Detail, " ")
	d.Kind = Kind(kind)
	d.Was, d.Is, _ = strings.Cut(values, " ")
	return d
}
