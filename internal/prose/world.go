package prose

import (
	"fmt"
	"strings"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/prose/words"
)

// contest tells that two hosts show an instance, or that one does again.
func contest(r record.Record) string {
	if r.Reason == fleet.ReasonReleased {
		return fmt.Sprintf("%s: one host shows %s again", about(r), instance(r))
	}
	return fmt.Sprintf("%s: %s, and host %s shows it, too; hale does nothing to it until one of them does not",
		about(r), instance(r), r.Detail)
}

// onHost says on which host; nothing where hosts have no names.
func onHost(h fleet.HostName) string {
	if h == "" {
		return " at the provider"
	}
	return " on host " + string(h)
}

// storeNews tells what the world showed of the store.
func storeNews(r record.Record) string {
	switch r.Reason {
	case fleet.ReasonStoreTakes, fleet.ReasonStoreRoom:
		return words.Reason(r.Reason) + after(r)
	case fleet.ReasonStoreOlder:
		if r.Machine == "" {
			return fmt.Sprintf("%s: the store is older than the world, or a copy of it is in use: start %s of hale "+
				"is noted%s, and the store does not know it; hale does nothing in the fleet", about(r), r.Detail,
				onHost(r.Host))
		}
		return fmt.Sprintf("%s: the store is older than the world: %s bears a mark that the store, which is at "+
			"generation %d, never gave out; hale does nothing in the fleet", about(r), instance(r), r.Limit)
	case fleet.ReasonTakenOver:
		return Aside(fmt.Sprintf(
			"%s: this hale takes over installation %s: what bears that mark is its own from now on", about(r),
			r.Detail), r.By)
	case fleet.ReasonRestored:
		return fmt.Sprintf("%s: the state was restored from a backup, made %s before; what happened since then is "+
			"not in it", about(r), Span(r.Took))
	case fleet.ReasonInstallation:
		return fmt.Sprintf("%s: %s bears the mark of another installation of hale, %s; no first instance is built in "+
			"the fleet", about(r), instance(r), r.Detail)
	default:
	}
	if r.Machine == "" {
		return Aside(about(r)+": hale believes what the provider shows, and goes on from there", r.By)
	}
	return fmt.Sprintf("%s: %s is its instance, as the provider shows it", about(r), instance(r))
}

// Older says what proves that the store is older than the world.
func Older(o *belief.Older) string {
	if o.Start != "" {
		return fmt.Sprintf("start %s of hale is noted%s, and the store does not know it", o.Start, onHost(o.Host))
	}
	return fmt.Sprintf("instance %s of %s on %s bears generation %d, and the store gave out %d", Instance(o.Instance),
		o.Machine, place(o.Host), o.Generation,
		o.Allotted)
}

// Foreign says which instance shows that another installation of hale was here.
func Foreign(f belief.Foreign) string {
	return fmt.Sprintf("instance %s of %s on %s bears the mark of installation %s", Instance(f.Instance), f.Machine,
		place(f.Host), f.Installation)
}

// place names a host; a provider with a single one may have no name for it.
func place(h fleet.HostName) string {
	if h == "" {
		return "the only host"
	}
	return string(h)
}

// Beyond says what believing the world would make of the machine.
func Beyond(m *belief.Machine, s situation.Shown) string {
	said := string(m.Name) + ": "
	var parts []string
	if i := s.Serves; i != nil && i.ID == m.Current.ID {
		parts = append(parts, fmt.Sprintf("instance %s (generation %d) counts as finished", Instance(i.ID),
			i.Mark.Generation))
	} else if i != nil {
		part := fmt.Sprintf("instance %s (generation %d) on %s is taken for it", Instance(i.ID), i.Mark.Generation,
			place(i.Host))
		if !m.Current.None() {
			part += fmt.Sprintf(", and no longer %s (generation %d)", Instance(m.Current.ID), m.Current.Generation)
		}
		parts = append(parts, part)
	}
	if s.Generation > m.Generation {
		parts = append(parts, fmt.Sprintf("its generation is raised from %d to %d", m.Generation, s.Generation))
	}
	for _, i := range s.Aside {
		parts = append(parts, fmt.Sprintf("instance %s (generation %d), which was put aside, is kept", Instance(i.ID),
			i.Mark.Generation))
	}
	return said + strings.Join(parts, "; ")
}
