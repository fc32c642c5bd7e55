package fleets

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// hostsWord is what is done with a host that does not answer.
type hostsWord string

const (
	hostsHold hostsWord = "hold"
	hostsOff  hostsWord = "off"
)

// wordWord is what a person's word about a host is worth.
type wordWord string

const (
	wordTake   wordWord = "take"
	wordRefuse wordWord = "refuse"
)

func fenceHosts() keys.Field[fenceDraft] {
	return keys.Or("hosts", hostsHold, "What to do when a host does not answer, and none of the machines that hale "+
		"knows on it does. `hold`: leave its machines alone, and tell a person. `off`: cut the host's power, by the "+
		"methods in providers.PROVIDER.hosts[].fence, and recreate the machines elsewhere. That turns "+
		"everything off on it.",
		keys.Choice(nil, hostsHold, hostsOff), func(f *fenceDraft) *keys.At[hostsWord] { return &f.hosts })
}

func fenceWord() keys.Field[fenceDraft] {
	return keys.Or("word", wordRefuse, "What a person's word is worth that a host is off (`hale fence confirm`). "+
		"`refuse`: nothing. `take`: as much as confirmed-off.",
		keys.Choice(nil, wordRefuse, wordTake), func(f *fenceDraft) *keys.At[wordWord] { return &f.word })
}

// covers reports whether the cut keeps a machine from writing: to the storage, where it keeps disks, else to others
// over the network.
func covers(cut kinds.Access, keepsDisks bool) bool {
	return cut == kinds.AccessBoth || keepsDisks && cut == kinds.AccessStorage ||
		!keepsDisks && cut == kinds.AccessNetwork
}

// cutsEnough reports fence methods that leave a host's machines a way to write, in a fleet that takes access-cut for a
// proof.
func (c *compiler) cutsEnough(spec *policy.Spec) {
	if spec.Repair.Fence.Proof != fleet.ProofAccessCut {
		return
	}
	spot, keeps := c.draft.repair.Value.fence.Value.proof.Spot, c.keepsDisks()
	for _, m := range c.Cuts {
		if m.From != "" && !covers(m.From, keeps) {
			c.Add(spot, fmt.Sprintf("the fleet's machines on host %s could write on: %s cuts it from %s only", m.Host,
				m.Method, m.From),
				"have it cut both, or demand confirmed-off")
			return
		}
	}
	if len(c.Cuts) == 0 {
		c.Add(spot, "no host of provider "+string(spec.Provider)+" has a method that cuts its access",
			"add one with cut: {…}, or demand confirmed-off")
	}
}

// fence returns the demand on proof. A person's word is never taken where two writers would spoil something that is
// kept.
func (c *compiler) fence(d fenceDraft) fleet.Fence {
	f := fleet.Fence{Proof: d.proof.Value, Hosts: d.hosts.Value == hostsOff, Word: d.word.Value == wordTake}
	c.strands(d.hosts)
	gone := d.proof.Known() && d.proof.Value == fleet.ProofDeleted
	if f.Hosts && gone {
		c.Add(d.hosts.Spot, "what is on a host that is off cannot be confirmed-deleted",
			"choose hold, or demand confirmed-off")
	}
	if f.Proof == fleet.ProofAccessCut && !f.Hosts {
		c.Add(d.proof.Spot, "nobody cuts a host's access as long as hosts is hold",
			"add hosts: off, or demand confirmed-off")
	}
	switch {
	case f.Word && gone:
		c.Add(d.word.Spot, "a person's word is less than confirmed-deleted", "choose refuse, or demand confirmed-off")
	case f.Word && c.keepsDisks():
		c.Add(d.word.Spot, "the machines have disks that are kept, and a wrong word would have two of them write "+
			"to one",
			"choose refuse")
	}
	return f
}
