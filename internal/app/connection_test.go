package app

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/core/fleet"
	"hale/internal/kinds"
	"hale/internal/provider/libvirt"
	"hale/internal/state/memory"
)

// TestAnAddressThatWaitsLeavesHaleWhatItProvesItselfBy: over a restart with another address in the file, hale goes on
// where the provider was. The store has the address, and no keys: without those of the file it would not get in there.
func TestAnAddressThatWaitsLeavesHaleWhatItProvesItselfBy(t *testing.T) {
	t.Parallel()
	at := func(uri string) config.Provider {
		return config.Provider{Name: "rack", Type: "libvirt", Hosts: []kinds.Host{{Name: "h1", URI: uri}},
			Settings: libvirt.Settings{Proof: &libvirt.Proof{SSH: libvirt.SSH{Key: "/etc/hale/ssh_key"}}}}
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
	if kept := proofOf(were[fleet.ProviderName("rack")]); kept != nil {
		t.Errorf("the store has %+v", kept)
	}
	now := were.inForce(edited)
	if now.Hosts[0].URI != old.Hosts[0].URI {
		t.Errorf("it is asked at %s without a person's word", now.Hosts[0].URI)
	}
	if proof := proofOf(now); proof == nil || proof.SSH.Key != "/etc/hale/ssh_key" {
		t.Errorf("hale proves itself by %+v", proof)
	}
}

func proofOf(p config.Provider) *libvirt.Proof {
	s, _ := p.Settings.(libvirt.Settings)
	return s.Proof
}

// TestWhatOlderHalesStoredOfProvidersIsStillRead: testdata has what hale stored of each type when the settings of all
// lay in one structure. It comes to what the same file comes to now, and what is stored now comes to it, too.
func TestWhatOlderHalesStoredOfProvidersIsStillRead(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/providers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse("/etc/hale/hale.yaml", text, adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/providers.stored.json")
	if err != nil {
		t.Fatal(err)
	}
	var old []json.RawMessage
	if err := json.Unmarshal(data, &old); err != nil || len(old) != len(c.Providers) {
		t.Fatalf("%d are stored, %d in the file: %v", len(old), len(c.Providers), err)
	}
	for i, p := range c.Providers {
		now, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		for when, stored := range map[string][]byte{"before": old[i], "now": now} {
			was, err := config.Stored(stored, adapters.All())
			if err != nil {
				t.Fatal(err)
			}
			if !p.SameAddress(was) {
				t.Errorf("%s, as it was stored %s, has another address", p.Name, when)
			}
			if is := completed(was, p); !reflect.DeepEqual(is, p) {
				t.Errorf("%s, as it was stored %s: %+v, want %+v", p.Name, when, is, p)
			}
		}
	}
}
