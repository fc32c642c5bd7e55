// Package evidence keeps in the store what a machine's console, screen and checks said before something was done to it
// that could destroy the signs.
//
// It promises bounds: of each part (fleet.ConsoleLimit, fleet.ScreenshotLimit), of each value in the store, of a
// fleet's share by count, of all by age and by their sum. The oldest makes room. The fleet's owner alone keeps
// something: the store compares its lease. It gathers nothing itself, and does not interpret: the bytes of a console
// are as they came.
package evidence

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
)

// Limits of what is kept.
const (
	KeepPerFleet = 20                  // exhibits of a fleet
	KeepFor      = 30 * 24 * time.Hour // each of them
	KeepBytes    = 128 << 20           // of all fleets together

	chunk       = 64 << 10 // the largest value in the store
	prunedAtOne = 40       // exhibits that make room for one: more would not fit into a transaction
)

const (
	indexRoot = "evidence/index/"
	dataRoot  = "evidence/data/"
)

// Exhibit is the evidence on one instance in one incident, without the bytes.
type Exhibit struct {
	Key        string `json:"-"` // where it is kept
	At         time.Time
	Fleet      fleet.Name
	Machine    fleet.MachineName
	Incident   string
	Instance   fleet.InstanceID
	Generation fleet.Generation `json:",omitempty"`
	Host       fleet.HostName   `json:",omitempty"`
	Parts      fleet.Evidence   `json:"Kept"`
	// Format is the screenshot's media type.
	Format string `json:",omitempty"`
	Findings
}

// Findings are the checks' last results and the provider's last word.
type Findings struct {
	Checks []Finding
	Power  fleet.Power  `json:",omitempty"` // empty: the provider said nothing of it
	Stop   fleet.Stop   `json:",omitempty"`
	Cause  belief.Cause `json:",omitempty"`
	Since  time.Time    `json:",omitzero"` // of the verdict
}

// Finding is how one check stood.
type Finding struct {
	Check    fleet.CheckName
	Standing fleet.Standing
	Result   fleet.ResultReason `json:",omitempty"`
	Detail   string             `json:",omitempty"`
}

// Bytes are the parts of an exhibit that are kept byte by byte.
type Bytes struct{ Console, Screenshot []byte }

// id is what the exhibit's keys have in common.
func (e *Exhibit) id() string {
	if e.Key != "" {
		return strings.TrimPrefix(e.Key, indexRoot)
	}
	return fmt.Sprintf("%s/%020d-%s", e.Fleet, e.At.UnixNano(), e.Machine)
}

func (e *Exhibit) size() int { return e.Parts.Console.Bytes + e.Parts.Screenshot.Bytes }

func dataPrefix(id string) string { return dataRoot + id + "/" }

// Keep stores an exhibit, and lets the oldest go that there is no room for. owns are compares without which nothing is
// stored.
func Keep(ctx context.Context, s state.Store, owns []state.Compare, e Exhibit, b Bytes) error {
	doomed, err := crowdedOut(ctx, s, &e)
	if err != nil {
		return err
	}
	txn := state.Txn{If: owns}
	for _, d := range doomed {
		txn.Then = append(txn.Then, state.Delete(d.Key),
			state.DeleteRange(dataPrefix(d.id()), dataPrefix(d.id())+"\xff"))
	}
	manifest, err := json.Marshal(e)
	if err != nil {
		return fault.New(fault.Invalid, "evidence.keep", e.id(), err)
	}
	txn.Then = append(txn.Then, state.Put(indexRoot+e.id(), manifest))
	txn.Then = append(txn.Then, pieces(e.id(), "console", b.Console)...)
	txn.Then = append(txn.Then, pieces(e.id(), "screenshot", b.Screenshot)...)
	_, err = s.Commit(ctx, txn)
	return err
}

func pieces(id, part string, data []byte) []state.Write {
	var writes []state.Write
	for n, piece := range slices.Collect(slices.Chunk(data, chunk)) {
		writes = append(writes, state.Put(fmt.Sprintf("%s%s/%04d", dataPrefix(id), part, n), piece))
	}
	return writes
}

// crowdedOut returns what there is no room for beside the new exhibit: what is too old, the fleet's own beyond its
// count, and of all the oldest until the sum fits.
func crowdedOut(ctx context.Context, s state.Store, fresh *Exhibit) ([]Exhibit, error) {
	all, err := list(ctx, s, indexRoot)
	if err != nil {
		return nil, err
	}
	own, sum := 1, fresh.size()
	for i := range all {
		sum += all[i].size()
		if all[i].Fleet == fresh.Fleet {
			own++
		}
	}
	var doomed []Exhibit
	for _, e := range all { // oldest first
		mine := e.Fleet == fresh.Fleet
		if fresh.At.Sub(e.At) <= KeepFor && sum <= KeepBytes && (!mine || own <= KeepPerFleet) {
			continue
		}
		sum -= e.size()
		if mine {
			own--
		}
		if doomed = append(doomed, e); len(doomed) == prunedAtOne {
			break
		}
	}
	return doomed, nil
}

// Of returns what is kept of a machine, oldest first.
func Of(ctx context.Context, s state.Store, machine fleet.MachineName) ([]Exhibit, error) {
	all, err := list(ctx, s, indexRoot+string(machine.Fleet())+"/")
	return slices.DeleteFunc(all, func(e Exhibit) bool { return e.Machine != machine }), err
}

// Open reads an exhibit's bytes. A part that was let go meanwhile is empty.
func Open(ctx context.Context, s state.Store, e Exhibit) (Bytes, error) {
	entries, _, err := s.List(ctx, dataPrefix(e.id()))
	if err != nil {
		return Bytes{}, err
	}
	var b Bytes
	for _, entry := range entries { // sorted by key
		switch part, _, _ := strings.Cut(strings.TrimPrefix(entry.Key, dataPrefix(e.id())), "/"); part {
		case "console":
			b.Console = append(b.Console, entry.Value...)
		case "screenshot":
			b.Screenshot = append(b.Screenshot, entry.Value...)
		}
	}
	return b, nil
}

func list(ctx context.Context, s state.Store, prefix string) ([]Exhibit, error) {
	entries, _, err := s.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	all := make([]Exhibit, 0, len(entries))
	for _, entry := range entries {
		e := Exhibit{Key: entry.Key}
		if err := json.Unmarshal(entry.Value, &e); err != nil {
			e = Exhibit{Key: entry.Key} // as old as can be, so that it goes first
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Exhibit) int { return a.At.Compare(b.At) })
	return all, nil
}
