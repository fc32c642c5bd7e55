package notification

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bus is a broker in memory, for what needs no wire.
type bus struct {
	mu        sync.Mutex
	exchanges map[string]bool
	down      bool
	dials     []time.Time
	links     []*busLink
}

type busLink struct {
	bus  *bus
	out  chan delivery
	once sync.Once
	// bound are the exchanges that the queue is bound to, with the keys.
	bound  map[string][]string
	closed bool
	acked  int
}

var errDown = errors.New("connection refused")

func (b *bus) dial(context.Context) (link, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dials = append(b.dials, time.Now())
	if b.down {
		return nil, errDown
	}
	k := &busLink{bus: b, out: make(chan delivery), bound: map[string][]string{}}
	b.links = append(b.links, k)
	return k, nil
}

func (k *busLink) bind(exchange string, keys []string) error {
	k.bus.mu.Lock()
	defer k.bus.mu.Unlock()
	if !k.bus.exchanges[exchange] {
		return errNoExchange
	}
	k.bound[exchange] = keys
	return nil
}

func (k *busLink) deliveries() <-chan delivery { return k.out }
func (k *busLink) why() error                  { return errLost }
func (k *busLink) close()                      { k.closed = true }
func (k *busLink) lose()                       { k.once.Do(func() { close(k.out) }) }

func (k *busLink) publish(body string) {
	k.out <- delivery{body: []byte(body), done: func() { k.acked++ }}
}

func (b *bus) last() *busLink {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.links[len(b.links)-1]
}

func (b *bus) set(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

// hearing is a listener at work, with what it heard.
type hearing struct {
	*Listener
	mu   sync.Mutex
	list []Notice
}

func (h *hearing) heard() []Kind {
	h.mu.Lock()
	defer h.mu.Unlock()
	var kinds []Kind
	for _, n := range h.list {
		kinds = append(kinds, n.Kind)
	}
	h.list = nil
	return kinds
}

// listen lets a listener work on the bus until the bubble's test ends.
func listen(t *testing.T, b *bus, o Options) *hearing {
	t.Helper()
	o.Name, o.Brokers = "cloud", []Broker{{Host: "rabbit"}}
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l.dial = b.dial
	h := &hearing{Listener: l}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- l.Listen(ctx, func(n Notice) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.list = append(h.list, n)
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Listen returned %v", err)
		}
	})
	return h
}

func wantHeard(t *testing.T, h *hearing, want ...Kind) {
	t.Helper()
	synctest.Wait()
	if got := h.heard(); !slices.Equal(got, want) {
		t.Errorf("heard %v, want %v", got, want)
	}
}

func TestWhatWasMissedIsLookedForAfterEachReconnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{exchanges: map[string]bool{"nova": true}}
		h := listen(t, b, Options{})
		wantHeard(t, h, Everything)
		b.last().publish(legacy("compute.instance.power_off.end", `{"instance_id": "i-1"}`))
		wantHeard(t, h, Stopped)

		b.set(func() { b.down = true })
		first := b.last()
		first.lose()
		time.Sleep(30 * time.Second)
		wantHeard(t, h)
		if !first.closed {
			t.Error("the lost connection was not closed")
		}
		b.set(func() { b.down = false })
		time.Sleep(maxBackoff)
		wantHeard(t, h, Everything)
		b.last().publish(legacy("compute.instance.delete.end", `{"instance_id": "i-1"}`))
		wantHeard(t, h, Deleted)
	})
}

func TestABrokerThatIsAwayIsNotStormed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{down: true}
		listen(t, b, Options{})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := len(b.dials); n < 60 || n > 80 {
			t.Errorf("%d attempts in 10 minutes", n)
		}
		if first := b.dials[1].Sub(b.dials[0]); first != minBackoff {
			t.Errorf("the second attempt came after %s", first)
		}
	})
}

func TestABrokerThatThrowsUsOutAtOnceIsNotStormed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{exchanges: map[string]bool{"nova": true}}
		h := listen(t, b, Options{})
		for range 5 {
			synctest.Wait()
			b.last().lose()
			time.Sleep(minBackoff)
		}
		synctest.Wait()
		if n := len(b.dials); n != 6 {
			t.Errorf("%d attempts, want one for each connection that was bound", n)
		}
		if n := len(h.heard()); n != 6 {
			t.Errorf("%d times everything, want one for each connection", n)
		}
	})
}

func TestAnExchangeThatIsNotThereYetIsAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{exchanges: map[string]bool{}}
		h := listen(t, b, Options{})
		time.Sleep(time.Minute)
		wantHeard(t, h)
		b.set(func() { b.exchanges["nova"] = true })
		time.Sleep(maxBackoff)
		wantHeard(t, h, Everything)
		if n := len(b.dials); n != 1 {
			t.Errorf("%d connections, want one that stays", n)
		}
		want := []string{
			"notifications.info", "notifications.warn", "notifications.error",
			"versioned_notifications.info", "versioned_notifications.warn", "versioned_notifications.error",
		}
		if got := b.last().bound["nova"]; !slices.Equal(got, want) {
			t.Errorf("bound with %v", got)
		}
	})
}

func TestOneExchangeOfTwoIsHeardMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{exchanges: map[string]bool{"nova": true}}
		h := listen(t, b, Options{Exchanges: []string{"cell2", "nova"}})
		wantHeard(t, h, Everything)
		time.Sleep(time.Minute)
		b.last().publish(legacy("compute.instance.pause.end", `{"instance_id": "i-1"}`))
		wantHeard(t, h, Paused)
		b.set(func() { b.exchanges["cell2"] = true })
		time.Sleep(maxBackoff)
		wantHeard(t, h, Everything)
	})
}

func TestAnExchangeThatWasMadeAnewIsBoundAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{exchanges: map[string]bool{"nova": true}}
		h := listen(t, b, Options{})
		wantHeard(t, h, Everything)
		b.set(func() {
			b.exchanges["nova"] = false
			clear(b.links[0].bound)
		})
		time.Sleep(2 * maxBackoff)
		wantHeard(t, h)
		b.set(func() { b.exchanges["nova"] = true })
		time.Sleep(2 * maxBackoff)
		wantHeard(t, h, Everything)
		if b.last().bound["nova"] == nil {
			t.Error("it is not bound")
		}
	})
}

func TestRubbishStopsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{exchanges: map[string]bool{"nova": true}}
		h := listen(t, b, Options{})
		wantHeard(t, h, Everything)
		k := b.last()
		for i := range 1000 {
			k.publish("rubbish " + strconv.Itoa(i))
		}
		k.publish(legacy("compute.instance.exists", `{"instance_id": "i-1"}`))
		k.publish(string(make([]byte, maxBody+1)))
		k.publish(versionedBody("instance.delete.end", `{"uuid": "i-2"}`))
		wantHeard(t, h, Deleted)
		if got, want := h.Tally(), (Tally{Heard: 1, Other: 1, Broken: 1000, Huge: 1}); got != want {
			t.Errorf("tally %+v, want %+v", got, want)
		}
		if k.acked != 1003 {
			t.Errorf("%d of 1003 were taken off the queue", k.acked)
		}
	})
}
