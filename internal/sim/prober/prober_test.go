package prober

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/policy"
	"hale/internal/owner/picture"
	"hale/internal/probe"
	"hale/internal/sim/guest"
	"hale/internal/sim/world"
)

// The prober counts most probes instead of playing them. A dumb twin that plays every single one must report the same.
func TestProbesThatAreCountedEqualProbesThatArePlayed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.IntRange(2, 20).Draw(t, "every")) * time.Second
		check := policy.Check{
			Name: "page", Kind: policy.CheckHTTP, Every: every, Timeout: time.Second,
			DownAfter: rapid.IntRange(1, 5).Draw(t, "down"), UpAfter: rapid.IntRange(1, 4).Draw(t, "up"),
			DownIn: rapid.SampledFrom([]int{0, 3, 6}).Draw(t, "down in"),
			UpIn:   rapid.SampledFrom([]int{0, 3}).Draw(t, "up in"),
			HTTP: policy.HTTPCheck{
				Body: rapid.SampledFrom([]string{"", "passing"}).Draw(t, "body"),
				NoConnection: rapid.SampledFrom([]policy.NoConnection{"", policy.NoConnectionIgnore}).Draw(t,
					"no connection"),
			},
		}
		w := world.New(world.Options{})
		vm := w.Plant(world.Status{ID: "a", Name: "web-1", Mark: world.Mark{Machine: "web-1"}})
		var got, want []string
		spec := policy.Spec{Checks: []policy.Check{check}}
		note := func(into *[]string) func(int, Row) {
			return func(_ int, r Row) { *into = append(*into, fmt.Sprint(w.Now(), r.Tally.Standing, r.Tally.Reason)) }
		}
		p := New(w, "hale", spec, 1, note(&got))
		w.Watch = watcher{address: p}
		p.Aim(0, picture.Aim{Instance: "a", Address: vm.Address, Epoch: 1})
		twin := dumb{p: New(w, "hale", spec, 1, note(&want)), w: w}
		twin.start(vm)
		end := w.Now()
		for range rapid.IntRange(0, 12).Draw(t, "changes") {
			end += time.Duration(rapid.IntRange(1, 90_000).Draw(t, "after"))*time.Millisecond + 1
			ill := rapid.SampledFrom([]guest.Symptom{guest.Hung, guest.AppDead, guest.AppError, guest.BadPage,
				""}).Draw(t, "ill")
			w.At(end, func() {
				w.Watch = watcher{address: p}
				vm = w.VM("a")
				for _, lift := range twin.lifts {
					lift()
				}
				twin.lifts = nil
				if ill != "" {
					twin.lifts = append(twin.lifts, w.Sicken(vm, guest.Ailment{Symptom: ill}))
				}
			})
		}
		end += 10 * every
		for next, ok := w.Next(); ok && next <= end; next, ok = w.Next() {
			w.Step()
		}
		if !slices.Equal(got, want) {
			t.Fatalf("counted %v\nplayed  %v", got, want)
		}
	})
}

// watcher tells a prober which addresses changed.
type watcher struct {
	world.Deaf
	address *Prober
}

// dumb plays every probe.
type dumb struct {
	p     *Prober
	w     *world.World
	lifts []func()
}

func (d *dumb) start(vm *world.VM) {
	r := d.p.rows[0][0]
	r.Epoch, r.lastAddress, r.next = 1, vm.Address, d.w.Now()
	d.play(r)
}

// play counts every result by itself; package probe has a twin for how that is done.
func (d *dumb) play(r *Row) {
	at := r.next
	d.w.At(at, func() {
		answer, _ := d.p.hear(r.Check, r.whom)
		before := r.Tally
		r.Tally = before.Add(probe.Result{Reason: resultOf(r.Check, answer), At: at + delay(r.Check, answer)}, r.Check)
		if r.Tally.Differs(before) {
			d.p.tell(r, delay(r.Check, answer))
		}
		r.next = d.p.slot(r, at+r.Check.Every)
		d.play(r)
	})
}

func (w watcher) Address(a netip.Addr) { w.address.Changed(a) }
