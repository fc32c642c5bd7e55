package api

import (
	"time"
)

// Status is the whole controller at one moment.
type Status struct {
	Version string    `json:"version"`
	Server  string    `json:"server"` // the host that the controller runs on
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Now     time.Time `json:"now"`
	Fleets  []Fleet   `json:"fleets"`
	// Stopping says that the controller was told to end: nothing is watched or repaired any more, and the fleets are
	// as it saw them last.
	Stopping bool `json:"stopping,omitempty"`
	// Probes is what the large probe engine does: ping, tcp and plain http checks on Linux. Nil where it does not work.
	Probes *Probes `json:"probes,omitempty"`
	// Troubles are what hale itself lacks on its server, and a person can give it. The rest goes on.
	Troubles []Trouble `json:"troubles,omitempty"`
	// Plans are of providers with a changed address or program, and wait for a person's word. Those of fleets are with
	// them.
	Plans []Waiting `json:"plans,omitempty"`
	// Defects are the parts that panicked since hale was started; the rest goes on.
	Defects []Defect `json:"defects,omitempty"`
	// Unowned are instances that bear hale's mark and that no fleet owns: nothing watches or repairs them.
	Unowned []Unowned `json:"unowned,omitempty"`
	// Store is what is wrong with hale's store. Nil: nothing is.
	Store *StoreTrouble `json:"store,omitempty"`
}

// Unowned is an instance that bears hale's mark and that no fleet owns.
type Unowned struct {
	Provider   string    `json:"provider"`
	Name       string    `json:"name"`
	Instance   string    `json:"instance"`
	Host       string    `json:"host,omitempty"`
	Power      string    `json:"power"`
	Fleet      string    `json:"fleet"`   // in its mark
	Machine    string    `json:"machine"` // in its mark
	Generation uint64    `json:"generation"`
	Since      time.Time `json:"since"` // since when hale knows that no fleet owns it
	// Installation is in its mark, where it is another one than this hale's.
	Installation string `json:"installation,omitempty"`
}

// StoreTrouble is what is wrong with hale's store.
type StoreTrouble struct {
	// Takes says whether it takes what is written; Reason and Detail say why not, and Since, since when.
	Takes  bool      `json:"takes"`
	Reason Reason    `json:"reason,omitzero"`
	Detail string    `json:"detail,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Low is why it is nearly full, LowSince since when; empty: it is not.
	Low      string    `json:"low,omitempty"`
	LowSince time.Time `json:"low_since,omitzero"`
}

// Trouble is something that hale lacks on its own server: a right, a secret, a port.
type Trouble struct {
	Part   string    `json:"part"`           // one of the Trouble constants
	Of     string    `json:"of,omitempty"`   // the fleet's or provider's name, where it is about one
	Name   string    `json:"name,omitempty"` // the target's, check's or method's
	Since  time.Time `json:"since"`
	Text   string    `json:"text"`
	Advice string    `json:"advice"`
}

// What a Trouble is about.
const (
	TroublePing       = "ping"       // there is no right to send pings
	TroubleHeartbeats = "heartbeats" // nothing is heard where machines report
	TroubleAPI        = "api"        // it is on the socket only
	TroubleTarget     = "target"     // its secret cannot be read, or its address is refused
	TroubleStream     = "stream"     // its secret cannot be read, or its receiver takes nothing
	TroubleSatellite  = "satellite"  // it is silent, its secret cannot be read, or hale cannot listen
	TroubleCheck      = "check"
	TroubleFence      = "fence"
	TroubleHook       = "hook" // its secret cannot be read
	TroubleProvider   = "provider"
	TroubleDiscovery  = "discovery" // a list of machines cannot be written
	TroubleBalancer   = "balancer"  // its secret cannot be read, or it does not do as it is told
)

// Defect is a part of hale that panicked. Its log has the place.
type Defect struct {
	// Part is provider, commands, fence, target, check, probes, heartbeats, owner or surface.
	Part  string    `json:"part"`
	Of    string    `json:"of,omitempty"`   // the provider's or the fleet's name
	Name  string    `json:"name,omitempty"` // the target's, the check's or the method's
	Count int       `json:"count"`          // since First
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	Said  string    `json:"said"`
}

// Probes is how the large probe engine does since hale was started. What it skips, and what fails on hale's own side,
// is unknown and no failure.
type Probes struct {
	Targets  int    `json:"targets"`
	Started  uint64 `json:"started"`
	Answered uint64 `json:"answered"`
	Skipped  uint64 `json:"skipped"` // they came too late to be started
	Local    uint64 `json:"local"`   // they failed on hale's side
	Stalls   uint64 `json:"stalls"`  // times that a thread of it got no processor in time
	// LateP50 and LateP99 are by how many seconds half, and 99 of 100, of all probes at most started later than due.
	LateP50 float64 `json:"late_p50_seconds"`
	LateP99 float64 `json:"late_p99_seconds"`
	// Stalest is for how many seconds nothing was heard about the target that was heard of last longest ago.
	Stalest float64 `json:"stalest_seconds"`
}

// Fleet is one fleet as its owner sees it.
type Fleet struct {
	Name     string `json:"name"`
	Mode     string `json:"mode"`
	Size     int    `json:"size"`
	Healthy  int    `json:"healthy"`
	Failing  int    `json:"failing"`
	Suspect  int    `json:"suspect"`
	InRepair int    `json:"in_repair"`
	InBuild  int    `json:"in_build"`
	// Spares are the machines beyond Size, which do not serve; Ready of them are healthy. Healthy are those that serve.
	Spares int `json:"spares,omitempty"`
	Ready  int `json:"ready,omitempty"`
	// Candidates are selected and not adopted yet; Shortfall says that another number than the expected one is adopted.
	Candidates int    `json:"candidates,omitempty"`
	Shortfall  string `json:"shortfall,omitempty"`
	Acting     bool   `json:"acting"`
	NotActing  Reason `json:"not_acting,omitzero"` // why not, where Acting is false
	// NotActingSince is since when; zero: that is not known.
	NotActingSince time.Time `json:"not_acting_since,omitzero"`
	// FromMemory says that verdicts are shown which could not be written down: hale sees the machines so now.
	FromMemory bool `json:"from_memory,omitempty"`
	// AsOf is when hale saw the fleet so, where it has not looked at it since: the verdicts are stale. Zero: it looks.
	AsOf    time.Time `json:"as_of,omitzero"`
	Brake   Brake     `json:"brake"`
	Vantage Vantage   `json:"vantage"`
	Parents []Parent  `json:"parents"`
	Holds   []Hold    `json:"holds"`
	// Ordered is the size that people ordered instead of the configuration's; nil: there is no such order.
	Ordered *OrderedSize `json:"ordered,omitempty"`
	// Rollout says how another template goes through the fleet; empty: none does. Drifted machines differ from the one
	// in force.
	Rollout string `json:"rollout,omitempty"`
	Drifted int    `json:"drifted,omitempty"`
	// Bounds are where something moves its size; nil: it is a plain number.
	Bounds *SizeBounds `json:"bounds,omitempty"`
	// Plans wait for a person's word, and Kept are old instances that are kept for a while.
	Plans    []Waiting `json:"plans"`
	Kept     []Kept    `json:"kept"`
	Provider Provider  `json:"provider"`
	Hosts    []Host    `json:"hosts"`
	Machines []Machine `json:"machines,omitempty"` // in Status only; else they are asked for in pages
	Messages Messages  `json:"messages"`
	// Fencing is what is wrong with the ways in which its hosts' power would be cut.
	Fencing []FenceProblem `json:"fencing,omitempty"`
	// Older is the proof that the store is older than the world: nothing is done in the fleet. Nil: there is none.
	Older *Older `json:"older,omitempty"`
	// Foreign are other installations of hale that marked instances of the fleet's machines: no first instance is
	// built.
	Foreign []Foreign `json:"foreign,omitempty"`
	// Unnoted is why nothing is built or destroyed: hale's starts cannot be read, or noted, at the provider's.
	Unnoted Reason `json:"unnoted,omitzero"`
	// Unproven are the checks that succeeded on no machine of the fleet since they were made or edited. Their failures
	// count for nothing.
	Unproven []Unproven `json:"unproven,omitempty"`
	// Warnings are what does no harm yet, and will one day.
	Warnings []string `json:"warnings,omitempty"`
}

// Unproven is a check that did not succeed yet as it is.
type Unproven struct {
	Check  string    `json:"check"`
	Edited bool      `json:"edited,omitempty"` // there was one of the name before
	Since  time.Time `json:"since"`            // when it was made or edited
	// Failing says that a person was told: it is down on a machine that has had the time to start.
	Failing bool   `json:"failing,omitempty"`
	Text    string `json:"text"`
}

// OrderedSize is how many machines people ordered, beside the configuration.
type OrderedSize struct {
	Size   int       `json:"size"`
	File   int       `json:"file"` // what the configuration says
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"` // in that person's words
	At     time.Time `json:"at"`
	Order  string    `json:"order"`
	Text   string    `json:"text"`
}

// Kept is an old instance that was put aside, powered off.
type Kept struct {
	Machine    string    `json:"machine"`
	Instance   string    `json:"instance"`
	Generation uint64    `json:"generation"`
	Host       string    `json:"host,omitempty"`
	Since      time.Time `json:"since"`
	Until      time.Time `json:"until"` // then it is removed
	// Orphan says that its machine has gone: nothing can bring it back.
	Orphan bool `json:"orphan,omitempty"`
}

// Messages is how the fleet's messages to people stand.
type Messages struct {
	Waiting int       `json:"waiting"` // not taken yet
	Since   time.Time `json:"since,omitzero"`
	Dead    int       `json:"dead"` // given up: hale notify dead
	// Target is one that does not take messages at the moment.
	Target string `json:"target,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Hold is a person's wish that hale leaves a machine, a host's machines or the fleet alone for a while.
type Hold struct {
	Name    string    `json:"name,omitempty"` // that its owner gave it
	Machine string    `json:"machine,omitempty"`
	Host    string    `json:"host,omitempty"` // neither: the whole fleet
	Only    string    `json:"only,omitempty"` // what alone it forbids; empty: everything disruptive
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	Given   time.Time `json:"given"`
	Until   time.Time `json:"until"`
}

// OrderRequest is an order as a client gives it.
type OrderRequest struct {
	Kind string `json:"kind" enum:"hold,release,retry,undo,heal,recover,brake-on,brake-off,confirm,scale,fenced,delete,replace,start,stop,reboot,migrate,revert,mark,unmark,hook,rollout-pause,rollout-resume,rollout-undo,rollout-mend"`
	// Subjects are what it is about: a fleet (web), a machine (web-2), a host (host:h1, host:lab/h1). None: every
	// fleet.
	Subjects []string `json:"subjects,omitempty" maxItems:"100"`
	Reason   string   `json:"reason,omitempty" maxLength:"200"`
	As       string   `json:"as,omitempty" maxLength:"200"`   // the user that the caller speaks for
	For      Duration `json:"for,omitempty"`                  // how long a hold lasts, or a size is pinned
	Only     string   `json:"only,omitempty" enum:"scale-in"` // what alone a hold forbids
	All      bool     `json:"all,omitempty"`                  // release the holds of others, too
	Plan     string   `json:"plan,omitempty" maxLength:"200"` // that is confirmed
	// Word is said of the hook of a machine that waits for one: of Hook, or of whichever does. Hook "approve/" is the
	// step that waits to be approved (done) or denied (fail).
	Word string `json:"word,omitempty" enum:"done,more,fail"`
	Hook string `json:"hook,omitempty" maxLength:"200"`
	Copy string `json:"copy,omitempty" maxLength:"200"`              // of disks, that is put back; empty: the youngest
	Size int    `json:"size,omitempty" minimum:"0" maximum:"100000"` // that the fleet is to have
	// Change, or Percent of the size and AtLeast machines, is another size than the one that is asked for, in place of
	// Size.
	Change  int `json:"change,omitempty" minimum:"-10000" maximum:"10000"`
	Percent int `json:"percent,omitempty" minimum:"-100" maximum:"1000"`
	AtLeast int `json:"at_least,omitempty" minimum:"0" maximum:"10000"`
	// Signal says that a program gives the size, which knows nothing of how the fleet fares: cooldowns and pins hold it
	// back.
	Signal bool `json:"signal,omitempty"`
	// DryRun has the answer only say what would become of it.
	DryRun bool `json:"-"`
	// Believe has a recovery take the world for what is; Plan is then that of World, which must still be the same.
	Believe bool     `json:"believe,omitempty"`
	Wait    Duration `json:"wait,omitempty"`
}

// Orders is what became of a request: it is one order for each fleet that it concerns.
type Orders struct {
	Orders []Ordered `json:"orders"`
}

// Ordered is what became of one order.
type Ordered struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Fleet   string `json:"fleet"`
	Machine string `json:"machine,omitempty"`
	Host    string `json:"host,omitempty"`
	By      string `json:"by"`
	State   string `json:"state"` // one of the Order constants
	// Refused says why, where it was.
	Refused Reason `json:"refused,omitzero"`
	// Until is when it would not be refused any more, where that is known.
	Until time.Time `json:"until,omitzero"`
	// Events are what followed from it at once.
	Events []Event `json:"events"`
}

// What becomes of an order (Ordered.State).
const (
	OrderTaken   = "taken"
	OrderRefused = "refused"
	OrderPending = "pending" // it is stored, and the fleet's owner did not take it up yet
	OrderUntried = "untried" // of what was only to be tried: this server does not own the fleet, and cannot say
)

// Reason is a reason from hale's closed set, with its words.
type Reason struct {
	Code   string `json:"code"`
	Text   string `json:"text"`
	Detail string `json:"detail,omitempty"`
	Advice string `json:"advice,omitempty"` // what a person can do
}

// Brake is a fleet's brake.
type Brake struct {
	Engaged bool      `json:"engaged"`
	Since   time.Time `json:"since,omitzero"`
	Limit   int       `json:"limit"` // it engages when more machines than this fail
	// By is the person who put it on by hand; empty: it was not put on by hand.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"` // in that person's words
	// Excused is how many machines may fail since a person took it off.
	Excused int `json:"excused,omitempty"`
	// Scope is installation or provider, where several fleets share it: then Failing of Size machines fail in all of
	// them. Empty: it is the fleet's own.
	Scope   string `json:"scope,omitempty"`
	Failing int    `json:"failing,omitempty"`
	Size    int    `json:"size,omitempty"`
	// Ends says when it releases by itself.
	Ends string `json:"ends,omitempty"`
}

// Vantage is how hale's own sight of the fleet stands.
type Vantage struct {
	// Standing is ok, isolated or unknown; empty: it is not watched.
	Standing string    `json:"standing,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Detail   string    `json:"detail,omitempty"`
	// Doubt is why hale does not trust what the checks say, where it does not.
	Doubt      Reason    `json:"doubt,omitzero"`
	DoubtSince time.Time `json:"doubt_since,omitzero"`
}

// Parent is the open incident of a domain in which machines fail together.
type Parent struct {
	ID      string    `json:"id"`
	Domain  Domain    `json:"domain"`
	Opened  time.Time `json:"opened"`
	Paged   bool      `json:"paged"`
	Then    string    `json:"then"` // the policy: wait, page or evacuate
	Failing int       `json:"failing"`
	Members int       `json:"members"`
	// Chance is how likely so many failures there are without a common cause.
	Chance float64 `json:"chance"`
	// Children are the machines with incidents that belong to this one.
	Children []string `json:"children"`
	Text     string   `json:"text"`
}

// Domain is a part of the infrastructure: a host, rack, room, zone, network or storage.
type Domain struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Provider is how the fleet's provider stands.
type Provider struct {
	Name     string    `json:"name"`
	Standing string    `json:"standing"`
	Since    time.Time `json:"since,omitzero"`
	Detail   string    `json:"detail,omitempty"` // what is wrong; of one that is up: which hosts do not answer, and why
}

// Host is one hypervisor host.
type Host struct {
	Name    string `json:"name"`
	Up      bool   `json:"up"`
	Rack    string `json:"rack,omitempty"`
	Room    string `json:"room,omitempty"`
	Zone    string `json:"zone,omitempty"`
	Storage string `json:"storage,omitempty"`
}

// Machine is one machine as hale believes it to be.
type Machine struct {
	Name       string      `json:"name"`
	Fleet      string      `json:"fleet"`
	Alias      string      `json:"alias,omitempty"`    // what its provider calls it, if hale did not build it
	Adoption   string      `json:"adoption,omitempty"` // candidate, kept or replaceable, if hale did not build it
	Verdict    string      `json:"verdict"`
	Cause      string      `json:"cause,omitempty"`
	Check      string      `json:"check,omitempty"`
	Result     string      `json:"result,omitempty"`
	Text       string      `json:"text,omitempty"` // why the verdict is what it is
	Since      time.Time   `json:"since,omitzero"`
	Instance   string      `json:"instance,omitempty"`
	Generation uint64      `json:"generation,omitempty"`
	Certified  bool        `json:"certified"`
	Host       string      `json:"host,omitempty"`
	Address    string      `json:"address,omitempty"`
	Checks     []Check     `json:"checks"`
	Incident   *Incident   `json:"incident,omitempty"`
	Repair     *Repair     `json:"repair,omitempty"`
	Quarantine *Quarantine `json:"quarantine,omitempty"`
	Waiting    Reason      `json:"waiting,omitzero"` // why nothing is done although something could be
	Strays     []string    `json:"strays,omitempty"` // instances that bear its mark and should not be there
	// Leaving says that a person ordered it away: that begins when what is under way with it lets it.
	Leaving     bool `json:"leaving,omitempty"`
	NeedsPerson bool `json:"needs_person"` // a person was paged
}

// What an instance that hale did not build is to hale.
const (
	AdoptionCandidate   = "candidate"   // it is watched, and not touched
	AdoptionKept        = "kept"        // it is looked after, and never destroyed
	AdoptionReplaceable = "replaceable" // it may be replaced
)

// Check is how one check stands.
type Check struct {
	Name     string    `json:"name"`
	Standing string    `json:"standing"`
	Result   string    `json:"result,omitempty"`
	Detail   string    `json:"detail,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Tells    bool      `json:"tells,omitempty"` // it only tells
}

// Incident is open from the failure to verified health.
type Incident struct {
	ID     string    `json:"id"`
	Cause  string    `json:"cause"`
	Opened time.Time `json:"opened"`
	Paged  bool      `json:"paged"`
	Parent string    `json:"parent,omitempty"` // the incident of the domain that fails around the machine
}

// Repair is the work under way.
type Repair struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Step    string    `json:"step"`
	Phase   string    `json:"phase"`
	Started time.Time `json:"started"`
	Text    string    `json:"text"`
}

// Quarantine is where a machine goes that hale could not heal.
type Quarantine struct {
	Since  time.Time `json:"since"`
	Reason Reason    `json:"reason"`
}

// Why is the present state of one machine, and how it came to be.
type Why struct {
	Now     time.Time `json:"now"`
	Fleet   string    `json:"fleet"`
	Machine Machine   `json:"machine"`
	Because []string  `json:"because"` // the evidence behind the verdict
	Doing   []string  `json:"doing"`   // what is done, or why nothing is
	Person  []string  `json:"person"`  // what a person can do
	// Incident is the open incident, or the last one; empty when the journal knows of none.
	Incident string `json:"incident,omitempty"`
	// Timeline is that incident's, or the machine's last events when there was none, oldest first.
	Timeline []Event `json:"timeline"`
}

// FleetWhy is how a fleet stands, and what holds it as a whole.
type FleetWhy struct {
	Now   time.Time `json:"now"`
	Fleet Fleet     `json:"fleet"`
	// Holding has a line for each thing that keeps hale from repairing, or that waits for a person.
	Holding []string `json:"holding"`
	Person  []string `json:"person"` // what a person can do
}

// Event is one record of the journal.
type Event struct {
	Seq uint64 `json:"seq"` // orders the events of one fleet
	// Cursor is where a stream goes on behind the event; see EventsQuery.From. It is opaque.
	Cursor     string    `json:"cursor,omitempty"`
	At         time.Time `json:"at"`
	Fleet      string    `json:"fleet"`
	Machine    string    `json:"machine,omitempty"`
	Alias      string    `json:"alias,omitempty"` // what its provider calls the machine, if hale did not build it
	Kind       string    `json:"kind"`
	Reason     string    `json:"reason,omitempty"`
	Text       string    `json:"text"`
	Verdict    string    `json:"verdict,omitempty"`
	Was        string    `json:"was,omitempty"`
	Cause      string    `json:"cause,omitempty"`
	Check      string    `json:"check,omitempty"`
	Result     string    `json:"result,omitempty"`
	Incident   string    `json:"incident,omitempty"`
	Parent     string    `json:"parent,omitempty"`
	Domain     Domain    `json:"domain,omitzero"`
	Repair     string    `json:"repair,omitempty"`
	Step       string    `json:"step,omitempty"`
	Op         string    `json:"op,omitempty"`
	Call       string    `json:"call,omitempty"` // the call that an intent, its outcomes and its output are about
	Outcome    string    `json:"outcome,omitempty"`
	Proof      string    `json:"proof,omitempty"`
	Instance   string    `json:"instance,omitempty"`
	Generation uint64    `json:"generation,omitempty"`
	Host       string    `json:"host,omitempty"`
	Provider   string    `json:"provider,omitempty"`
	Address    string    `json:"address,omitempty"`
	Detail     string    `json:"detail,omitempty"`
	Failing    int       `json:"failing,omitempty"`
	Size       int       `json:"size,omitempty"`
	Limit      int       `json:"limit,omitempty"`
	Chance     float64   `json:"chance,omitempty"`
	Took       Duration  `json:"took,omitempty"`
	Began      time.Time `json:"began,omitzero"`    // of an incident: when the first probe failed that led to it
	Order      string    `json:"order,omitempty"`   // the person's order from which it follows
	Command    string    `json:"command,omitempty"` // what that order wants
	By         string    `json:"by,omitempty"`
	Paged      bool      `json:"paged,omitempty"` // it ends what a person was told of
	Target     string    `json:"target,omitempty"`
	Message    string    `json:"message,omitempty"` // what kind of message the target was sent
	Tries      int       `json:"tries,omitempty"`
	// the page about several machines, or domains: of an event about one of them, that it is no message of its own
	Joint   string   `json:"joint,omitempty"`
	Of      []string `json:"of,omitempty"`      // the first of the machines that it is about
	Domains []Domain `json:"domains,omitempty"` // the domains that it is about
	// how often the machine was held before this, without an event, for reasons that have theirs
	Again int `json:"again,omitempty"`
	// how many older records of the machine the journal let go for this one
	Thinned uint64 `json:"thinned,omitempty"`
	// who put the brake on for which an order is refused
	Braker string `json:"braker,omitempty"`
}

// State is what the controller believes, as its store has it: beliefs about machines, brakes, the pinned identities of
// providers and the installation's id. It has neither journal nor leases.
type State struct {
	Entries []Entry `json:"entries"`
}

// Entry is one key of the store.
type Entry struct {
	Key   string `json:"key"`
	Value []byte `json:"value"` // base64 in JSON
}

// Plan is what hale would do now, and why. It is what "hale plan --json" prints; the controller does not serve it.
type Plan struct {
	At    time.Time `json:"at"`
	State string    `json:"state"` // where the beliefs came from: one of the From constants
	// Settled is false when time ran out before every machine had a verdict.
	Settled bool          `json:"settled"`
	Fleets  []PlannedWork `json:"fleets"`
	Trials  []Trial       `json:"trials,omitempty"` // of a deep plan
}

// Trial is something that a deep plan tried without changing anything.
type Trial struct {
	Subject string `json:"subject"`           // as "fleet web"
	What    string `json:"what"`              // what should be so
	Problem string `json:"problem,omitempty"` // why it is not; empty: it is
	Untried string `json:"untried,omitempty"` // why it could not be tried
}

// Where the beliefs behind a plan come from (Plan.State).
const (
	FromController = "controller"
	FromDataFolder = "data-folder"
	FromNothing    = "none"
)

// The actions of a plan beside the steps of the ladder (PlannedStep.Action).
const (
	ActionNone    = "none"
	ActionBuild   = "build"
	ActionCertify = "certify"        // write the mark that hale finished building it
	ActionRemnant = "remove-remnant" // remove what an unfinished build left
	ActionAdopt   = "adopt"          // take it into care as it is
	ActionGoOn    = "go-on"          // the repair under way goes on
)

// PlannedWork is the plan for one fleet.
type PlannedWork struct {
	Fleet    string        `json:"fleet"`
	Mode     string        `json:"mode"`
	Brake    Brake         `json:"brake"`
	Failing  int           `json:"failing"`
	Size     int           `json:"size"`
	Provider Provider      `json:"provider"`
	Machines []PlannedStep `json:"machines"`
	Ordered  *OrderedSize  `json:"ordered,omitempty"` // the size that people ordered instead of the configuration's
	Plans    []Waiting     `json:"plans"`             // what waits for a person's word
	// Unsupported are the steps of the ladder that are skipped, because the provider cannot do them.
	Unsupported []string `json:"unsupported,omitempty"`
	Warnings    []string `json:"warnings,omitempty"` // what does no harm yet, and will one day
}

// PlannedStep is the plan for one machine.
type PlannedStep struct {
	Machine string    `json:"machine"`
	Alias   string    `json:"alias,omitempty"` // what its provider calls it, if hale did not build it
	Verdict string    `json:"verdict"`
	Text    string    `json:"text,omitempty"` // why the verdict is what it is
	Action  string    `json:"action"`         // a step of the ladder, or one of the Action constants
	Held    Reason    `json:"held,omitzero"`  // why the action would wait
	Repair  string    `json:"repair,omitempty"`
	Kind    string    `json:"kind,omitempty"` // of the repair: a build is none that anything is mended by
	Since   time.Time `json:"since,omitzero"`
}
