package fleet

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ClaimPlace is the installation under which the claims of all hales are noted at a provider's, so that each reads
// those of the others.
const ClaimPlace = "adopters"

const (
	// ClaimRenew is how often an installation says that its claims stand.
	ClaimRenew = time.Hour
	// ClaimOver is how long a claim stands that is not renewed.
	ClaimOver = 24 * time.Hour
	// ClaimSettle is how long a claim must have stood before a call relies on it: by then a claim that was made at the
	// same time is there to be read.
	ClaimSettle = 30 * time.Second
	// claimLitter is how long notes of an installation that says nothing more are left where they are.
	claimLitter = 30 * 24 * time.Hour
	// claimText is how much of an installation's id and of an instance's hash a note has: it must fit into a tag of
	// OpenStack.
	claimText = 10
)

// Claim is what an installation noted at the provider's: that it looks after an instance that it adopted.
type Claim struct {
	By    string // the beginning of the installation's id
	Since int64  // seconds since 1970, by its own clock
}

// At is when the claim was made.
func (c Claim) At() time.Time { return time.Unix(c.Since, 0) }

// String says which installation it is, and since when.
func (c Claim) String() string {
	return "installation " + c.By + "…, since " + c.At().UTC().Format("2006-01-02 15:04 MST")
}

// before reports whether the claim wins over the other one: the earlier does, and of two of the same second that of the
// smaller id.
func (c Claim) before(o Claim) bool {
	return cmp.Or(cmp.Compare(c.Since, o.Since), strings.Compare(c.By, o.By)) < 0
}

// Claimant is how an installation is called in its claims: the first letters of its id.
func Claimant(of Installation) string {
	text := strings.Map(func(r rune) rune {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return -1
		}
		return r
	}, strings.ToLower(string(of)))
	if len(text) < claimText {
		text += hashed(string(of))
	}
	return text[:claimText]
}

// hashed is 51 bits of the text's hash (FNV-1a), as claimText letters and digits.
func hashed(text string) string {
	// the last is letters^claimText
	const offset, prime, letters, most = 14695981039346656037, 1099511628211, 36, 3656158440062976
	sum := uint64(offset)
	for i := range len(text) {
		sum = (sum ^ uint64(text[i])) * prime
	}
	short := strconv.FormatUint(sum%most, letters)
	return strings.Repeat("0", claimText-len(short)) + short
}

// ClaimName is the note of a claim on the instance.
func ClaimName(c Claim, id InstanceID) StartName {
	return NameStart(uint64(max(1, c.Since)), c.By+hashed(string(id)))
}

// RenewalName is the note that says that the installation's claims stood then.
func RenewalName(by string, at time.Time) StartName {
	return NameStart(uint64(max(1, at.Unix())), by)
}

// Claims is what the notes at a provider's say of adopted instances. The zero value: nothing.
type Claims struct {
	claims   map[string][]Claim // by the instance's hash
	renewals map[string]int64   // the latest, by the installation
	names    []StartName
}

// ReadClaims reads the notes. What is no claim is left out.
func ReadClaims(names []StartName) Claims {
	b := Claims{claims: map[string][]Claim{}, renewals: map[string]int64{}}
	for _, name := range names {
		_, text, _ := strings.Cut(string(name), "-")
		at := int64(name.Number()) //nolint:gosec // what is no time is in the far past
		switch len(text) {
		case claimText:
			b.renewals[text] = max(b.renewals[text], at)
		case 2 * claimText:
			b.claims[text[claimText:]] = append(b.claims[text[claimText:]], Claim{By: text[:claimText], Since: at})
		default:
			continue
		}
		b.names = append(b.names, name)
	}
	return b
}

// Alive reports whether the installation's claims stand: it said so within ClaimOver.
func (b *Claims) Alive(by string, now time.Time) bool {
	at, said := b.renewals[by]
	return said && now.Before(time.Unix(at, 0).Add(ClaimOver))
}

// Renewed is when the installation said last that its claims stand; zero: never.
func (b *Claims) Renewed(by string) time.Time {
	if at, said := b.renewals[by]; said {
		return time.Unix(at, 0)
	}
	return time.Time{}
}

// Own returns the installation's claim on the instance, the first where it has several; false: it has none that stands.
func (b *Claims) Own(by string, id InstanceID, now time.Time) (Claim, bool) {
	var first Claim
	for _, c := range b.claims[hashed(string(id))] {
		if c.By == by && b.Alive(by, now) && (first.By == "" || c.before(first)) {
			first = c
		}
	}
	return first, first.By != ""
}

// Elsewhere returns the claim of another installation on the instance that goes before this one's; false: there is
// none. One that is over does not count. Where this one has no claim, each one of another goes before it.
func (b *Claims) Elsewhere(by string, id InstanceID, now time.Time) (Claim, bool) {
	var first Claim
	own, has := b.Own(by, id, now)
	for _, c := range b.claims[hashed(string(id))] {
		if c.By != by && b.Alive(c.By, now) && (!has || c.before(own)) && (first.By == "" || c.before(first)) {
			first = c
		}
	}
	return first, first.By != ""
}

// Stake is the claim that the installation makes on the instance now: later than all that stand, whatever the clocks
// say.
func (b *Claims) Stake(by string, id InstanceID, now time.Time) Claim {
	is := Claim{By: by, Since: now.Unix()}
	for _, c := range b.claims[hashed(string(id))] {
		if c.By != by && b.Alive(c.By, now) {
			is.Since = max(is.Since, c.Since+1)
		}
	}
	return is
}

// Cared is what an installation looks after, of what it adopted.
type Cared struct {
	IDs   []InstanceID
	Whole bool // that is all: nothing else is
}

// Stale returns the notes that the installation is to remove: its own claims on what it does not look after, where that
// is known for all it has; all of its own once they are over, for then another one may have begun; renewals before its
// last; and what others left long ago.
func (b *Claims) Stale(by string, c Cared, now time.Time) []StartName {
	kept := make(map[string]bool, len(c.IDs))
	for _, id := range c.IDs {
		kept[hashed(string(id))] = true
	}
	return slices.DeleteFunc(slices.Clone(b.names), func(name StartName) bool {
		_, text, _ := strings.Cut(string(name), "-")
		of, at := text[:claimText], int64(name.Number()) //nolint:gosec // as in ReadClaims
		renewal := len(text) == claimText
		switch {
		case of != by:
			return now.Before(time.Unix(max(at, b.renewals[of]), 0).Add(claimLitter))
		case renewal:
			return at == b.renewals[by]
		case !b.Alive(by, now):
			return false
		}
		return !c.Whole || kept[text[claimText:]]
	})
}
