package memory_test

import (
	"testing"
	"time"

	"hale/internal/balancer/balancertest"
	"hale/internal/balancer/memory"
)

func TestTheTwinPassesTheExam(t *testing.T) {
	t.Parallel()
	balancertest.Run(t, func(*testing.T) balancertest.Bench {
		p := memory.New()
		return balancertest.Bench{
			Pool: p,
			Break: func(f balancertest.Fault) {
				p.Break(map[balancertest.Fault]memory.Faults{
					balancertest.Works: {}, balancertest.Dead: {Dead: true}, balancertest.Frozen: {Frozen: true},
					balancertest.Garbage: {Garbage: true}, balancertest.AnswerLost: {AnswerLost: true},
					balancertest.Full: {Full: true}, balancertest.Slow: {Slow: 200 * time.Millisecond},
					balancertest.Fails: {Fails: true},
				}[f])
			},
			Put:    p.Put,
			Forget: p.Forget,
		}
	})
}
