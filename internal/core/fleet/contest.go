package fleet

import (
	"cmp"
	"slices"
)

// Join makes one instance of all mentions of an id by hosts that each speak for themselves, as a live migration leaves
// them which does not remove the definition where it began: the mention that runs, where one does, with Also naming
// another. Where none runs, it is one that did not move on: that one says how the instance ended. There is one mention
// at least.
func Join(mentions []Instance) Instance {
	sorted := slices.SortedFunc(slices.Values(mentions), func(a, b Instance) int {
		return cmp.Or(cmp.Compare(liveliness(a.Power), liveliness(b.Power)), cmp.Compare(a.moved(), b.moved()),
			cmp.Compare(a.Host, b.Host))
	})
	i := sorted[0]
	if i.Also = ""; len(sorted) > 1 {
		i.Also = sorted[1].Host
	}
	return i
}

// liveliness ranks power states: the smaller, the more surely something runs.
func liveliness(p Power) int {
	return slices.Index([]Power{PowerRunning, PowerPaused, PowerUnknown, PowerError, PowerCrashed, PowerOff}, p)
}

// moved is 1 where the instance is said to have gone on at another host.
func (i *Instance) moved() int {
	if i.Stop == StopMoved {
		return 1
	}
	return 0
}

// Contested reports whether two hosts show the instance.
func (i *Instance) Contested() bool { return i.Also != "" }

// Contest is the time for which a machine's instance has been shown by two hosts.
type Contest struct {
	// Asked is when the listing was asked for that showed it first, on the owner's clock; it restarts with a new owner.
	Asked Instant
	Paged bool
	// Host is where the instance is, and Also the other one that shows it. Others are another contest: the instance has
	// moved since, and the end of what a person was told of may have gone unseen.
	Host, Also HostName
}

// Silence is a host that does not answer and that alone knows what is on it: an instance that another host shows may be
// there, too.
type Silence struct {
	Host HostName
	// Answered is when the last question was put that it answered, on the owner's clock. Zero: it never answered this
	// owner.
	Answered Instant
	// Off says that it is proven off.
	Off bool
}

// Ran is where an instance was seen running last. The zero value: nowhere.
type Ran struct {
	Instance InstanceID
	Host     HostName
	At       Instant // when that was asked for
	// Ended says that its host shut it down with most of what ran there, and then fell silent.
	Ended bool
}
