package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// StartName names one start of hale at a provider's: NUMBER-NONCE, with a nonce of lower-case letters and digits that
// no other start has.
type StartName string

// NameStart makes the name of a start.
func NameStart(number uint64, nonce string) StartName {
	return StartName(strconv.FormatUint(number, 10) + "-" + nonce)
}

// longestStart bounds the name of a start, in bytes.
const longestStart = 40

// ParseStart reads a name as NameStart made it.
func ParseStart(text string) (StartName, error) {
	number, nonce, _ := strings.Cut(text, "-")
	strange := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || n == 0 || nonce == "" || strings.ContainsFunc(nonce, strange) || len(text) > longestStart {
		return "", fmt.Errorf("%q is no start of hale, which is called NUMBER-NONCE", text)
	}
	return StartName(text), nil
}

// Number is how many starts the store knew then, this one included; 0: it is no name of a start.
func (n StartName) Number() uint64 {
	number, _, _ := strings.Cut(string(n), "-")
	count, _ := strconv.ParseUint(number, 10, 64)
	return count
}

// Compare orders names by their numbers.
func (n StartName) Compare(other StartName) int {
	return cmp.Or(cmp.Compare(n.Number(), other.Number()), strings.Compare(string(n), string(other)))
}

// NotedStart is a start of hale as it is noted at a provider's.
type NotedStart struct {
	Name StartName
	Host HostName // one that has it; empty where hosts have no notes of their own
}

// Roll is what the notes at a provider's say of the starts of hale. The zero value: nothing is wrong.
type Roll struct {
	// Unknown are the starts of this installation that the store does not know: it is older than the world, or a copy
	// of it is in use elsewhere.
	Unknown []NotedStart
	// Silent is why the notes cannot be read or written; empty: they can. Nothing is built or destroyed meanwhile.
	Silent string
	// Elsewhere are the adopted instances that another installation claimed before this one: they are its business.
	Elsewhere map[InstanceID]Claim
	// Claims says that the claims were read once at least.
	Claims bool
}

// Equal reports whether the two say the same.
func (r Roll) Equal(other Roll) bool {
	if r.Silent != other.Silent || r.Claims != other.Claims || len(r.Unknown) != len(other.Unknown) ||
		!maps.Equal(r.Elsewhere, other.Elsewhere) {
		return false
	}
	for i := range r.Unknown {
		if r.Unknown[i] != other.Unknown[i] {
			return false
		}
	}
	return true
}
