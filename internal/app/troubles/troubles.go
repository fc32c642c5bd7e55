// Package troubles finds what hale lacks on its own server, and a person can give it: the right to ping, secrets, the
// port of heartbeats, and what its parts say that they lack.
//
// It promises that each lack is logged once, and its end. It mends nothing.
package troubles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hale/api"
	"hale/internal/app/eyes"
	"hale/internal/app/lists"
	"hale/internal/app/pools"
	"hale/internal/app/porter"
	"hale/internal/app/streams"
	"hale/internal/config"
	"hale/internal/core/policy"
	"hale/internal/kinds"
	"hale/internal/notify"
	"hale/internal/probe/heartbeat"
	"hale/internal/probe/netprobe"
	"hale/internal/probe/satellite"
	"hale/internal/provider/simulated"
)

// troubleEvery is how often is looked whether hale has what it lacked.
const troubleEvery = 10 * time.Second

// troubleWithin is how long one look may take.
const troubleWithin = 5 * time.Second

// Parts are asked what they lack.
type Parts struct {
	Receiver *heartbeat.Receiver
	Porter   *porter.Porter
	Streams  *streams.Streams
	Pools    *pools.Pools
	Lists    *lists.Lists
	// Satellites is where satellites report.
	Satellites *satellite.Hub
	// Eyes is where servers that stand by report; nil: there are none.
	Eyes *eyes.Reception
}

// Troubles is what hale lacks. It is safe for concurrent use.
type Troubles struct {
	log   *slog.Logger
	parts Parts
	again chan struct{}
	begun time.Time

	mu     sync.Mutex
	config *config.Config
	known  []api.Trouble // of secrets and pings
}

// New looks for what the configuration needs, once Run works, or Look is called.
func New(c *config.Config, log *slog.Logger) *Troubles {
	return &Troubles{log: log, config: c, again: make(chan struct{}, 1), begun: time.Now().UTC()}
}

// Ask has the parts asked, too. It comes before All.
func (t *Troubles) Ask(p Parts) { t.parts = p }

// Take looks for what another configuration needs.
func (t *Troubles) Take(c *config.Config) {
	t.mu.Lock()
	t.config = c
	t.mu.Unlock()
	select {
	case t.again <- struct{}{}:
	default:
	}
}

// Run looks again and again until ctx ends.
func (t *Troubles) Run(ctx context.Context) {
	tick := time.NewTicker(troubleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-t.again:
		}
		t.Look(ctx)
	}
}

// Look finds out what hale lacks. It logs what is new, and what is over.
func (t *Troubles) Look(ctx context.Context) {
	t.mu.Lock()
	c, before := t.config, t.known
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, troubleWithin)
	defer cancel()
	now := time.Now().UTC()
	var found []api.Trouble
	lacks := func(what api.Trouble, err error, log *slog.Logger, said string) {
		what.Since = now
		for _, b := range before {
			if sameTrouble(b, what) {
				what.Since = b.Since
			}
		}
		found = append(found, what)
		if what.Since.Equal(now) {
			log.Error("hale lacks something on its own server", "what", said, "err", err)
		}
	}
	if pings(c) {
		if err := netprobe.MayPing(ctx); errors.Is(err, fs.ErrPermission) {
			const lack = "hale may not send pings, so every ping check is unknown and no canary is heard"
			lacks(api.Trouble{Part: api.TroublePing, Text: lack, Advice: pingAdvice}, err, t.log,
				"hale may not send pings: ping checks are unknown until it may")
		}
	}
	for _, s := range secretsIn(c) {
		_, err := s.secret.Resolve(ctx)
		if err == nil {
			continue
		}
		what := s.Trouble
		what.Text = waitsFor[what.Part](what) + ": " + notify.Why(err)
		what.Advice = "put the secret where the configuration says, so that hale's user may read it"
		if !slices.ContainsFunc(found, func(f api.Trouble) bool { return sameTrouble(f, what) }) {
			lacks(what, err, s.log(t.log), "a secret cannot be read: what needs it waits until it can")
		}
	}
	refusedTargets(ctx, c, t.log, lacks)
	for _, b := range before {
		if !slices.ContainsFunc(found, func(f api.Trouble) bool { return sameTrouble(f, b) }) {
			t.log.Info("hale has what it lacked", "was", b.Text)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = found
}

// refusedTargets finds those with an address that hale refuses.
func refusedTargets(ctx context.Context, c *config.Config, log *slog.Logger,
	lacks func(what api.Trouble, err error, log *slog.Logger, said string)) {
	for _, target := range c.Targets {
		bounded, ok := target.Settings.(kinds.Bounded)
		if !ok {
			continue
		}
		if err := bounded.Unreachable(ctx); err != nil {
			what := api.Trouble{Part: api.TroubleTarget, Name: string(target.Name),
				Text:   "no message reaches target " + string(target.Name) + ": " + err.Error(),
				Advice: "list the address under its allow_addresses if it is meant, and reload: hale reload",
			}
			lacks(what, err, log.With("target", target.Name), "a target's address is refused: it is told nothing")
		}
	}
}

const pingAdvice = "let its group send pings (sysctl -w net.ipv4.ping_group_range=\"0 2147483647\"), or give it " +
	"CAP_NET_RAW (AmbientCapabilities=CAP_NET_RAW in its unit); hale goes on by itself when it may"

// waitsFor says what does not work without a secret.
var waitsFor = map[string]func(api.Trouble) string{
	api.TroubleTarget: func(t api.Trouble) string {
		return "no message reaches target " + t.Name + ": its secret cannot be read"
	},
	api.TroubleStream: func(t api.Trouble) string {
		return "stream " + t.Name + " goes nowhere, and waits in the journal: its secret cannot be read"
	},
	api.TroubleBalancer: func(t api.Trouble) string {
		return "balancer " + t.Name + " is not told who serves: its secret cannot be read"
	},
	api.TroubleCheck: func(t api.Trouble) string {
		return "check " + t.Name + " of fleet " + t.Of + " is unknown: its secret cannot be read"
	},
	api.TroubleHook: func(t api.Trouble) string {
		return "hook " + t.Name + " of fleet " + t.Of + " fails when its time comes: its secret cannot be read"
	},
	api.TroubleSatellite: func(t api.Trouble) string {
		return "satellite " + t.Name + " has no vote: its token cannot be read"
	},
	api.TroubleFence: func(t api.Trouble) string {
		return "method " + t.Name + " cuts no power: its secret cannot be read"
	},
	api.TroubleProvider: func(t api.Trouble) string {
		return "provider " + t.Of + " has no way in: its secret cannot be read"
	},
}

func sameTrouble(a, b api.Trouble) bool {
	a.Since, b.Since = time.Time{}, time.Time{}
	return a == b
}

// All returns what hale lacks now.
func (t *Troubles) All() []api.Trouble {
	t.mu.Lock()
	out := slices.Clone(t.known)
	t.mu.Unlock()
	if since, err := t.parts.Receiver.Trouble(); err != nil {
		out = append(out, api.Trouble{Part: api.TroubleHeartbeats, Since: since.UTC(), Text: err.Error(),
			Advice: "see which program has the port (ss -ltnp), or give heartbeats: listen another one; hale goes on " +
				"by itself when it can listen"})
	}
	if lack, there := t.parts.Porter.Trouble(); there {
		out = append(out, lack)
	}
	out = append(out, t.satellites(time.Now())...)
	return slices.Concat(out, t.parts.Streams.Troubles(time.Now()), t.parts.Pools.Troubles(time.Now()),
		t.parts.Lists.Troubles())
}

// satellites says which vantages are missing.
func (t *Troubles) satellites(now time.Time) []api.Trouble {
	var out []api.Trouble
	if since, err := t.parts.Eyes.Trouble(); err != nil {
		out = append(out, api.Trouble{Part: api.TroubleSatellite, Since: since.UTC(), Text: err.Error(),
			Advice: "see which program has the port (ss -ltnp), and whether the address is one of this machine's " +
				"(state.etcd.listen); hale goes on by itself when it can listen"})
	}
	if since, err := t.parts.Satellites.Trouble(); err != nil {
		return append(out, api.Trouble{Part: api.TroubleSatellite, Since: since.UTC(), Text: err.Error(),
			Advice: "see which program has the port (ss -ltnp), or give satellites: listen another one; hale goes on " +
				"by itself when it can listen"})
	}
	eyes := t.parts.Satellites.Eyes(now)
	for _, e := range eyes {
		if text, advice := missed(e); text != "" {
			out = append(out, api.Trouble{Part: api.TroubleSatellite, Name: e.Name, Since: e.Heard.UTC(), Text: text,
				Advice: advice})
		}
	}
	t.mu.Lock()
	want := vantages(t.config)
	t.mu.Unlock()
	if there := len(eyes) + 1; there < want {
		out = append(out, api.Trouble{Part: api.TroubleSatellite, Since: t.begun,
			Text:   fmt.Sprintf("checks ask from %d vantages, and there are %d", want, there),
			Advice: "start hale on the servers that are to stand by (hale server list), or add satellites"})
	}
	return out
}

// missed says why a vantage has no vote, and what to do; empty: it has one.
func missed(e satellite.Eye) (text, advice string) {
	kind := "satellite "
	advice = "see there whether hale probe runs, and what it says (journalctl -u hale-probe)"
	if e.Server {
		kind = "server "
		advice = "see there whether hale runs, and what it says (journalctl -u hale), and whether it reaches this " +
			"server"
	}
	switch {
	case e.But != "":
		return kind + e.Name + " stands by, and has no vote: " + e.But, "give each vantage a name of its own"
	case !e.Silent:
		return "", ""
	case e.Since.IsZero():
		return kind + e.Name + " has not reported to this server yet, and has no vote", advice
	}
	return kind + e.Name + " is silent, and has no vote", advice
}

// vantages is from how many a check is asked at most.
func vantages(c *config.Config) int {
	most := 0
	for i := range c.Fleets {
		for _, check := range c.Fleets[i].Asked() {
			most = max(most, check.Sight.Vantages)
		}
	}
	return most
}

// pings reports whether hale itself pings anything by the configuration. Simulated machines are not pinged over the
// network.
func pings(c *config.Config) bool {
	canaries := len(c.Vantage.Canaries) > 0 || c.Vantage.Gateway
	return slices.ContainsFunc(c.Fleets, func(f policy.Spec) bool {
		simulated := slices.ContainsFunc(c.Providers, func(p config.Provider) bool {
			_, simulated := p.Settings.(simulated.Settings)
			return p.Name == f.Provider && simulated
		})
		return !simulated &&
			(canaries || slices.ContainsFunc(f.Asked(),
				func(c *policy.Check) bool { return c.Kind == policy.CheckPing }))
	})
}
