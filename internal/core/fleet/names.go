package fleet

import (
	"fmt"
	"strconv"
	"strings"
)

// Name names a fleet, as "web". Each name and id here is obtained by parsing, or from a provider, and travels typed.
type Name string

// MachineName names a machine: its fleet and ordinal, as "web-2".
type MachineName string

// CheckName names a check within a fleet, as "page".
type CheckName string

// ProviderName names a provider in the configuration, as "lab".
type ProviderName string

// HostName names a hypervisor host of a provider; empty where there is only one.
type HostName string

// InstanceID is a provider's immutable id of one VM; a UUID under libvirt.
type InstanceID string

// Installation is one hale installation's random id, kept in its store.
type Installation string

// Generation numbers the instances of one machine, from 1 upwards; never reused.
type Generation uint64

// maxName keeps machine names within the 63 octets of a DNS label.
const maxName = 48

// ParseName accepts lower-case letters, digits and inner hyphens, starting with a letter, at most 48 long:
// a fleet's, provider's or check's name becomes part of host names and store keys.
func ParseName(s string) (string, error) {
	if s == "" {
		return "", fmt.Errorf("a name must not be empty")
	}
	if len(s) > maxName {
		return "", fmt.Errorf("%q is %d characters long; at most %d are allowed", s, len(s), maxName)
	}
	for i, r := range s {
		letter, digit := r >= 'a' && r <= 'z', r >= '0' && r <= '9'
		switch {
		case letter, digit && i > 0, r == '-' && i > 0 && i < len(s)-1:
		default:
			return "", fmt.Errorf("%q: use lower-case letters, digits and inner hyphens, starting with a letter", s)
		}
	}
	return s, nil
}

// Machine returns the name of the fleet's machine with the ordinal (from 1).
func (n Name) Machine(ordinal int) MachineName {
	return MachineName(string(n) + "-" + strconv.Itoa(ordinal))
}

// Ordinal returns the machine's number within its fleet, and whether the name is well formed.
func (m MachineName) Ordinal() (int, bool) {
	n, unit := 0, 1
	for i := len(m) - 1; i > 0; i-- {
		switch d := m[i]; {
		case d == '-':
			return n, n > 0
		case d < '0' || d > '9' || unit > maxOrdinal:
			return 0, false
		default:
			n += int(d-'0') * unit
			unit *= 10
		}
	}
	return 0, false
}

// maxOrdinal keeps an ordinal within any int: it has as many digits as this, at most.
const maxOrdinal = 1e9

// Fleet returns the fleet that the machine belongs to; empty for a malformed name.
func (m MachineName) Fleet() Name {
	if _, ok := m.Ordinal(); !ok {
		return ""
	}
	return Name(m[:strings.LastIndexByte(string(m), '-')])
}

// MetricName names a metric of a fleet, as "requests".
type MetricName string

// OpinionName names an opinion on a fleet's size, as "busy".
type OpinionName string
