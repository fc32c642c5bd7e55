package record

import (
	"net/netip"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Record is the stored reason for a decision, also for a decision not to act. Its prose is made at the surface.
type Record struct {
	// Seq orders the records of one fleet; given when stored.
	Seq     uint64
	At      time.Time
	Fleet   fleet.Name
	Machine fleet.MachineName `json:",omitempty"` // empty: about the fleet or its provider
	Alias   string            `json:",omitempty"` // the machine's name at its provider, where it was adopted
	Kind    Kind
	Reason  fleet.Reason `json:",omitempty"`

	Verdict  belief.Verdict     `json:",omitempty"`
	Was      belief.Verdict     `json:",omitempty"`
	Cause    belief.Cause       `json:",omitempty"`
	Check    fleet.CheckName    `json:",omitempty"`
	Result   fleet.ResultReason `json:",omitempty"`
	Incident string             `json:",omitempty"`
	Parent   string             `json:",omitempty"` // the parent incident that it is about, or that holds the machine
	Domain   fleet.Domain       `json:",omitzero"`  // the parent's
	Repair   string             `json:",omitempty"`
	Step     fleet.StepKind     `json:",omitempty"`
	Op       fleet.Op           `json:",omitempty"`
	// Call is the id of the call (Intent.ID) that an intent, its outcomes and its output are about.
	Call    string            `json:",omitempty"`
	Outcome fleet.OutcomeKind `json:",omitempty"`
	Proof   fleet.Proof       `json:",omitempty"`

	Instance   fleet.InstanceID   `json:",omitempty"`
	Generation fleet.Generation   `json:",omitempty"`
	Host       fleet.HostName     `json:",omitempty"`
	Provider   fleet.ProviderName `json:",omitempty"`
	Address    netip.Addr         `json:",omitzero"`
	Detail     string             `json:",omitempty"` // an error's text or a check's answer; never a secret

	// Failing, Size and Limit are the brake's and the budget's arithmetic; of a parent incident, how many of the
	// domain's machines fail.
	Failing int `json:",omitempty"`
	Size    int `json:",omitempty"`
	Limit   int `json:",omitempty"`
	// Chance is how likely a parent's failures are without a common cause.
	Chance float64 `json:",omitempty"`
	// Began is, of an incident that opens or closes, when the first probe failed that led to it (Incident.Began).
	Began time.Time `json:",omitzero"`
	// Took is the duration behind the record: a look's, a call's, an incident's, a hold's, that of gathering evidence.
	Took time.Duration `json:",omitempty"`

	// Scope is the sort of budget that is used up, where it is one that fleets share; Detail names the scope.
	Scope policy.ScopeKind `json:",omitempty"`

	// Opinion and Metric are behind a size, Value is what the metric was, and Goal what the opinion keeps it at.
	Opinion fleet.OpinionName `json:",omitempty"`
	Metric  fleet.MetricName  `json:",omitempty"`
	Value   float64           `json:",omitempty"`
	Goal    float64           `json:",omitempty"`
	// Only is what alone a hold forbids that is ordered, or has ended; empty: everything disruptive.
	Only fleet.HoldScope `json:",omitempty"`
	// Change is the change of the size that an order wants.
	Change fleet.SizeChange `json:",omitzero"`
	// Until is when what holds it back is over, or when a promised time is.
	Until time.Time `json:",omitzero"`

	// Order is the person's order from which it follows; Command is what that order wants, and By is who gave it.
	Order   fleet.OrderID   `json:",omitempty"`
	Command fleet.OrderKind `json:",omitempty"`
	By      string          `json:",omitempty"`
	// Paged says that the record ends what a person was told of.
	Paged bool `json:",omitempty"`
	// Evidence is what was kept before a step that could destroy it.
	Evidence *fleet.Evidence `json:",omitempty"`
	// Summary is what was healed, for Target alone.
	Summary *belief.Summary `json:",omitempty"`
	// Snapshot is the copy of disks that it is about, and Bytes what that takes.
	Snapshot fleet.SnapshotID `json:",omitempty"`
	Bytes    uint64           `json:",omitempty"`
	// Hook is the one that it is about, and Word what was said of it; of a pool that a machine left, its balancer.
	Hook fleet.HookID   `json:",omitempty"`
	Word fleet.HookWord `json:",omitempty"`
	// Target, Event and Tries are a message's: its target, what it was about, and how often it was tried. Of a
	// quarantine, Tries are the repairs that came before it, within the policy's window.
	Target policy.TargetName  `json:",omitempty"`
	Event  policy.NotifyEvent `json:",omitempty"`
	Tries  int                `json:",omitempty"`
	// Joint names the page that is about several machines of the fleet, or about several Domains. The record about one
	// of them is no message: a person is told by the one about the fleet, which says Of which machines, the first of
	// Failing, and their Host, if they share one.
	Joint   string          `json:",omitempty"`
	Of      []belief.Member `json:",omitempty"`
	Domains []fleet.Domain  `json:",omitempty"`
	// Again is how often the machine was held before this, without a record, for reasons that are written down: of a
	// record that it is held, for that one. Of a warning, how often it came back meanwhile.
	Again int `json:",omitempty"`
	// Thinned is how many older records of the machine the journal let go for this one.
	Thinned uint64 `json:",omitempty"`
	// Braker is who put the brake on for which an order is refused or a machine left as it is. Empty: no person did.
	Braker string `json:",omitempty"`
	// Occupied is what the machine is occupied with, for which an order to it is refused.
	Occupied *belief.Occupied `json:",omitempty"`
}

// Joined reports whether a person is told of it by another record, together with other machines.
func (r *Record) Joined() bool { return r.Joint != "" && (r.Machine != "" || r.Parent != "") }

// Swings reports whether a record of the kind says no more than how a machine's health went: a machine that flaps
// makes thousands of them. Of a repair, an order or a page it says nothing.
func (k Kind) Swings() bool {
	switch k {
	case Verdict, Address, IncidentOpen, IncidentClosed, ChildJoined, ChildReleased,
		Held, Look:
		return true
	default:
		return false
	}
}

// Heals reports whether it says that a repair of hale's healed a machine.
func (r *Record) Heals() bool { return r.Kind == IncidentClosed && r.Reason == fleet.ReasonHealed }

// Notifies returns what message the record is, if it is one.
func (r *Record) Notifies() (policy.NotifyEvent, bool) {
	switch {
	case r.Heals() && (!r.Paged || r.Joined()):
		return policy.NotifyRepair, true
	case r.Joined():
		return "", false
	case r.Kind == Paged:
		return policy.NotifyPage, true
	case r.Kind == Reminded:
		return policy.NotifyReminder, true
	case r.Kind == Summary:
		return policy.NotifyDaily, true
	case r.Kind == Warning:
		return policy.NotifyWarning, true
	case r.Kind == WarningOver:
		return policy.NotifyWarningOver, true
	case r.Paged && r.Reason != fleet.ReasonSuperseded: // a wider incident goes on, and says so itself
		return policy.NotifyHealed, true
	}
	return "", false
}

// Kind says what happened.
type Kind string

// What can happen.
const (
	Verdict        Kind = "verdict"         // a machine's verdict or its cause changed
	Address        Kind = "address"         // the provider names another address, or none
	IncidentOpen   Kind = "incident-opened" //
	IncidentClosed Kind = "incident-closed" // Reason: healed or recovered
	ParentOpen     Kind = "parent-opened"   // failures concentrate in Domain beyond chance
	ParentClosed   Kind = "parent-closed"   // Reason: released or superseded
	ChildJoined    Kind = "child-joined"    // the machine's incident hangs under Parent from now on
	// Instance is on two hosts, Host and the one in Detail; Reason released: it is on one again
	Contest Kind = "contest"
	// Reason: store-older, another-installation, taken-over, restored or believed
	Store          Kind = "store"
	ChildReleased  Kind = "child-released"  // it does not any more, and the machine is judged afresh
	Held           Kind = "held"            // something could be done and is not; Reason says why
	RepairStarted  Kind = "repair-started"  //
	RepairEnded    Kind = "repair-ended"    //
	StepChosen     Kind = "step-chosen"     //
	StepSkipped    Kind = "step-skipped"    // its precondition does not hold; Reason says which
	StepFailed     Kind = "step-failed"     //
	Look           Kind = "look"            // Reason: confirmed, refuted or unclear
	Evidence       Kind = "evidence"        // Reason: kept or not-kept; Evidence says what of it
	Snapshot       Kind = "snapshot"        // Reason: taken or removed; Detail says where it is
	Intent         Kind = "intent"          // stored before the call is sent
	Outcome        Kind = "outcome"         //
	Output         Kind = "output"          // a piece of what a command said, in Detail
	HookBegun      Kind = "hook-begun"      // a word of Hook is waited for, until Until
	HookOver       Kind = "hook-over"       // it is done; with a Reason: it is not
	PoolLeft       Kind = "pool-left"       // the machine left the pool; Reason says as far as what
	Proof          Kind = "proof"           // the old instance is known to be off, or gone
	Verified       Kind = "verified"        // healthy after a step
	Certified      Kind = "certified"       //
	Quarantined    Kind = "quarantined"     //
	QuarantineOver Kind = "quarantine-over" // Reason: worsened
	Paged          Kind = "paged"           // a person must look; once per incident
	Reminded       Kind = "reminded"        // a person was told of the incident, and it is still open
	JointOver      Kind = "joint-over"      // of all machines that Joint told of, what it told is over
	Notified       Kind = "notified"        // Target took the message
	Undelivered    Kind = "undelivered"     // it did not, and nothing more is tried: a dead letter
	Remnant        Kind = "remnant"         // an instance of an expired build, or a stranger with our mark
	// Host, of which people were told that it reboots again and again, has not done so for the time in Took
	HostStands Kind = "host-stands"
	// what hale healed since Target was told last, in Summary
	Summary Kind = "summary"
	// a check that only tells is down, and people are told so
	Warning Kind = "warning"
	// it succeeds again, or, with the Reason removed, is not asked any more
	WarningOver Kind = "warning-over"
	// a person was told that Check does not succeed; Reason: recovered or removed
	Check    Kind = "check"
	Brake    Kind = "brake"    // Reason: engaged or released
	Provider Kind = "provider" // Reason: up, down or doubtful
	Vantage  Kind = "vantage"  // Reason: vantage-isolated, vantage-doubtful or up
	Owner    Kind = "owner"    // Reason: took over, stopped acting, resumed
	Order    Kind = "order"    // a person's order was taken up; with a Reason: it was refused
	// what an order to recover found: of the fleet, or of a machine, which is repaired; with a Reason: left as it is
	Found Kind = "found"
	// Reason: candidate, adopted, renamed, contested, claimed-elsewhere, claim-over, short, or why one was let go
	Adoption  Kind = "adoption"
	HoldEnded Kind = "hold-ended" // Reason: expired, released, superseded or in-use
	// the provider's people want the Host to be empty, so it is held, for Took at most
	HoldBegun Kind = "hold-begun"
	// what is known of a host that does not answer; with a Reason: it counts no more
	HostProof Kind = "host-proof"
	// how it ended that a person had a host's power cut; Proof says what is known. No proof for later
	HostCut Kind = "host-cut"
	// how it ended that a person had a host given its access back; with the Proof access-cut: it is cut still
	HostUncut Kind = "host-uncut"
	// the old instance stays on its host, which is off, until that is back
	LeftBehind Kind = "left-behind"
	Change     Kind = "change" // a person changed what is wanted; Reason says what
	// what opinions want of the fleet's size: with the Reason opinion, Size are asked for from now on, Limit before;
	// otherwise Reason says why not
	Size Kind = "size"
	// Metric says nothing, and why, so that the opinions that go by it have none; or, with the Reason up, it does again
	Metric Kind = "metric"
	// a part of hale panicked; Reason says which. Once, however often it does
	Defect     Kind = "defect"
	DefectOver Kind = "defect-over" // it has not for an hour; Size is how often it had
)
