package owner

import (
	"maps"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Where nothing near a silent machine bears witness, its provider may count what the machine's processors do. They are
// read on demand, again and again while the machine is held.

const (
	// metersAtOnce bounds the readings of one owner that are under way.
	metersAtOnce = 8
	// meterAgain is when a reading that failed is tried again, and meterNever when one that the provider cannot do is.
	meterAgain = time.Minute
	meterNever = time.Hour
)

// metered is what is known of one instance's processors.
type metered struct {
	first  provider.Meter // as read first, and ever since
	since  fleet.Instant  // when that was asked for
	asked  fleet.Instant  // when the reading under way was; 0: none is
	next   fleet.Instant  // when to read again
	stands bool
}

// Meters returns the instances that have counters to be read now, and takes these to be under way. Tell the answers to
// TellMeter.
func (o *Owner) Meters(now fleet.Now) []fleet.Instance {
	mute := o.Mute()
	maps.DeleteFunc(o.meters, func(id fleet.InstanceID, _ *metered) bool {
		return !slices.ContainsFunc(mute, func(i fleet.Instance) bool { return i.ID == id })
	})
	asking := 0
	for _, m := range o.meters {
		if m.asked != 0 {
			asking++
		}
	}
	var ask []fleet.Instance
	for _, i := range mute {
		m := o.meters[i.ID]
		if m != nil && (m.asked != 0 || !now.Due(m.next)) || asking == metersAtOnce {
			continue
		}
		if m == nil {
			m = &metered{}
			o.meters[i.ID] = m
		}
		m.asked = now.Mono
		asking++
		ask = append(ask, i)
	}
	o.tellStill()
	return ask
}

// TellMeter takes in a reading of the instance that Meters had asked for at the time.
func (o *Owner) TellMeter(id fleet.InstanceID, asked fleet.Instant, read provider.Meter, err error, now fleet.Now) {
	m := o.meters[id]
	if m == nil || m.asked != asked {
		return // it was forgotten meanwhile
	}
	m.asked, m.next = 0, now.Mono.Add(provider.StillAfter)
	switch {
	case fault.Is(err, fault.Unsupported):
		m.stands, m.since, m.next = false, 0, now.Mono.Add(meterNever)
	case err != nil:
		m.stands, m.since, m.next = false, 0, now.Mono.Add(meterAgain)
	case m.since == 0 || read != m.first:
		m.stands, m.first, m.since = false, read, asked
	default:
		m.stands = asked.Sub(m.since) >= provider.StillAfter
	}
	o.tellStill()
}

// tellStill tells the picture which instances stand still.
func (o *Owner) tellStill() {
	var still []fleet.InstanceID
	for _, id := range slices.Sorted(maps.Keys(o.meters)) {
		if o.meters[id].stands {
			still = append(still, id)
		}
	}
	o.SetStill(still)
}

// Stood returns how the counters of an instance were read that stands still; nil: it does not, as far as is known.
func (o *Owner) Stood(id fleet.InstanceID) *provider.Meter {
	if m := o.meters[id]; m != nil && m.stands {
		return &m.first
	}
	return nil
}
