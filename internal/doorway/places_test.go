package doorway

import (
	"net/netip"
	"testing"
	"time"
)

// TestStrangersLeavePlaces: strangers from ever so many addresses leave half of the places; who showed a token is let in,
// for an hour.
func TestStrangersLeavePlaces(t *testing.T) {
	t.Parallel()
	const maxStrangers, maxConnections, perStranger, knownFor = 4096, 8192, 32, time.Hour
	c := New(Limits{All: maxConnections, Strangers: maxStrangers, PerStranger: perStranger, PerKnown: 4096, KnownFor: knownFor})
	now := time.Now()
	enter := func(address string, at time.Time) (func(), bool) { return c.enter(From(address), at) }
	in := 0
	var leaves []func()
	for i := range 2 * maxConnections {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 99).String()
		if leave, ok := enter(from, now); ok {
			in++
			leaves = append(leaves, leave)
		}
	}
	if in != maxStrangers {
		t.Errorf("%d strangers are in, want %d", in, maxStrangers)
	}
	const machine = "192.0.2.7:1"
	if _, ok := enter(machine, now); ok {
		t.Error("one stranger more is in")
	}
	c.Vouch(From(machine), now)
	if _, ok := enter(machine, now.Add(knownFor)); !ok {
		t.Error("a machine is not let in")
	}
	if _, ok := enter(machine, now.Add(knownFor+1)); ok {
		t.Error("a token counts for ever")
	}
	for _, leave := range leaves {
		leave()
		leave() // a connection may be closed twice
	}
	if c.strangers != 0 || c.total != 1 || len(c.open) != 1 {
		t.Errorf("%d strangers, %d in all, %d addresses are left", c.strangers, c.total, len(c.open))
	}
	in = 0
	for i := range 100 { // all of one network
		from := netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(i)}), 99).String()
		if _, ok := enter(from, now); ok {
			in++
		}
	}
	if in != perStranger {
		t.Errorf("%d of one network are in, want %d", in, perStranger)
	}
}
