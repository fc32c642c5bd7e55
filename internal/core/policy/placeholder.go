package policy

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hale/internal/core/fleet"
)

// Facts are what placeholders stand for in an exec check and in the command of a run step.
type Facts struct {
	Machine  fleet.MachineName
	Instance fleet.InstanceID
	Host     fleet.HostName // empty: not known
	Address  netip.Addr     // invalid: not known
	Metadata fleet.Metadata
}

// What a placeholder for metadata looks like: {meta.KEY}.
const (
	metaOpens  = "{meta."
	metaCloses = "}"
)

// Placeholders lists what is replaced: the machine's address, its name, its instance's id at the provider, the host
// that this is on, its fleet's name, its number in the fleet, and beside these {meta.KEY}, the instance's metadata
// under the key.
func Placeholders() []string {
	return []string{"{ip}", "{name}", "{id}", "{host}", "{fleet}", "{number}"}
}

// MetaPlaceholder is that for the metadata under the key.
func MetaPlaceholder(key string) string { return metaOpens + key + metaCloses }

// MetaKeys returns the keys of metadata that the texts have placeholders for, sorted, each once.
func MetaKeys(texts ...string) []string {
	var keys []string
	for _, text := range texts {
		for _, after := range strings.Split(text, metaOpens)[1:] {
			if key, _, closed := strings.Cut(after, metaCloses); closed && fleet.MetadataKey(key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Filler replaces all that is known, in one pass: what comes out of one is not looked at again. See Unknown for the
// rest.
func (f Facts) Filler() *strings.Replacer { return strings.NewReplacer(f.pairs()...) }

// pairs are the placeholders, each with what it stands for after it.
func (f Facts) pairs() []string {
	number, ip := "", ""
	if n, ok := f.Machine.Ordinal(); ok {
		number = strconv.Itoa(n)
	}
	if f.Address.IsValid() {
		ip = f.Address.String()
	}
	pairs := []string{"{ip}", ip, "{name}", string(f.Machine), "{id}", string(f.Instance), "{host}", string(f.Host),
		"{fleet}", string(f.Machine.Fleet()), "{number}", number}
	for key, value := range f.Metadata.All() {
		pairs = append(pairs, MetaPlaceholder(key), value)
	}
	return pairs
}

// Unfit returns a placeholder that must not be filled in here, since a program would mistake its value; empty: there
// is none. Providers and guests say what the values are, so one that begins with "-" where an argument begins would be
// an option of theirs, and none may have a control character.
func (f Facts) Unfit(args []string, env []Variable) string {
	pairs := f.pairs()
	for _, text := range texts(args, env) {
		for i := 0; i < len(pairs); i += 2 {
			if strings.ContainsFunc(pairs[i+1], unicode.IsControl) && strings.Contains(text, pairs[i]) {
				return pairs[i]
			}
		}
	}
	for _, arg := range args {
		if p := begins(arg, pairs); p != "" {
			return p
		}
	}
	return ""
}

// begins returns the placeholder that makes the argument begin with "-"; empty: none does.
func begins(arg string, pairs []string) string {
	for {
		i := 0
		for i < len(pairs) && !strings.HasPrefix(arg, pairs[i]) {
			i += 2
		}
		switch {
		case i >= len(pairs):
			return ""
		case strings.HasPrefix(pairs[i+1], "-"):
			return pairs[i]
		case pairs[i+1] != "":
			return ""
		}
		// It stands for nothing, and what follows begins the argument.
		if arg = strings.TrimPrefix(arg, pairs[i]); strings.HasPrefix(arg, "-") {
			return pairs[i]
		}
	}
}

// Unknown returns a placeholder of the texts without a known value; empty: they can be filled in. Where it is the
// address, that is for the caller to say: see Target.Aimed in package probe, and ReasonNoAddress.
func (f Facts) Unknown(texts ...string) string {
	if f.Host == "" && mention(texts, "{host}") {
		return "{host}"
	}
	for _, key := range MetaKeys(texts...) {
		if _, known := f.Metadata.Value(key); !known {
			return MetaPlaceholder(key)
		}
	}
	return ""
}
