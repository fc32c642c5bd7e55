package memory_test

import (
	"testing"
	"time"

	"hale/internal/fence/fencetest"
	"hale/internal/fence/memory"
)

func TestTheTwinPassesTheExam(t *testing.T) {
	t.Parallel()
	fencetest.Run(t, func(*testing.T) fencetest.Bench {
		c := memory.New()
		return fencetest.Bench{
			Controller: c, On: c.On, Turn: c.Turn,
			Break: func(f fencetest.Fault) {
				c.Break(map[fencetest.Fault]memory.Faults{
					fencetest.WrongPassword: {WrongPassword: true},
					fencetest.Dead:          {Dead: true},
					fencetest.Late:          {Late: 300 * time.Millisecond},
					fencetest.Ignores:       {Ignores: true},
					fencetest.AnswerLost:    {AnswerLost: true},
					fencetest.Slow:          {Slow: 200 * time.Millisecond},
				}[f])
			},
		}
	})
}
