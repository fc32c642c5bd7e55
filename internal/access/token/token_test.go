package token_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/access"
	"hale/internal/access/token"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/memory"
)

var (
	dawn = time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)
	root = access.Principal{
		Kind: access.BySocket, Name: "root", ID: "0", Persons: []string{"root"},
		Grants: []access.Grant{{Role: access.Admin}},
	}
	web   = []access.Grant{{Role: access.Operator, Fleets: []fleet.Name{"web"}}}
	forBo = token.Wish{Name: "laptop", Person: "bo@example.org", Grants: web, For: token.Usual}
)

// desk is where tokens are made and shown, on a store of its own.
type desk struct {
	t     *testing.T
	store state.Store
}

func open(t *testing.T) desk {
	t.Helper()
	return desk{t, memory.New(memory.Options{}).Open(nil)}
}

func (d desk) made(by access.Principal, w token.Wish) (string, token.Token) {
	d.t.Helper()
	text, kept, err := token.Make(d.t.Context(), d.store, by, w, dawn)
	if err != nil {
		d.t.Fatal(err)
	}
	return text, kept
}

// refused checks that the token opens nothing, and why.
func (d desk) refused(text string, at time.Time, why error) {
	d.t.Helper()
	p, _, err := token.Verify(d.t.Context(), d.store, text, at)
	if !fault.Is(err, fault.Unauthorised) || !errors.Is(err, why) || p.MayAnywhere(access.Viewer) {
		d.t.Errorf("it is %+v, %v; want refused: %v", p, err, why)
	}
}

func (d desk) bearer(text string, at time.Time) access.Principal {
	d.t.Helper()
	p, _, err := token.Verify(d.t.Context(), d.store, text, at)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

func TestATokenOpensWhatItWasMadeFor(t *testing.T) {
	t.Parallel()
	d := open(t)
	text, kept := d.made(root, forBo)
	p := d.bearer(text, dawn)
	if !p.May(access.Operator, "web") || p.May(access.Viewer, "db") || p.May(access.Admin, "web") {
		t.Errorf("it may %+v", p.Grants)
	}
	if p.ID != kept.ID || !strings.Contains(p.Name, "bo@example.org") || p.Kind != access.ByToken {
		t.Errorf("it is %+v", p)
	}
	if other, _ := d.made(root, forBo); other == text {
		t.Error("two tokens are the same")
	}
}

func TestATokenThatIsNotOneOpensNothing(t *testing.T) {
	t.Parallel()
	d := open(t)
	text, kept := d.made(root, forBo)
	d.refused(text, kept.Expires, token.ErrExpired)
	d.bearer(text, kept.Expires.Add(-1))
	foreign, _ := open(t).made(root, forBo)
	d.refused(foreign, dawn, token.ErrUnknown)
	d.refused(text[:16]+foreign[16:], dawn, token.ErrForeign) // the id of one, the secret of another
	for _, shape := range []string{
		"", "hale", "hale__", text + "a", text[:len(text)-1], strings.ToUpper(text), text + "\n", " " + text,
		strings.Replace(text, "_", "-", 1), "hale_../../tokens_" + strings.Repeat("a", 52),
		"hale_" + kept.ID + "_" + kept.Hash[:52],
	} {
		p, _, err := token.Verify(t.Context(), d.store, shape, dawn)
		if !fault.Is(err, fault.Unauthorised) || p.Kind != "" {
			t.Errorf("%q is %+v, %v", shape, p, err)
		}
	}
}

func TestARevokedTokenIsOverAtOnceWithAllThatItMade(t *testing.T) {
	t.Parallel()
	d := open(t)
	all := token.Wish{Name: "ci", Person: "ci", Grants: []access.Grant{{Role: access.Admin}}, For: token.Usual}
	first, kept := d.made(root, all)
	all.For = token.Usual / 2
	second, _ := d.made(d.bearer(first, dawn), all)
	all.For = token.Usual / 4
	third, _ := d.made(d.bearer(second, dawn), all)
	stays, _ := d.made(root, forBo)
	gone, err := token.Revoke(t.Context(), d.store, kept.ID)
	if err != nil || len(gone) != 3 {
		t.Errorf("%v, %v", gone, err)
	}
	for _, text := range []string{first, second, third} {
		d.refused(text, dawn, token.ErrUnknown)
	}
	d.bearer(stays, dawn)
	if _, err := token.Revoke(t.Context(), d.store, kept.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("revoked twice: %v", err)
	}
	entries, _, err := d.store.List(t.Context(), "")
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries are left, %v", len(entries), err)
	}
}

// TestATokenWhoseMakerIsGoneIsOver, also when its own entry is there: a process died between the two, or another server
// made it at the moment in which the first was revoked.
func TestATokenWhoseMakerIsGoneIsOver(t *testing.T) {
	t.Parallel()
	d := open(t)
	all := token.Wish{Name: "ci", Person: "ci", Grants: []access.Grant{{Role: access.Admin}}, For: token.Usual}
	first, kept := d.made(root, all)
	second, child := d.made(d.bearer(first, dawn), all)
	entry := d.entry("access/tokens/" + child.ID)
	if _, err := token.Revoke(t.Context(), d.store, kept.ID); err != nil {
		t.Fatal(err)
	}
	d.put(entry.Key, entry.Value)
	d.refused(second, dawn, token.ErrUnknown)
	if alive, err := token.Alive(t.Context(), d.store, child.ID, dawn); alive || err != nil {
		t.Errorf("%v, %v", alive, err)
	}
}

func (d desk) entry(key string) state.Entry {
	d.t.Helper()
	e, err := d.store.Get(d.t.Context(), key)
	if err != nil {
		d.t.Fatal(err)
	}
	return e
}

func (d desk) put(key string, value []byte) {
	d.t.Helper()
	if _, err := d.store.Commit(d.t.Context(), state.Txn{Then: []state.Write{state.Put(key, value)}}); err != nil {
		d.t.Fatal(err)
	}
}

// TestAHalfWrittenTokenOpensNothing: whatever of a token's entry is lost or false, it opens nothing, is listed, and can
// be revoked.
func TestAHalfWrittenTokenOpensNothing(t *testing.T) {
	t.Parallel()
	d := open(t)
	text, kept := d.made(root, forBo)
	key := "access/tokens/" + kept.ID
	whole := string(d.entry(key).Value)
	broken := map[string]string{}
	for n := range len(whole) {
		broken["cut at "+whole[:n]] = whole[:n]
	}
	for name, change := range map[string][2]string{
		"no role":         {`"Role":"operator"`, `"Role":"none"`},
		"a role's number": {`"Role":"operator"`, `"Role":3`},
		"no hash":         {kept.Hash, ""},
		"half a hash":     {kept.Hash, kept.Hash[:32]},
		"another id":      {`"` + kept.ID + `"`, `"aaaaaaaaaa"`},
		"no end":          {`"Expires"`, `"Ends"`},
		"no person":       {`"Person"`, `"Who"`},
	} {
		broken[name] = strings.Replace(whole, change[0], change[1], 1)
		if broken[name] == whole {
			t.Fatalf("%s: nothing is changed in %s", name, whole)
		}
	}
	for name, value := range broken {
		d.put(key, []byte(value))
		p, _, err := token.Verify(t.Context(), d.store, text, dawn)
		if !fault.Is(err, fault.Unauthorised) || p.MayAnywhere(access.Viewer) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	d.put(key, []byte(whole[:40]))
	listed, err := token.List(t.Context(), d.store)
	if err != nil || len(listed) != 1 || listed[0].ID != kept.ID || !listed[0].Of(root) {
		t.Errorf("%+v, %v", listed, err)
	}
	if _, err := token.Revoke(t.Context(), d.store, kept.ID); err != nil {
		t.Error(err)
	}
}

func TestTheStoreHasNoToken(t *testing.T) {
	t.Parallel()
	d := open(t)
	text, kept := d.made(root, forBo)
	if _, err := token.NoteUse(t.Context(), d.store, kept.ID, time.Time{}, dawn); err != nil {
		t.Fatal(err)
	}
	entries, _, err := d.store.List(t.Context(), "")
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for _, e := range entries {
		if strings.Contains(string(e.Value), text[16:]) {
			t.Errorf("%s has the token", e.Key)
		}
	}
}

// TestKilledBetweenStoringAndAnswering: what was stored without an answer opens nothing, since nothing else knows the
// text; it is listed, and can be revoked.
func TestKilledBetweenStoringAndAnswering(t *testing.T) {
	t.Parallel()
	backing := memory.New(memory.Options{})
	lossy := backing.Open(func(_ context.Context, c memory.Call) memory.Effect {
		if c.Op == memory.OpCommit {
			return memory.FailAfter
		}
		return memory.Normal
	})
	text, _, err := token.Make(t.Context(), lossy, root, forBo, dawn)
	if !fault.Is(err, fault.UnknownOutcome) || text != "" {
		t.Errorf("%q, %v", text, err)
	}
	after := backing.Open(nil)
	listed, err := token.List(t.Context(), after)
	if err != nil || len(listed) != 1 {
		t.Fatalf("%+v, %v", listed, err)
	}
	if _, err := token.Revoke(t.Context(), after, listed[0].ID); err != nil {
		t.Error(err)
	}
}

// TestAStoreThatIsAwayIsNoRefusal: it is not known then whether the token opens something.
func TestAStoreThatIsAwayIsNoRefusal(t *testing.T) {
	t.Parallel()
	backing := memory.New(memory.Options{})
	text, _ := desk{t, backing.Open(nil)}.made(root, forBo)
	away := backing.Open(func(context.Context, memory.Call) memory.Effect { return memory.FailBefore })
	p, _, err := token.Verify(t.Context(), away, text, dawn)
	if !fault.Is(err, fault.Transient) || p.MayAnywhere(access.Viewer) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestNoneGivesMoreThanItHas(t *testing.T) {
	t.Parallel()
	admin := access.Principal{
		Kind: access.ByCertificate, ID: "a", Name: "a", Persons: []string{"a"},
		Grants: []access.Grant{{Role: access.Admin, Fleets: []fleet.Name{"web"}}, {Role: access.Viewer}},
	}
	ana := access.Principal{
		Kind: access.ByOpenID, ID: "x", Name: "ana", Persons: []string{"ana@example.org", "x"},
		Grants: []access.Grant{{Role: access.Operator}},
	}
	for name, c := range map[string]struct {
		by   access.Principal
		wish func(*token.Wish)
		want fault.Kind // empty: it is made
	}{
		"an admin of the fleet":            {admin, func(*token.Wish) {}, ""},
		"an admin of another fleet":        {admin, func(w *token.Wish) { w.Grants[0].Fleets = []fleet.Name{"db"} }, fault.Unauthorised},
		"an admin of one, for all":         {admin, func(w *token.Wish) { w.Grants[0].Fleets = nil }, fault.Unauthorised},
		"a person for the day":             {ana, func(w *token.Wish) { w.For, w.Person = token.OwnDay, "" }, ""},
		"a person for longer":              {ana, func(w *token.Wish) { w.Person = "" }, fault.Unauthorised},
		"a person for another":             {ana, func(w *token.Wish) { w.For = token.OwnDay }, fault.Unauthorised},
		"a person for more than they have": {ana, func(w *token.Wish) { w.Grants[0].Role, w.Person, w.For = access.Admin, "", 1e12 }, fault.Unauthorised},
		"nobody":                           {access.Principal{}, func(*token.Wish) {}, fault.Unauthorised},
		"for ever":                         {root, func(w *token.Wish) { w.For = token.Longest + 1 }, fault.Invalid},
		"without an end":                   {root, func(w *token.Wish) { w.For = 0 }, fault.Invalid},
		"without any role":                 {root, func(w *token.Wish) { w.Grants = nil }, fault.Invalid},
		"without a role":                   {root, func(w *token.Wish) { w.Grants[0].Role = access.None }, fault.Invalid},
		"without a name":                   {root, func(w *token.Wish) { w.Name = "" }, fault.Invalid},
		"with a name of two lines":         {root, func(w *token.Wish) { w.Name = "a\nb" }, fault.Invalid},
	} {
		d := open(t)
		w := forBo
		w.Grants = slices.Clone(w.Grants)
		c.wish(&w)
		text, _, err := token.Make(t.Context(), d.store, c.by, w, dawn)
		if c.want == "" && err != nil || c.want != "" && (!fault.Is(err, c.want) || text != "") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestATokenMakesNoneThatOutlivesIt(t *testing.T) {
	t.Parallel()
	d := open(t)
	w := token.Wish{Name: "ci", Person: "ci", Grants: []access.Grant{{Role: access.Admin}}, For: time.Hour}
	text, _ := d.made(root, w)
	w.For += time.Second
	if _, _, err := token.Make(t.Context(), d.store, d.bearer(text, dawn), w, dawn); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
}

// TestTwoTokensOfOneMakerAreNotTwoPeople, unless the maker sits at the machine itself.
func TestTwoTokensOfOneMakerAreNotTwoPeople(t *testing.T) {
	t.Parallel()
	d := open(t)
	ana := root
	ana.Kind, ana.Persons = access.ByOpenID, []string{"ana@example.org"}
	of := func(by access.Principal, who string) access.Principal {
		w := forBo
		w.Person = who
		text, _ := d.made(by, w)
		return d.bearer(text, dawn)
	}
	if of(ana, "bo").Apart(of(ana, "cy")) || of(ana, "bo").Apart(ana) || of(root, "bo").Apart(of(root, "Bo")) {
		t.Error("one person passes for two")
	}
	if !of(root, "bo").Apart(of(root, "cy")) || !of(root, "bo").Apart(ana) {
		t.Error("two people pass for one")
	}
}

func TestUseIsNotedOnceAMinuteAndNeverWithoutTheToken(t *testing.T) {
	t.Parallel()
	d := open(t)
	_, kept := d.made(root, forBo)
	last := time.Time{}
	for _, c := range []struct {
		after time.Duration
		noted time.Time
	}{{0, dawn}, {time.Minute - 1, dawn}, {time.Minute, dawn.Add(time.Minute)}} {
		var err error
		if last, err = token.NoteUse(t.Context(), d.store, kept.ID, last, dawn.Add(c.after)); err != nil {
			t.Fatal(err)
		}
		listed, err := token.List(t.Context(), d.store)
		if err != nil || !listed[0].Used.Equal(c.noted) {
			t.Errorf("after %v it was used %v, %v", c.after, listed[0].Used, err)
		}
	}
	if _, err := token.Revoke(t.Context(), d.store, kept.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := token.NoteUse(t.Context(), d.store, kept.ID, last, dawn.Add(time.Hour)); err == nil {
		t.Error("the use of a token that is gone is noted")
	}
}

// TestAUseIsNotNotedBehindARevocation: the token goes between the look and the note.
func TestAUseIsNotNotedBehindARevocation(t *testing.T) {
	t.Parallel()
	backing := memory.New(memory.Options{})
	plain := backing.Open(nil)
	_, kept := desk{t, plain}.made(root, forBo)
	late := backing.Open(func(_ context.Context, c memory.Call) memory.Effect {
		if c.Op == memory.OpCommit {
			if _, err := token.Revoke(t.Context(), plain, kept.ID); err != nil {
				t.Error(err)
			}
		}
		return memory.Normal
	})
	if _, err := token.NoteUse(t.Context(), late, kept.ID, time.Time{}, dawn); !fault.Is(err, fault.Conflict) {
		t.Errorf("%v", err)
	}
	if entries, _, err := plain.List(t.Context(), ""); err != nil || len(entries) != 0 {
		t.Errorf("%d entries are left, %v", len(entries), err)
	}
}

func TestATokenThatIsLongOverIsForgotten(t *testing.T) {
	t.Parallel()
	d := open(t)
	_, kept := d.made(root, forBo)
	for at, left := range map[time.Duration]int{0: 1, token.Usual - 1: 1, token.Usual: 0} {
		d := open(t)
		d.made(root, forBo)
		if err := token.Sweep(t.Context(), d.store, kept.Expires.Add(at)); err != nil {
			t.Fatal(err)
		}
		if listed, err := token.List(t.Context(), d.store); err != nil || len(listed) != left {
			t.Errorf("after %v there are %d, %v", at, len(listed), err)
		}
	}
}

func TestOnePersonDoesNotTakeAllPlaces(t *testing.T) {
	t.Parallel()
	d := open(t)
	var err error
	n := 0
	for ; err == nil && n < 100; n++ {
		_, _, err = token.Make(t.Context(), d.store, root, forBo, dawn)
	}
	if !fault.Is(err, fault.Quota) || n != 51 {
		t.Errorf("%d are made, then %v", n-1, err)
	}
	w := forBo
	w.Person = "cy"
	d.made(root, w)
}
