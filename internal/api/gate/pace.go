package gate

import (
	"time"

	"hale/internal/access"

	"golang.org/x/time/rate"
)

// mostPaces are the callers whose pace is kept apart; beyond them all others share one.
const mostPaces = 10_000

// paces are how often callers come. A caller that has not come for a while is forgotten.
type paces map[string]*rate.Limiter

// take lets one request of the caller through, or says how long it must wait.
func (p paces) take(who string, each, atOnce int, now time.Time) time.Duration {
	reservation := p.of(who, each, atOnce, now).ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// left reports how long the caller would have to wait, and takes nothing.
func (p paces) left(who string, each, atOnce int, now time.Time) time.Duration {
	have := p.of(who, each, atOnce, now).TokensAt(now)
	if have >= 1 {
		return 0
	}
	return time.Duration((1 - have) / float64(each) * float64(time.Second))
}

func (p paces) of(who string, each, atOnce int, now time.Time) *rate.Limiter {
	if l := p[who]; l != nil && l.Burst() == atOnce && l.Limit() == rate.Limit(each) {
		return l
	}
	if len(p) >= mostPaces {
		for k, l := range p {
			if l.TokensAt(now) >= float64(l.Burst()) {
				delete(p, k)
			}
		}
		if len(p) >= mostPaces {
			who = ""
		}
	}
	if l := p[who]; l != nil && l.Burst() == atOnce && l.Limit() == rate.Limit(each) {
		return l
	}
	p[who] = rate.NewLimiter(rate.Limit(each), atOnce)
	return p[who]
}

// strangersAtOnce is how many times as many strangers' requests may come at once as in a second.
const strangersAtOnce = 5

// pressing says how long an address must wait from which too much came that shows nothing good. What is known to be
// good is let through.
func (g *Gate) pressing(from string, shown digest, rules *Rules) time.Duration {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if at, known := g.good[shown]; known && now.Sub(at) <= goodFor && shown != (digest{}) {
		return 0
	}
	return g.strangers.left(from, rules.Strangers, strangersAtOnce*rules.Strangers, now)
}

// strange counts a request that shows nothing good.
func (g *Gate) strange(from string, rules *Rules) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.strangers.take(from, rules.Strangers, strangersAtOnce*rules.Strangers, time.Now())
}

// enter counts a request that is under way. The reason says why it may not be.
func (g *Gate) enter(p access.Principal, rules *Rules) (leave func(), why string) {
	who, most := string(p.Kind)+p.ID, rules.Streams/2
	if p.Kind == "" {
		most = rules.Streams / 8
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.all >= rules.Streams:
		return nil, "as much is under way as may be"
	case g.underWay[who] >= most:
		return nil, "as much of this caller is under way as may be"
	}
	g.all++
	g.underWay[who]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.all--
		if g.underWay[who]--; g.underWay[who] == 0 {
			delete(g.underWay, who)
		}
	}, ""
}
