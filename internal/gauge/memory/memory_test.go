package memory_test

import (
	"testing"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/gauge"
	"hale/internal/gauge/gaugetest"
	"hale/internal/gauge/memory"
)

func TestTheTwinPassesTheExam(t *testing.T) {
	t.Parallel()
	gaugetest.Run(t, func(*testing.T) gaugetest.Bench {
		s := &memory.Source{}
		return gaugetest.Bench{
			Reader: s,
			Says: func(all ...gaugetest.Named) {
				r, names := gauge.Reading{}, gauge.NamesOf(gaugetest.Machines())
				for _, v := range all {
					if v.Name == "" {
						r.Whole = append(r.Whole, v.Value)
					} else if m, known := names.Find(v.Name); known {
						r.Each = append(r.Each, fleet.MachineValue{Machine: m, Value: v.Value})
					}
				}
				s.Say(r)
			},
			Break: func(f gaugetest.Fault) {
				s.Wake()
				switch f {
				case gaugetest.Hangs:
					s.Hang()
				case gaugetest.Away:
					s.Fail(fault.New(fault.Transient, "memory.read", "", nil))
				default:
				}
			},
			Lacks: []gaugetest.Fault{gaugetest.Nonsense, gaugetest.Endless},
		}
	})
}
