package app

import (
	"testing"

	"hale/internal/config"
	"hale/internal/fleet"
	"hale/internal/provider/libvirt"
	"hale/internal/state/memory"
)

// TestAnAddressThatWaitsLeavesHaleWhatItProvesItselfBy: over a restart with another address in the file, hale goes on
// where the provider was. The store has the address, and no keys: without those of the file it would not get in there.
func TestAnAddressThatWaitsLeavesHaleWhatItProvesItselfBy(t *testing.T) {
	t.Parallel()
	at := func(uri string) config.Provider {
		return config.Provider{Name: "rack", Type: config.ProviderLibvirt, Hosts: []config.Host{{Name: "h1", URI: uri}},
			Proof: &libvirt.Proof{SSH: libvirt.SSH{Key: "/etc/hale/ssh_key"}}}
	}
	old, edited := at("qemu+ssh://hale@h1/system"), at("qemu+ssh://hale@h1.example.org/system")
	store := memory.New(memory.Options{}).Open(nil)
	s := &site{how: staffing{store: store}}
	if err := s.noteConnections(t.Context(), []adapter{{config: old}}); err != nil {
		t.Fatal(err)
	}
	were, err := recallConnections(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	if kept := were[fleet.ProviderName("rack")]; kept.Proof != nil {
		t.Errorf("the store has %+v", kept.Proof)
	}
	now := were.inForce(edited)
	if now.Hosts[0].URI != old.Hosts[0].URI {
		t.Errorf("it is asked at %s without a person's word", now.Hosts[0].URI)
	}
	if now.Proof == nil || now.Proof.SSH.Key != edited.Proof.SSH.Key {
		t.Errorf("hale proves itself by %+v", now.Proof)
	}
}
