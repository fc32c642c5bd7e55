package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/powercut"
)

// TestS16PowerIsCut cuts the power of hale's only server, again and again, at random: while its store opens, while
// people give orders, and while machines are repaired. The disk loses what was not synced, or tears it. Whatever hale
// acknowledged is there afterwards, and in the end each machine is there once and healthy.
//
// HALE_POWER is how often (make test-power). Where no such disk can be mounted, the short form kills hale in place of
// the power, and make test-power fails.
func TestS16PowerIsCut(t *testing.T) {
	t.Parallel()
	times, must := powerTimes(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	p := &powered{ending: &ending{T: t, fleets: 1}, lost: map[string]int{}, tokens: map[string]bool{}}
	p.dice = rand.New(rand.NewPCG(seed, 0))
	page := p.listen()
	p.begin(page)
	p.configure(page)
	p.feel("well")
	p.data = p.path("data")
	if p.disk = mountDisk(t, must); p.disk != nil {
		p.data = filepath.Join(p.disk.Dir, "data")
	}
	for i := range times {
		p.start("--data-dir", p.data)
		if i == times/5 { // the ones before meet a store that begins, and machines that are built
			p.await("the fleet is there", allHealthy(p.ending))
			p.built = true
		}
		if p.dice.IntN(4) > 0 { // else it is cut off while it starts
			p.await("hale is up again", func(s api.Status) bool { return s.Fleets[0].Acting })
			p.wantAcknowledged()
			if must {
				p.fail()
			}
		}
		p.cutWhileOrdering()
	}
	p.start("--data-dir", p.data)
	p.await("all is well", allHealthy(p.ending))
	p.wantAcknowledged()
	p.wantEachOnce()
	p.end(lenient)
	t.Logf("%d cuts (%v): %d orders, %d holds by name and %d tokens were acknowledged, and are there", times, p.lost,
		p.ordered, p.named, len(p.tokens))
	if p.ordered+p.named+len(p.tokens) == 0 {
		t.Error("nothing was acknowledged")
	}
}

// configure has hale see and repair fast, and as often as need be.
func (p *powered) configure(page int) {
	is, err := os.ReadFile(p.path("hale.yaml"))
	p.must(err)
	check := fmt.Sprintf("{port: %d}", page)
	p.write(p.path("hale.yaml"), strings.Replace(string(is), check+"}}", check+", every: 500ms, timeout: 400ms}}, "+
		"repair: {steps: [start: {}, recreate: {}], attempts: 100 in 1h, backoff: 0s}", 1))
}

// powerTimes is how often the power is cut, and whether that must be possible.
func powerTimes(t *testing.T) (times int, must bool) {
	t.Helper()
	said := os.Getenv("HALE_POWER")
	if said == "" {
		return 3, false
	}
	times, err := strconv.Atoi(said)
	if err != nil {
		t.Fatalf("HALE_POWER=%s: %v; write how often", said, err)
	}
	return times, true
}

// mountDisk returns a disk whose power can be cut; nil: there is none, and there need not be.
func mountDisk(t *testing.T, must bool) *powercut.Mounted {
	t.Helper()
	disk, err := powercut.Mount(t)
	switch {
	case err == nil:
		return disk
	case must || !errors.Is(err, powercut.ErrNot):
		t.Fatal(err)
	}
	t.Logf("%v: processes are killed in place of the power", err)
	return nil
}

// powered is hale on a machine whose power is cut, and what it acknowledged.
type powered struct {
	*ending
	disk  *powercut.Mounted
	data  string
	built bool
	ask   func() *ending // the active one of several servers; nil: there is one
	lost  map[string]int // how often what the disk lost

	mu      sync.Mutex
	given   int             // orders, holds and tokens so far
	ordered int             // orders that were acknowledged and found again
	orders  []string        // the ids of those since then
	named   int             // how often the hold by name was placed
	last    int             // the youngest one that was acknowledged
	tokens  map[string]bool // by name
}

// fail turns a machine off that no hold protects, so that there is a repair to be cut in the middle of.
func (p *powered) fail() {
	if p.dice.IntN(2) == 0 {
		p.turnOff()
	}
}

// cutWhileOrdering cuts the power at a random moment while people give orders, and brings it back.
func (p *powered) cutWhileOrdering() {
	p.Helper()
	client := api.Dial(p.path("sock"))
	defer client.Close()
	client.Alone()
	stop := p.people(client)
	pause(p.Context(), time.Duration(p.dice.Int64N(int64(1500*time.Millisecond))))
	loss := powercut.Loss(p.dice.IntN(3))
	p.lost[loss.String()]++
	if p.disk != nil {
		p.disk.Cut(loss, p.dice)
	}
	p.must(p.hale.Process.Kill())
	if p.disk != nil {
		p.must(p.disk.Restore())
	}
	<-p.ended
	stop()
}

// people give orders, and make tokens, until they are told to stop.
func (p *powered) people(client *api.Client) (stop func()) {
	ctx, cancel := context.WithCancel(p.Context())
	var people sync.WaitGroup
	give := []func(context.Context, *api.Client, int) error{p.token}
	if p.built { // a machine that is held is not built
		give = append(give, p.order, p.hold)
	}
	for _, give := range give {
		people.Go(func() {
			for ctx.Err() == nil {
				p.mu.Lock()
				p.given++
				n := p.given
				p.mu.Unlock()
				if err := give(ctx, client, n); err != nil {
					pause(ctx, 10*time.Millisecond)
				}
			}
		})
	}
	return func() {
		cancel()
		people.Wait()
	}
}

// acknowledged is how much was.
func (p *powered) acknowledged() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ordered + len(p.orders) + p.named + len(p.tokens)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// order places a hold.
func (p *powered) order(ctx context.Context, c *api.Client, n int) error {
	out, err := c.Order(ctx, api.OrderRequest{Kind: "hold", Subjects: []string{"f0-3"}, Reason: strconv.Itoa(n),
		For: api.Duration(time.Hour)})
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range out.Orders {
		p.orders = append(p.orders, o.ID)
	}
	return err
}

// hold places a hold that has a name, in place of the one before.
func (p *powered) hold(ctx context.Context, c *api.Client, n int) error {
	wish := api.HoldWish{Subject: "f0-3", Reason: strconv.Itoa(n), For: "1h"}
	_, err := c.PutHold(ctx, "power", wish, api.HoldChange{})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.named, p.last = p.named+1, n
	}
	return err
}

// token makes a token.
func (p *powered) token(ctx context.Context, c *api.Client, n int) error {
	pause(ctx, 100*time.Millisecond) // there may be a thousand, and 50 of one person
	name := fmt.Sprintf("power-%d", n)
	_, err := c.MakeToken(ctx, api.TokenRequest{Name: name, Person: strconv.Itoa(p.hale.Process.Pid),
		Role: "viewer", For: api.Duration(time.Hour)})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.tokens[name] = true
	}
	return err
}

// wantAcknowledged wants all that was acknowledged to be there.
func (p *powered) wantAcknowledged() {
	p.Helper()
	var given api.Given
	var all api.Tokens
	var is api.NamedHold
	p.until("it says what there is", func() (ok bool) { // the active server may be another one any moment
		if p.ask != nil {
			p.ending = p.ask()
		}
		var errs [3]error
		given, errs[0] = p.client.Given(p.Context(), api.GivenQuery{})
		all, errs[1] = p.client.Tokens(p.Context())
		if p.named > 0 {
			is, errs[2] = p.client.Hold(p.Context(), "power")
		}
		return errors.Join(errs[:]...) == nil
	})
	known := map[string]bool{}
	for _, g := range given.Orders {
		known[g.ID] = true
	}
	for _, id := range p.orders {
		if !known[id] {
			p.Errorf("order %s was acknowledged, and is not there", id)
		}
	}
	p.ordered, p.orders = p.ordered+len(p.orders), nil // the journal forgets the oldest some time
	if p.named > 0 {
		if n, err := strconv.Atoi(is.Reason); err != nil || n < p.last {
			p.Errorf("the hold by name is number %s, and number %d was acknowledged", is.Reason, p.last)
		}
	}
	for name := range p.tokens {
		if !slices.ContainsFunc(all.Tokens, func(t api.Token) bool { return t.Name == name }) {
			p.Errorf("token %s was acknowledged, and is not there", name)
		}
	}
	if p.Failed() {
		log, err := os.ReadFile(p.path("log"))
		p.must(err)
		p.Fatalf("hale said:\n%s", log[max(0, len(log)-20_000):])
	}
}

// TestS16MembersLosePower cuts the power of one of three etcd members, or of all of them, while people give orders to
// hale, whose state is there. Whatever hale acknowledged is there afterwards. HALE_POWER is how often (make
// test-power); the short form does so twice.
func TestS16MembersLosePower(t *testing.T) {
	t.Parallel()
	times, must := powerTimes(t)
	if !must {
		times = 2
	}
	s := newStorm(t)
	s.short, s.machines = !must, 3
	s.build()
	p := &powered{ending: s.active(), built: true, tokens: map[string]bool{}, ask: s.active}
	for i := range times {
		before, lose := p.acknowledged(), []int{s.someMember()}
		if i%2 == 0 {
			lose = []int{0, 1, 2}
		}
		stop := p.people(p.client)
		p.until("people are answered", func() bool { return p.acknowledged() > before })
		pause(p.Context(), time.Duration(s.dice.Int64N(int64(time.Second))))
		if s.disks == nil {
			s.killMember(p.Context())
		} else {
			s.powerOff(p.Context(), lose...)
		}
		stop()
		p.ending = s.active()
		p.wantAcknowledged()
	}
	t.Logf("%d times: %d orders, %d holds by name and %d tokens were acknowledged, and are there", times, p.ordered,
		p.named, len(p.tokens))
}

// active is the server that looks after the fleets, once one does.
func (s *storm) active() *ending {
	s.Helper()
	s.await("a server is active", patience)
	offices := (&wrecker{together: s.together, names: s.names, first: s.first}).offices()
	return s.all[offices[len(offices)-1].server]
}
