package fleet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// OrderID names an order. Ids sort by the time at which the orders were given.
type OrderID string

// ofSpare begins the ids of hale's own orders to a spare.
const ofSpare = "spare-"

// SpareOrder is hale's own order to turn a spare off, or on, at that time.
func SpareOrder(m MachineName, at time.Time) OrderID {
	return OrderID(ofSpare + string(m) + "-" + strconv.FormatInt(at.UnixMilli(), 10))
}

// OfSpare reports whether it is hale's own order to turn a spare off, or on.
func (o OrderID) OfSpare() bool { return strings.HasPrefix(string(o), ofSpare) }

// Order is what a person wants of one fleet. It waits in the fleet's inbox until its owner takes it up, or refuses it.
type Order struct {
	ID   OrderID
	Kind OrderKind
	// Fleet, and within it at most one of Machine and Host, is the subject.
	Fleet   Name
	Machine MachineName `json:",omitempty"`
	Host    HostName    `json:",omitempty"`
	By      string      // who gave it
	Reason  string      `json:",omitempty"` // in that person's words
	At      time.Time
	// Expires is when it may not be taken up any more: set for orders that permit what could be harm by then. Zero:
	// never.
	Expires time.Time `json:",omitzero"`
	// For is how long a hold lasts, or a size is pinned, from when it is taken up: no clock but the owner's can shorten
	// it (L15).
	For time.Duration `json:",omitempty"`
	// Name is that of a hold, where its owner gave it one: of that to place, or to release.
	Name HoldName `json:",omitempty"`
	// Only is what alone a hold forbids; empty: everything disruptive.
	Only HoldScope `json:",omitempty"`
	// All extends a release to the holds of others.
	All bool `json:",omitempty"`
	// Plan is the id of the plan that is confirmed.
	Plan string `json:",omitempty"`
	// Size is how many machines the fleet is to have; 0: what Change says.
	Size int `json:",omitempty"`
	// Change is another size than the one that is asked for.
	Change SizeChange `json:",omitzero"`
	// Signal says that a program gives it, which knows nothing of how the fleet fares: cooldowns and pins hold it back.
	Signal bool `json:",omitempty"`
	// Believe has a recovery take the world for what is, where the store is older than it.
	Believe bool `json:",omitempty"`
	// DryRun has a recovery only say what it finds, and what would follow.
	DryRun bool `json:",omitempty"`
	// Proof is what the person, or the power controller that was asked for them, knows of the host.
	Proof Proof `json:",omitempty"`
	// Word is said of the hook of the machine that waits for one: of that with the id, or of whichever does.
	Word HookWord `json:",omitempty"`
	Hook HookID   `json:",omitempty"`
	// Copy is the copy of disks that is put back (OrderRevert). Empty: the youngest.
	Copy SnapshotID `json:",omitempty"`
	// After is the order that ends with this one (OrderCut, OrderUncut; empty: it begins), or is to (OrderCancel).
	After OrderID `json:",omitempty"`
}

// OrderKind says what is wanted.
type OrderKind string

// The orders.
const (
	OrderHold    OrderKind = "hold"    // leave the subject alone for a while
	OrderRelease OrderKind = "release" // end holds of the subject
	OrderRetry   OrderKind = "retry"   // out of quarantine, with its attempts begun anew
	OrderUndo    OrderKind = "undo"    // bring the instance back that was replaced last, and put the present one aside
	OrderHeal    OrderKind = "heal"    // repair it now, although the policy would wait or leave it alone

	// What a person has hale do with one machine, be it well or not: put a new instance in its place, turn it on, turn
	// it off and leave it so, restart it, or move it to another host while it runs.
	OrderReplace OrderKind = "replace"
	OrderStart   OrderKind = "start"
	OrderStop    OrderKind = "stop"
	OrderReboot  OrderKind = "reboot"
	OrderMigrate OrderKind = "migrate"
	OrderRevert  OrderKind = "revert" // put a copy of its disks back

	// OrderRecover brings the whole fleet to what is asked for: what fails is repaired now, what is missing built, and
	// with a Plan, what is too many removed.
	OrderRecover OrderKind = "recover"

	// OrderMark is a word from outside that a machine fails, whatever its checks say, for a while; OrderUnmark takes it
	// back.
	OrderMark   OrderKind = "mark"
	OrderUnmark OrderKind = "unmark"
	// OrderCancel takes back another order, as far as it has not begun, or can end in order.
	OrderCancel OrderKind = "cancel"

	OrderBrakeOn  OrderKind = "brake-on"  // begin no repair until it is taken off
	OrderBrakeOff OrderKind = "brake-off" // also when it engaged by itself
	OrderConfirm  OrderKind = "confirm"   // carry the plan out that waits for a person's word

	// have so many machines, whatever the configuration says; fewer ones only once confirmed
	OrderScale  OrderKind = "scale"
	OrderFenced OrderKind = "fenced" // take it that this host is off, for a while
	// note that a person had this host's power cut, or how that ended; nothing is done about it
	OrderCut OrderKind = "power-off"
	// note that a person had this host given its access back, or how that ended; nothing is done about it
	OrderUncut  OrderKind = "uncut"
	OrderHook   OrderKind = "hook"   // the word that a hook of the machine waits for
	OrderDelete OrderKind = "delete" // remove this very machine, and have one less; of an adopted one: let it go

	OrderRolloutPause  OrderKind = "rollout-pause"  // the update on its way begins no further machine
	OrderRolloutResume OrderKind = "rollout-resume" // and goes on
	OrderRolloutUndo   OrderKind = "rollout-undo"   // what it changed goes back to the template in force
	OrderRolloutMend   OrderKind = "rollout-mend"   // build those machines anew that differ from the template in force
)

// ToMachine reports whether the order is to one machine's belief, and not to the fleet as a whole. (A hold of a machine
// belongs to the whole: it is kept beside those of hosts and of the fleet.)
func (k OrderKind) ToMachine() bool {
	return k == OrderRetry || k == OrderHeal || k == OrderUndo || k == OrderHook || k == OrderMark ||
		k == OrderUnmark || k.Chore()
}

// Chore reports whether a person has hale do something with one machine, be it well or not.
func (k OrderKind) Chore() bool { return k.Step() != "" }

// PermitsHarm reports whether what is ordered lets hale do more than before: such an order expires when it is not taken
// up.
func (k OrderKind) PermitsHarm() bool {
	return k != OrderHold && k != OrderBrakeOn && k != OrderRolloutPause && k != OrderUnmark && k != OrderCancel &&
		!k.Notes()
}

// Rollout reports whether the order is about an update.
func (k OrderKind) Rollout() bool {
	return k == OrderRolloutPause || k == OrderRolloutResume || k == OrderRolloutUndo || k == OrderRolloutMend
}

// Notes reports whether the order only writes down what a person had done.
func (k OrderKind) Notes() bool { return k == OrderCut || k == OrderUncut }

// Limits of an order.
const (
	// OrderLife is how long an order that permits harm may wait for an owner.
	OrderLife    = time.Hour
	LongestHold  = 90 * 24 * time.Hour
	LongestMark  = 24 * time.Hour // and without a word on it, OrderLife
	longestWords = 200            // of a reason or a name, in bytes
)

// Check says what is wrong with the order by itself. What it names may still be unknown to its fleet.
func (o *Order) Check() error {
	if o.ID == "" || strings.ContainsAny(string(o.ID), "/ ") {
		return fmt.Errorf("%q is no id of an order", o.ID)
	}
	if _, err := ParseName(string(o.Fleet)); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	switch {
	case o.Machine != "" && o.Machine.Fleet() != o.Fleet:
		return fmt.Errorf("%s is no machine of fleet %s", o.Machine, o.Fleet)
	case o.Machine != "" && o.Host != "":
		return errors.New("it names both a machine and a host")
	case o.By == "":
		return errors.New("nobody gave it")
	}
	if err := o.checkBelongs(); err != nil {
		return err
	}
	for _, words := range []string{o.By, o.Reason, string(o.Host), o.Plan} {
		if err := speakable(words); err != nil {
			return err
		}
	}
	return o.checkKind()
}

// checkBelongs says what the order has that belongs to another kind.
func (o *Order) checkBelongs() error {
	switch {
	case o.Kind != OrderScale && (o.Signal || o.Change != SizeChange{}):
		return errors.New("only a size is changed, or signalled")
	case o.Only != "" && (o.Kind != OrderHold || o.Only != HoldScaleIn):
		return fmt.Errorf("only a hold is for something alone, and that is %s", HoldScaleIn)
	case o.Kind != OrderHook && (o.Word != "" || o.Hook != ""):
		return errors.New("only a hook waits for a word")
	case o.Name != "" && o.Kind != OrderHold && o.Kind != OrderRelease:
		return errors.New("only a hold has a name")
	case o.Name != "":
		return o.Name.Check()
	}
	return nil
}

func (o *Order) checkKind() error {
	switch o.Kind {
	case OrderHold:
		switch {
		case o.Reason == "":
			return errors.New("a hold needs a reason")
		case o.For <= 0 || o.For > LongestHold:
			return fmt.Errorf("a hold lasts more than nothing, and at most %d days", int(LongestHold.Hours()/24))
		}
		return nil
	case OrderRelease:
		return nil
	case OrderConfirm:
		if o.Plan == "" || o.Machine != "" || o.Host != "" {
			return errors.New("a confirmation is of one fleet's plan, and names it")
		}
		return nil
	case OrderScale:
		return o.checkSize()
	case OrderRetry, OrderHeal, OrderUndo, OrderDelete, OrderHook,
		OrderReplace, OrderStart, OrderStop, OrderReboot, OrderMigrate, OrderRevert, OrderMark, OrderUnmark:
		return o.checkMachine()
	case OrderCancel:
		return o.checkCancel()
	case OrderRecover:
		return o.checkRecovery()
	case OrderFenced:
		return o.checkFenced()
	case OrderCut:
		return o.checkNote("a power cut", ProofHostOff)
	case OrderUncut:
		return o.checkNote("the undoing of a cut", ProofAccessCut)
	case OrderRolloutPause, OrderRolloutResume, OrderRolloutUndo, OrderRolloutMend, OrderBrakeOn, OrderBrakeOff:
		return o.checkWhole()
	}
	return fmt.Errorf("there is no order %q", o.Kind)
}

func (o *Order) checkCancel() error {
	if o.After == "" || strings.ContainsAny(string(o.After), "/ ") || o.Machine != "" || o.Host != "" {
		return errors.New("it is about one order, and names it")
	}
	return nil
}

func (o *Order) checkMachine() error {
	switch {
	case o.Machine == "":
		return fmt.Errorf("%s is for one machine", o.Kind)
	case o.Kind == OrderHook && !o.Word.Known():
		return fmt.Errorf("of a hook %s, %s or %s is said", HookDone, HookMore, HookFail)
	case o.Kind == OrderRevert && strings.ContainsAny(string(o.Copy), "/ "):
		return fmt.Errorf("%q names no copy of disks", o.Copy)
	case o.Kind == OrderMark && o.Reason == "":
		return errors.New("a mark needs a reason")
	case o.Kind == OrderMark && (o.For < 0 || o.For > LongestMark):
		return fmt.Errorf("a mark lasts at most %d hours", int(LongestMark.Hours()))
	}
	return nil
}

// checkWhole judges what is a whole fleet's.
func (o *Order) checkWhole() error {
	switch {
	case o.Machine == "" && o.Host == "":
		return nil
	case o.Kind.Rollout():
		return errors.New("a rollout is a whole fleet's")
	}
	return errors.New("a brake is a whole fleet's: hold a machine or a host instead")
}

func (o *Order) checkSize() error {
	switch {
	case o.Machine != "" || o.Host != "":
		return errors.New("a size is a whole fleet's")
	case o.For < 0 || o.For > LongestHold:
		return fmt.Errorf("a size is pinned for at most %d days", int(LongestHold.Hours()/24))
	case o.For > 0 && o.Signal:
		return errors.New("a signal pins nothing")
	case o.Change != SizeChange{}:
		return o.checkChange()
	case o.Size < 1 || o.Size > LargestSize:
		return errNoSize
	}
	return nil
}

func (o *Order) checkChange() error {
	if o.Size != 0 || o.Change.Exact != 0 {
		return errors.New("it is either a size or a change of it")
	}
	return o.Change.Check()
}

func (o *Order) checkRecovery() error {
	switch {
	case o.Machine != "" || o.Host != "":
		return errors.New("a recovery is of a whole fleet: for one machine there is heal")
	case o.DryRun && o.Plan != "":
		return errors.New("it is only to say what would follow, and confirms a plan")
	case o.Believe && (o.DryRun || o.Plan != ""):
		return errors.New("to believe the world is an order of its own")
	}
	return nil
}

func (o *Order) checkFenced() error {
	switch {
	case o.Host == "":
		return errors.New("it is about one host")
	case o.Proof != ProofWord && o.Proof != ProofHostOff:
		return fmt.Errorf("%q is no word about a host", o.Proof)
	case o.For <= 0 || o.For > LongestWord:
		return fmt.Errorf("it counts for more than nothing, and at most %d hours", int(LongestWord.Hours()))
	}
	return nil
}

// checkNote judges a note of what was done to a host, which ends with the proof or with none.
func (o *Order) checkNote(of string, proof Proof) error {
	ends := o.After != ""
	switch {
	case o.Host == "":
		return errors.New("it is about one host")
	case ends && o.Proof != proof && o.Proof != ProofNone, !ends && o.Proof != "":
		return fmt.Errorf("%q is not how %s ends", o.Proof, of)
	}
	return nil
}

// speakable says why words cannot be shown to people on one line.
func speakable(words string) error {
	switch {
	case len(words) > longestWords:
		return fmt.Errorf("%d bytes of words, and at most %d are allowed", len(words), longestWords)
	case !utf8.ValidString(words) || strings.ContainsFunc(words, unicode.IsControl):
		return errors.New("its words hold what cannot be printed")
	}
	return nil
}

// Due reports whether the order may not be taken up any more.
func (o *Order) Due(now Now) bool { return !o.Expires.IsZero() && now.Reached(o.Expires) }

// Ruling is what became of an order.
type Ruling struct {
	Order   OrderID
	Refused Reason // empty: it was taken up
	// Until is when it would not be refused any more, where that is known.
	Until time.Time `json:",omitzero"`
}

// HoldName is what a hold's owner calls it, as a tool does that declares what it wants. It is one hold's in the whole
// installation: another hold that is given the name takes its place.
type HoldName string

const longestHoldName = 100 // bytes

// Check says what is wrong with the name.
func (n HoldName) Check() error {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}
	if n == "" || len(n) > longestHoldName || strings.ContainsFunc(string(n), odd) ||
		strings.Trim(string(n), "._-") != string(n) {
		return fmt.Errorf("%q is no name of a hold: write up to %d small letters, digits, and between them dots, lines "+
			"and underscores", n, longestHoldName)
	}
	return nil
}

// HoldScope is what alone a hold forbids.
type HoldScope string

// HoldScaleIn forbids only that a machine is chosen to go because there are to be fewer; it is repaired as any other.
const HoldScaleIn HoldScope = "scale-in"

// LargestSize is the most machines that a fleet can be asked to have.
const LargestSize = 10_000

// Check says what is wrong with the change by itself.
func (c SizeChange) Check() error {
	said := 0
	for _, n := range []int{c.Exact, c.By, c.Percent} {
		if n != 0 {
			said++
		}
	}
	switch {
	case said != 1:
		return errors.New("it says one of a size, a number of machines and a percentage")
	case c.Exact < 0 || c.Exact > LargestSize:
		return errNoSize
	case c.By < -LargestSize || c.By > LargestSize:
		return fmt.Errorf("a fleet has at most %d machines", LargestSize)
	case c.Percent < -100 || c.Percent > largestShare:
		return fmt.Errorf("%+d%% is out of range: choose -100%% to +%d%%", c.Percent, largestShare)
	case c.AtLeast != 0 && c.Percent == 0:
		return errors.New("a least number of machines is for a percentage")
	case c.AtLeast < 0 || c.AtLeast > LargestSize:
		return fmt.Errorf("a change is by at least 1 machine, and by at most %d", LargestSize)
	}
	return nil
}

// Goes returns 1 for a change to more machines and -1 for one to fewer. Of an exact size that is not known: 0.
func (c SizeChange) Goes() int {
	switch {
	case c.By > 0 || c.Percent > 0:
		return 1
	case c.By < 0 || c.Percent < 0:
		return -1
	}
	return 0
}

// String writes the change as ParseSizeChange reads it.
func (c SizeChange) String() string {
	switch {
	case c.Percent != 0:
		return signed(c.Percent) + "%"
	case c.By != 0:
		return signed(c.By)
	}
	return strconv.Itoa(c.Exact)
}

// SizeChange is another size: an exact one, or a change of the one there is.
type SizeChange struct {
	Exact int `json:",omitempty"`
	By    int `json:",omitempty"`
	// Percent of the size, but by AtLeast machines.
	Percent int `json:",omitempty"`
	AtLeast int `json:",omitempty"`
}

// To returns the size to which the change leads from the one there is. A percentage is rounded away from zero as little
// as it must be: towards it, and to AtLeast.
func (c SizeChange) To(size int) int {
	switch {
	case c.Exact > 0:
		return c.Exact
	case c.Percent > 0:
		return size + max(size*c.Percent/100, c.AtLeast, 1)
	case c.Percent < 0:
		return size + min(size*c.Percent/100, -c.AtLeast, -1)
	}
	return size + c.By
}
