package bulkprobe

import (
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/probetest"
)

// TestAChangedCheckChangesItsEngine lets an http check ask for a body, which the shards cannot, and not any more: each
// time the target begins from unknown, and its edges are counted on.
func TestAChangedCheckChangesItsEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		net := probetest.NewTransport()
		e := start(t, net)
		var seqs []uint64
		var told []string
		go func() {
			for {
				select {
				case r := <-e.Reports():
					if r.Edge != nil {
						seqs = append(seqs, r.Edge.Seq)
						told = append(told, string(r.Edge.Standing))
					}
				case <-t.Context().Done():
					return
				}
			}
		}()
		plain := &policy.Check{
			Kind: policy.CheckHTTP, Port: 80, Every: time.Second, Timeout: 500 * time.Millisecond, DownAfter: 2,
			UpAfter: 1,
		}
		demanding := *plain
		demanding.HTTP.Body = "ok"
		a := of(1, "10.0.0.1", plain)
		net.Script(a.Address, probetest.Page("ok"))
		for _, spec := range []*policy.Check{plain, &demanding, plain} {
			a.Spec = spec
			e.Set(a)
			<-time.After(5 * time.Second)
			synctest.Wait()
			if s := e.Standings(); len(s) != 1 || s[0].Standing != fleet.StandingUp || s[0].Seq != seqs[len(seqs)-1] {
				t.Fatalf("snapshot %+v, last told %d", s, seqs[len(seqs)-1])
			}
		}
		if want := []string{"up", "unknown", "up", "unknown", "up"}; len(told) != len(want) {
			t.Fatalf("told %q, want %q", told, want)
		}
		for i, seq := range seqs {
			if seq != uint64(i+1) {
				t.Errorf("edges are counted %d", seqs)
				break
			}
		}
		a.Spec = &demanding
		e.Set(a)
		e.Remove(a.ID)
		if s := e.Standings(); len(s) != 0 {
			t.Errorf("after Remove: %+v", s)
		}
	})
}

// TestWhatTheShardsTake lists what goes which way.
func TestWhatTheShardsTake(t *testing.T) {
	t.Parallel()
	base := func(change func(c *policy.Check)) *policy.Check {
		c := &policy.Check{Kind: policy.CheckHTTP, Port: 80, Every: time.Second, Timeout: time.Second}
		change(c)
		return c
	}
	for name, tc := range map[string]struct {
		check *policy.Check
		want  bool
	}{
		"a page": {base(func(*policy.Check) {}), true},
		"a status": {base(func(c *policy.Check) { c.HTTP.Status = []policy.StatusRange{{First: 401, Last: 401}} }),
			true},
		"a head":             {base(func(c *policy.Check) { c.HTTP.Method = "HEAD" }), true},
		"a ping":             {base(func(c *policy.Check) { c.Kind = policy.CheckPing }), true},
		"a connection":       {base(func(c *policy.Check) { c.Kind = policy.CheckTCP }), true},
		"no port":            {base(func(c *policy.Check) { c.Kind, c.Port = policy.CheckTCP, 0 }), false},
		"a program":          {base(func(c *policy.Check) { c.Kind = policy.CheckExec }), false},
		"an agent":           {base(func(c *policy.Check) { c.Kind = policy.CheckAgent }), false},
		"https":              {base(func(c *policy.Check) { c.HTTP.Scheme = "https" }), false},
		"a body":             {base(func(c *policy.Check) { c.HTTP.Body = "x" }), false},
		"redirects":          {base(func(c *policy.Check) { c.HTTP.Redirects = 1 }), false},
		"headers":            {base(func(c *policy.Check) { c.HTTP.Headers = []policy.Header{{Name: "X"}} }), false},
		"another method":     {base(func(c *policy.Check) { c.HTTP.Method = "POST" }), false},
		"a bad path":         {base(func(c *policy.Check) { c.HTTP.Path = "x" }), false},
		"no timeout":         {base(func(c *policy.Check) { c.Timeout = 0 }), false},
		"too long a timeout": {base(func(c *policy.Check) { c.Timeout = 2 * time.Second }), false},
		"too often": {base(func(c *policy.Check) { c.Every, c.Timeout = time.Millisecond, time.Millisecond }),
			false},
	} {
		if got := Takes(tc.check); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	var _ probe.Engine = (*Engine)(nil)
}
