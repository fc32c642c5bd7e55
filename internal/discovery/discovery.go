// Package discovery says to other programs which machines there are, in their own forms: Prometheus's service
// discovery, plain JSON, and zones of the DNS.
//
// It promises that what hale does not see well changes nothing: unknown is not dead, so only a machine that surely does
// not serve is missing from a list of those that do. It writes no file, and knows nothing of who asks.
package discovery

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/owner/published"
)

// Machine is one that can be found.
type Machine struct {
	Machine  fleet.MachineName  `json:"machine"`
	Fleet    fleet.Name         `json:"fleet"`
	Address  netip.Addr         `json:"address"`
	Health   belief.Verdict     `json:"health"`
	Serves   bool               `json:"serves"`
	Provider fleet.ProviderName `json:"provider"`
	Host     fleet.HostName     `json:"host,omitempty"`
	Instance fleet.InstanceID   `json:"instance"`
}

// Choice is which machines are meant.
type Choice struct {
	Fleets []fleet.Name // nil: all
	// Serving leaves out those that surely do not serve.
	Serving bool
	// Sure wants no list at all while hale does not see one of the fleets well.
	Sure bool
}

// List returns the machines with an address, in the order of their names; false: this server cannot say, since it does
// not look after one of the fleets, or does not yet.
func List(fleets []published.Fleet, c Choice) ([]Machine, bool) {
	out, found := []Machine{}, 0
	for i := range fleets {
		f := &fleets[i]
		if c.Fleets != nil && !slices.Contains(c.Fleets, f.Spec.Name) {
			continue
		}
		found++
		if f.Lease <= 0 || f.Blind() && (c.Sure || len(f.Machines) == 0) {
			return nil, false
		}
		for k := range f.Machines {
			m := &f.Machines[k].Machine
			serves := served(f, m)
			if !m.Address.IsValid() || m.Current.None() || c.Serving && !serves {
				continue
			}
			out = append(out, Machine{Machine: m.Name, Fleet: f.Spec.Name, Address: m.Address, Health: m.Health.Verdict,
				Serves: serves, Provider: f.Spec.Provider, Host: m.Current.Host, Instance: m.Current.ID})
		}
	}
	if found == 0 || found < len(c.Fleets) {
		return nil, false
	}
	slices.SortFunc(out, func(a, b Machine) int {
		x, _ := a.Machine.Ordinal()
		y, _ := b.Machine.Ordinal()
		return cmp.Or(cmp.Compare(a.Fleet, b.Fleet), cmp.Compare(x, y), cmp.Compare(a.Machine, b.Machine))
	})
	return out, true
}

// served reports whether the machine serves, or did and nothing is known against it.
func served(f *published.Fleet, m *belief.Machine) bool {
	switch f.Service(m).Word {
	case published.ServesYes:
		return true
	case published.ServesAsItDid:
		return m.Current.Certified && !f.Whole.Ledger.IsSpare(m.Name)
	case published.ServesNo, published.ServesEnds:
	}
	return false
}

// Group is one of Prometheus's groups of targets.
type Group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// Prometheus returns the machines as targets at the port, each with what is known of it as labels __meta_hale_….
func Prometheus(all []Machine, port uint16) []Group {
	out := []Group{}
	for _, m := range all {
		out = append(out, Group{
			Targets: []string{netip.AddrPortFrom(m.Address, port).String()},
			Labels: map[string]string{
				"__meta_hale_machine": string(m.Machine), "__meta_hale_fleet": string(m.Fleet),
				"__meta_hale_health": string(m.Health), "__meta_hale_serves": strconv.FormatBool(m.Serves),
				"__meta_hale_provider": string(m.Provider), "__meta_hale_host": string(m.Host),
				"__meta_hale_instance": string(m.Instance),
			},
		})
	}
	return out
}

// JSON writes a value as a file has it.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// Zone is a zone of the DNS.
type Zone struct {
	// Origin, Server and Mail are full names that end in a dot: of the zone, its name server, and who looks after it.
	Origin, Server, Mail string
	TTL                  time.Duration
}

// serialOf finds the serial in a zone that Write wrote.
var serialOf = regexp.MustCompile(`(?m)^\s+([0-9]+) ; serial$`)

// Write returns the zone of the machines: each under its own name, and all of a fleet under the fleet's. The serial is
// that of the zone before as long as nothing else differs, and else a greater one: by the time, where that is greater.
func (z Zone) Write(all []Machine, before []byte, now time.Time) []byte {
	var last uint64
	if found := serialOf.FindSubmatch(before); found != nil {
		last, _ = strconv.ParseUint(string(found[1]), 10, 32)
		if same := z.write(all, last); bytes.Equal(same, before) {
			return same
		}
	}
	return z.write(all, max(last+1, uint64(max(0, now.Unix())))&(1<<32-1))
}

func (z Zone) write(all []Machine, serial uint64) []byte {
	var b bytes.Buffer
	ttl := int(z.TTL / time.Second)
	fmt.Fprintf(&b, "; written by hale: what is changed here is written over\n$ORIGIN %s\n$TTL %d\n", z.Origin, ttl)
	fmt.Fprintf(&b, "@ IN SOA %s %s (\n\t%d ; serial\n\t3600 600 604800 %d )\n@ IN NS %s\n", z.Server, z.Mail, serial,
		ttl,
		z.Server)
	var fleets strings.Builder
	for _, m := range all {
		kind := "AAAA"
		if m.Address.Unmap().Is4() {
			kind = "A"
		}
		fmt.Fprintf(&b, "%s IN %s %s\n", m.Machine, kind, m.Address.Unmap().WithZone(""))
		fmt.Fprintf(&fleets, "%s IN %s %s\n", m.Fleet, kind, m.Address.Unmap().WithZone(""))
	}
	b.WriteString(fleets.String())
	return b.Bytes()
}
