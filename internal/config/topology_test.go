package config

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/kinds"
)

func TestHostsSayWhereTheyStand(t *testing.T) {
	t.Parallel()
	c := sound(t, `
providers:
  lab:
    type: libvirt
    hosts:
      - {name: h2, uri: qemu+tls://h2/system, rack: R 12, room: cellar, zone: "2", storage: nas1}
      - {name: h1, uri: qemu+tls://h1/system}
  play:
    type: simulated
    hosts: [{name: h1, rack: r1}]
`)
	want := []kinds.Host{
		{Name: "h1", URI: "qemu+tls://h1/system"},
		{Name: "h2", URI: "qemu+tls://h2/system", Place: fleet.Place{Rack: "R 12", Room: "cellar", Zone: "2",
			Storage: "nas1"}},
	}
	if got := c.Providers[0].Hosts; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := c.Providers[1].Hosts; !reflect.DeepEqual(got, []kinds.Host{{Name: "h1",
		Place: fleet.Place{Rack: "r1"}}}) {
		t.Errorf("simulated: %+v", got)
	}
}

func TestTheVantageIsWatchedWhereAskedFor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Vantage{
		"fleets: {}":               {},
		"vantage: {gateway: true}": {Gateway: true, Every: time.Second, Timeout: 500 * time.Millisecond},
		"vantage: {canaries: [\"10.0.0.1\", \"fd00::1\"], every: 5s, timeout: 2s}": {
			Canaries: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")},
			Every:    5 * time.Second, Timeout: 2 * time.Second},
	} {
		got := sound(t, text).Vantage
		if !slices.Equal(got.Canaries, want.Canaries) || got.Gateway != want.Gateway || got.Every != want.Every ||
			got.Timeout != want.Timeout ||
			got.Watched() != (text != "fleets: {}") {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestWhatFollowsFromASharedFate(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]policy.SharedFate{
		"template: {kernel: k, initrd: i}":                                                               {Then: policy.FatePage, AtLeast: 3, Wait: 10 * time.Minute},
		"{template: {kernel: k, initrd: i}, shared_fate: {then: wait, wait: 1h}}":                        {Then: policy.FateWait, AtLeast: 3, Wait: time.Hour},
		"{template: {kernel: k, initrd: i}, shared_fate: {then: evacuate, at_least: 5}}":                 {Then: policy.FateEvacuate, AtLeast: 5, Wait: 10 * time.Minute},
		"{template: {kernel: k, initrd: i}, repair: {steps: [recreate]}, shared_fate: {then: evacuate}}": {Then: policy.FateEvacuate, AtLeast: 3, Wait: 10 * time.Minute},
	} {
		if line[0] == '{' {
			line = line[1 : len(line)-1]
		}
		text := "providers: {lab: {type: libvirt, uri: qemu:///system}}\nfleets: {web: {provider: lab, size: 3, " +
			line + "}}\n"
		if got := sound(t, text).Fleets[0].SharedFate; got != want {
			t.Errorf("%s: %+v, want %+v", line, got, want)
		}
	}
}
