package fleet

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Facts are what placeholders stand for in an exec check and in the command of a run step.
type Facts struct {
	Machine  MachineName
	Instance InstanceID
	Host     HostName   // empty: not known
	Address  netip.Addr // invalid: not known
	Metadata Metadata
}

// What a placeholder for metadata looks like: {meta.KEY}.
const (
	metaOpens  = "{meta."
	metaCloses = "}"
)

// Placeholders lists what is replaced: the machine's address, its name, its instance's id at the provider, the host that this is on, its fleet's name, its
// number in the fleet, and beside these {meta.KEY}, the instance's metadata under the key.
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
			if key, _, closed := strings.Cut(after, metaCloses); closed && MetadataKey(key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Filler replaces all that is known, in one pass: what comes out of one is not looked at again. See Unknown for the rest.
func (f Facts) Filler() *strings.Replacer {
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
	return strings.NewReplacer(pairs...)
}

// Unknown returns a placeholder of the texts that nobody knows what to put in place of; empty: they can be filled in. Where it is the
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
