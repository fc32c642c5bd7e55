package sim

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"hale/internal/sim/world"
)

// town makes hosts in racks, rooms and zones.
func town(hosts, perRack, racksPerRoom int) []world.Host {
	var out []world.Host
	for i := range hosts {
		rack := i / perRack
		room := rack / racksPerRoom
		out = append(out, world.Host{
			Name: fmt.Sprintf("h%03d", i+1), Rack: "r" + strconv.Itoa(rack+1), Room: "m" + strconv.Itoa(room+1),
			Zone: "z" + strconv.Itoa(room%3+1), Network: "n" + strconv.Itoa(rack+1),
		})
	}
	return out
}

func BenchmarkTenDays(b *testing.B) {
	spec := web(1000)
	hosts := town(100, 10, 5)
	kinds := []Kind{KindMachine, KindStorm}
	for i := range b.N {
		f := Forecast{Seed: uint64(i + 1), Kinds: kinds, Horizon: 10 * 24 * time.Hour, MachineGap: 8 * 24 * time.Hour}
		plan := f.Draw(spec, hosts, 1)
		r, err := Run(Options{Spec: spec, Hosts: hosts, Seed: uint64(i + 1), Horizon: f.Horizon, Plan: plan, Operator: time.Hour, Calm: time.Hour})
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%+v", r.Score)
		for _, v := range r.Violations {
			b.Log(v)
		}
	}
}

func TestTry(t *testing.T) {
	kinds := os.Getenv("KINDS")
	if kinds == "" {
		kinds = "all"
	}
	ks, err := ParseKinds(kinds)
	if err != nil {
		t.Fatal(err)
	}
	size, _ := strconv.Atoi(os.Getenv("SIZE"))
	if size == 0 {
		size = 30
	}
	seed, _ := strconv.Atoi(os.Getenv("SEED"))
	n, _ := strconv.Atoi(os.Getenv("N"))
	servers, _ := strconv.Atoi(os.Getenv("SERVERS"))
	var total Score
	for i := range max(n, 1) {
		sd := uint64(seed + i)
		spec := web(size)
		hosts := town(max(2, size/10), 3, 2)
		f := Forecast{Seed: sd, Kinds: ks, Horizon: 10 * 24 * time.Hour, MachineGap: 5 * 24 * time.Hour}
		o := Options{Spec: spec, Hosts: hosts, Seed: sd, Horizon: f.Horizon, Plan: f.Draw(spec, hosts, servers), Operator: time.Hour, Servers: servers}
		if os.Getenv("TRACE") != "" {
			w, _ := os.Create(os.Getenv("TRACE"))
			o.Trace = w
		}
		r, err := Run(o)
		if err != nil {
			t.Fatal(err)
		}
		total.Add(r.Score)
		for _, v := range r.Violations {
			t.Log(sd, v)
		}
	}
	total.heals = nil
	t.Logf("%+v share %.4f", total, total.HealedShare())
}
