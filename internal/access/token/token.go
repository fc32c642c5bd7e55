// Package token keeps the tokens with which programs, and people at other machines, call hale's API.
//
// It promises that a token is shown once, to who made it, and that the store has its SHA-256 only, which needs no slow
// hash since the token is 256 random bits; that a token ends at the time that was given for it, at once when it is
// revoked, and with the token that it was made by; and that none gives more than its maker had. What cannot be read in
// the store is no token.
//
// It does not decide what a caller may do: that is package access.
package token

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"hale/internal/access"
	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/once"
)

const (
	root     = "access/tokens/"
	usedRoot = "access/used/"
)

// Limits of tokens.
const (
	Mark                = "hale"              // what each begins with, so that programs that look for secrets find it
	Usual               = 90 * 24 * time.Hour // how long one lives that people make without a wish of their own
	Longest             = 2 * 365 * 24 * time.Hour
	OwnDay              = 12 * time.Hour // how long one lives that a person signs in with
	mostKept, mostOfOne = 1000, 50
	usedStep            = time.Minute // the least time from one note of its use to the next
	// longestName and longestPerson are bytes.
	longestName, longestPerson = 100, 200
)

// Token is one as it is kept.
type Token struct {
	ID   string
	Hash string // SHA-256 of the whole token, in hexadecimal digits
	Name string // for people: what it is for
	// Grants are what its bearer may do.
	Grants []access.Grant
	// Person is who bears it; By is its maker's name, and Makers are those who may be behind the maker. A maker on the
	// socket can do all that hale can, and is not among them.
	Person string
	By     string
	Makers []string `json:",omitempty"`
	// With is the token that it was made by; it ends with that one. Empty: it was not made by one.
	With    string `json:",omitempty"`
	Made    time.Time
	Expires time.Time
	Used    time.Time `json:"-"` // to the minute; zero: never
}

// Wish is what a new token is to be.
type Wish struct {
	Name   string
	Person string // empty: the maker
	Grants []access.Grant
	For    time.Duration // it has no default
}

// principal is who bears it.
func (t *Token) principal() access.Principal {
	return access.Principal{
		Kind: access.ByToken, Name: t.Person + " by token " + t.ID, ID: t.ID, Grants: t.Grants,
		Persons: append([]string{t.Person}, t.Makers...),
	}
}

var plain = regexp.MustCompile(`^[^\pC]+$`)

// Make makes a token for the caller and returns its text, which nothing can tell again, and what is kept of it.
// fault.Invalid: the wish is no good. fault.Unauthorised: the caller may not give so much. fault.Quota: there are too
// many. fault.UnknownOutcome: it may have been stored; its text was told to none, and so it opens nothing.
func Make(ctx context.Context, s state.Store, by access.Principal, w Wish, now time.Time) (string, Token, error) {
	const op = "token.make"
	t := Token{
		ID: strings.ToLower(rand.Text()[:10]), Name: w.Name, Grants: w.Grants, Person: w.Person, By: by.Name,
		Made: now.UTC(), Expires: now.Add(w.For).UTC(),
	}
	if t.Person == "" && len(by.Persons) > 0 {
		t.Person = by.Persons[0]
	}
	if err := w.check(t.Person); err != nil {
		return "", Token{}, fault.New(fault.Invalid, op, w.Name, err)
	}
	if err := mayMake(by, w); err != nil {
		return "", Token{}, fault.New(fault.Unauthorised, op, w.Name, err)
	}
	if by.Kind != access.BySocket {
		t.Makers = by.Persons
	}
	text := Mark + "_" + t.ID + "_" + strings.ToLower(rand.Text()+rand.Text())
	t.Hash = hash(text)
	if by.Kind == access.ByToken {
		maker, err := load(ctx, s, by.ID)
		if err != nil {
			return "", Token{}, err
		}
		if t.With = by.ID; t.Expires.After(maker.Expires) {
			return "", Token{}, fault.New(fault.Invalid, op, w.Name, fmt.Errorf(
				"it would outlive the token that makes it, which ends %s", maker.Expires.Format(time.RFC3339)))
		}
	}
	if err := roomFor(ctx, s, &t); err != nil {
		return "", Token{}, err
	}
	data, err := json.Marshal(t)
	if err != nil {
		return "", Token{}, fault.New(fault.Invalid, op, w.Name, err)
	}
	_, err = once.Commit(ctx, s, state.Txn{
		If: []state.Compare{state.Absent(root + t.ID)}, Then: []state.Write{state.Put(root+t.ID, data)},
	}, t.ID)
	if err != nil {
		return "", Token{}, err
	}
	return text, t, nil
}

// roomFor is fault.Quota if there are as many tokens, or as many of the person, as there may be.
func roomFor(ctx context.Context, s state.Store, t *Token) error {
	all, err := List(ctx, s)
	if err != nil {
		return err
	}
	alive, own := 0, 0
	for i := range all {
		if all[i].Expires.After(t.Made) {
			alive++
			if strings.EqualFold(all[i].Person, t.Person) {
				own++
			}
		}
	}
	if alive >= mostKept || own >= mostOfOne {
		return fault.New(fault.Quota, "token.make", t.Name, fmt.Errorf(
			"there may be %d tokens, %d of one person: revoke some", mostKept, mostOfOne))
	}
	return nil
}

func (w Wish) check(person string) error {
	switch {
	case w.Name == "" || len(w.Name) > longestName || !plain.MatchString(w.Name):
		return fmt.Errorf("name: say in 1 to %d characters what it is for", longestName)
	case person == "" || len(person) > longestPerson || !plain.MatchString(person):
		return fmt.Errorf("person: say in 1 to %d characters who has it", longestPerson)
	case !sound(w.Grants):
		return errors.New("role: give one")
	case w.For < time.Minute || w.For > Longest:
		return fmt.Errorf("for: give a time from a minute to %d days", Longest/(24*time.Hour))
	}
	return nil
}

// mayMake says why the caller may not make such a token. People make short ones for themselves; all else is for those
// who are admin of the fleets.
func mayMake(by access.Principal, w Wish) error {
	if !coversAll(by, w.Grants) {
		return errors.New("a caller gives no more than it has")
	}
	own := by.Kind == access.ByOpenID && w.For <= OwnDay &&
		(w.Person == "" || len(by.Persons) > 0 && strings.EqualFold(w.Person, by.Persons[0]))
	if !own && !coversAll(by, ruling(w.Grants)) {
		return fmt.Errorf("only an admin makes tokens, and who is signed in, one for the next %d hours",
			OwnDay/time.Hour)
	}
	return nil
}

// sound reports whether there are grants, and each is one.
func sound(all []access.Grant) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(g access.Grant) bool {
		return g.Role < access.Viewer || g.Role > access.Admin
	})
}

func coversAll(p access.Principal, all []access.Grant) bool {
	return !slices.ContainsFunc(all, func(g access.Grant) bool { return !p.Covers(g) })
}

// ruling is admin wherever the grants are.
func ruling(all []access.Grant) []access.Grant {
	out := slices.Clone(all)
	for i := range out {
		out[i].Role = access.Admin
	}
	return out
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Why a token is refused. The bearer is told one thing for all of them.
var (
	ErrForm    = errors.New("it is no token of hale's")
	ErrUnknown = errors.New("there is no such token: it was revoked, or belongs to another hale")
	ErrForeign = errors.New("it has the id of a token, and is another one")
	ErrExpired = errors.New("it is over")
	ErrDamaged = errors.New("what is kept of it cannot be read")
)

// Verify returns who bears the token, and what is kept of it. fault.Unauthorised, with one of the reasons above: it
// opens nothing. Other errors are the store's, and say nothing of the token.
func Verify(ctx context.Context, s state.Store, text string, now time.Time) (access.Principal, Token, error) {
	const op = "token.verify"
	id, ok := idOf(text)
	if !ok {
		return access.Principal{}, Token{}, fault.New(fault.Unauthorised, op, "", ErrForm)
	}
	t, err := load(ctx, s, id)
	if err != nil {
		return access.Principal{}, Token{}, err
	}
	if subtle.ConstantTimeCompare([]byte(hash(text)), []byte(t.Hash)) != 1 {
		return access.Principal{}, Token{}, fault.New(fault.Unauthorised, op, id, ErrForeign)
	}
	if err := standing(ctx, s, t, now); err != nil {
		return access.Principal{}, Token{}, err
	}
	p := t.principal()
	return p, t, nil
}

// standing is fault.Unauthorised if the token is over, or one is that it was made by, however indirectly.
func standing(ctx context.Context, s state.Store, t Token, now time.Time) error {
	for {
		if !now.Before(t.Expires) {
			return fault.New(fault.Unauthorised, "token.verify", t.ID, ErrExpired)
		}
		if t.With == "" {
			return nil
		}
		var err error
		if t, err = load(ctx, s, t.With); err != nil {
			return err
		}
	}
}

var form = regexp.MustCompile(`^` + Mark + `_([a-z2-7]{10})_[a-z2-7]{52}$`)

// idOf returns the id that a token names.
func idOf(text string) (string, bool) {
	parts := form.FindStringSubmatch(text)
	if parts == nil {
		return "", false
	}
	return parts[1], true
}

// load reads one token.
func load(ctx context.Context, s state.Store, id string) (Token, error) {
	e, err := s.Get(ctx, root+id)
	switch {
	case fault.Is(err, fault.NotFound):
		return Token{}, fault.New(fault.Unauthorised, "token.load", id, ErrUnknown)
	case err != nil:
		return Token{}, err
	}
	return read(e)
}

// read reads a token that must be whole, and lie where it says.
func read(e state.Entry) (Token, error) {
	var t Token
	id := strings.TrimPrefix(e.Key, root)
	if json.Unmarshal(e.Value, &t) != nil || t.ID != id || len(t.Hash) != 2*sha256.Size || t.Person == "" ||
		t.Made.IsZero() || t.Expires.IsZero() || !sound(t.Grants) {
		return Token{ID: id}, fault.New(fault.Unauthorised, "token.load", id, ErrDamaged)
	}
	return t, nil
}

// Alive reports whether the token of the id still opens what it opened. An error is the store's.
func Alive(ctx context.Context, s state.Store, id string, now time.Time) (bool, error) {
	t, err := load(ctx, s, id)
	if err == nil {
		err = standing(ctx, s, t, now)
	}
	if fault.Is(err, fault.Unauthorised) {
		return false, nil
	}
	return err == nil, err
}

// List returns all tokens, oldest first, with when they were used last. Of one that cannot be read it has the id alone.
func List(ctx context.Context, s state.Store) ([]Token, error) {
	entries, _, err := s.List(ctx, root)
	if err != nil {
		return nil, err
	}
	uses, _, err := s.List(ctx, usedRoot)
	if err != nil {
		return nil, err
	}
	used := map[string]time.Time{}
	for _, u := range uses {
		if at, err := time.Parse(time.RFC3339, string(u.Value)); err == nil {
			used[strings.TrimPrefix(u.Key, usedRoot)] = at
		}
	}
	out := make([]Token, 0, len(entries))
	for _, e := range entries {
		t, _ := read(e) // of what is damaged, the id is shown, so that it can be revoked
		t.Used = used[t.ID]
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b Token) int { return a.Made.Compare(b.Made) })
	return out, nil
}

// Revoke ends a token, and all that were made by it, at once. It returns the ids of those that it removed: the rest, if
// they are very many, is over as well. fault.NotFound: there is no such token.
func Revoke(ctx context.Context, s state.Store, id string) ([]string, error) {
	all, err := List(ctx, s)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, func(t Token) bool { return t.ID == id }) {
		return nil, fault.New(fault.NotFound, "token.revoke", id, errors.New("there is no such token"))
	}
	doomed := []string{id}
	for i := 0; i < len(doomed); i++ {
		for _, t := range all {
			if t.With == doomed[i] && len(doomed) < state.MaxOps/2 {
				doomed = append(doomed, t.ID)
			}
		}
	}
	var txn state.Txn
	for _, d := range doomed {
		txn.Then = append(txn.Then, state.Delete(root+d), state.Delete(usedRoot+d))
	}
	_, err = s.Commit(ctx, txn)
	return doomed, err
}

// NoteUse stores when the token was used, at most once a minute: last is when that was noted before. It returns what is
// noted now.
func NoteUse(ctx context.Context, s state.Store, id string, last, now time.Time) (time.Time, error) {
	if now.Sub(last) < usedStep && !now.Before(last) {
		return last, nil
	}
	e, err := s.Get(ctx, root+id)
	if err != nil {
		return last, err
	}
	_, err = s.Commit(ctx, state.Txn{ // a note never stands without its token
		If:   []state.Compare{state.At(root+id, e.Revision)},
		Then: []state.Write{state.Put(usedRoot+id, []byte(now.UTC().Format(time.RFC3339)))},
	})
	if err != nil {
		return last, err
	}
	return now, nil
}

// Sweep removes the tokens that have been over for as long as they lived, and for a day at least: until then it is
// shown why one does not open any more.
func Sweep(ctx context.Context, s state.Store, now time.Time) error {
	all, err := List(ctx, s)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Expires.IsZero() || now.Sub(t.Expires) < max(24*time.Hour, t.Expires.Sub(t.Made)) {
			continue
		}
		if _, err := Revoke(ctx, s, t.ID); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// Of reports whether the caller may see and revoke the token: its own, and those that it could have made.
func (t *Token) Of(p access.Principal) bool {
	rules := coversAll(p, ruling(t.Grants)) && (len(t.Grants) > 0 || p.May(access.Admin, ""))
	return p.Kind == access.ByToken && p.ID == t.ID || rules || t.Person != "" &&
		slices.ContainsFunc(p.Persons, func(who string) bool { return strings.EqualFold(who, t.Person) })
}
