package satellite

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/probe/probetest"
)

// story plays one in a bubble.
func story(t *testing.T, names []string, play func(s *scene)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { play(begin(t, names...)) })
}

var two = []string{"ams", "fra"}

// One of three does not see a machine that the two others see well, whichever it is: it stays up, and it is said
// who sees it. When a second one does not see it either, it is down.
func TestOneOfThreeDoesNotSeeIt(t *testing.T) {
	for _, one := range []string{"hale", "ams"} {
		t.Run(one, func(t *testing.T) {
			story(t, two, func(s *scene) {
				s.after(10*time.Second, "up ok ")
				s.loses(one)
				s.after(time.Minute, "up elsewhere 2 of 3 see it: ")
				s.after(0, map[string]string{
					"hale": "up elsewhere 2 of 3 see it: ams and fra do, hale does not (timeout)",
					"ams":  "up elsewhere 2 of 3 see it: hale and fra do, ams does not (timeout)",
				}[one])
				s.never(fleet.StandingDown)
				s.loses("fra")
				s.after(5*time.Second, "down timeout")
				s.sees("fra")
				s.after(5*time.Second, "up elsewhere")
			})
		})
	}
}

// A machine that is cut off for all is down within what the check takes, and two seconds for the way.
func TestNobodySeesIt(t *testing.T) {
	story(t, two, func(s *scene) {
		s.after(10*time.Second, "up ok ")
		s.loses("hale", "ams", "fra")
		s.after(5*time.Second, "down timeout none of 3 sees it: hale, ams and fra do not (timeout)")
	})
}

// Both satellites are cut off from the server. The machine is up as long as hale sees it, and when it does not, it
// is unknown: nobody agrees.
func TestSatellitesAreGone(t *testing.T) {
	story(t, two, func(s *scene) {
		s.after(10*time.Second, "up ok ")
		for _, p := range s.there {
			p.set(func() { p.cut = true })
		}
		s.after(time.Minute, "up elsewhere 1 of 3 see it: hale does, ams and fra are silent")
		s.loses("hale")
		s.after(time.Minute, "unknown not-agreed none of 3 sees it: hale does not (timeout), ams and fra are silent")
		s.never(fleet.StandingDown)
		got := s.hub.Eyes(time.Now())
		if len(got) != 2 || got[0].Name != "ams" || got[0].Since.IsZero() || !got[0].Silent || !got[1].Silent ||
			got[0].Targets != 1 {
			s.Errorf("the satellites are %+v", got)
		}
	})
}

// What a satellite said last, before it fell silent, agrees to nothing once it is too old: it saw the machine down,
// and the machine may be well since.
func TestAStaleEyeDoesNotAgree(t *testing.T) {
	story(t, two, func(s *scene) {
		s.after(10*time.Second, "up ok ")
		s.loses("ams")
		s.after(10*time.Second, "up elsewhere")
		for _, p := range s.there {
			p.set(func() { p.cut = true })
		}
		s.after(7*time.Second, "up elsewhere 1 of 3")
		s.loses("hale")
		s.after(time.Minute, "unknown not-agreed")
		s.never(fleet.StandingDown)
	})
}

// A report that stood still on its way for longer than its word counts is no news when it arrives.
func TestAReportThatComesLateIsOld(t *testing.T) {
	story(t, two, func(s *scene) {
		s.after(10*time.Second, "up ok ")
		s.loses("ams")
		s.after(10*time.Second, "up elsewhere")
		for _, p := range s.there {
			p.set(func() { p.delay = 30 * time.Second })
		}
		s.after(7*time.Second, "up elsewhere 1 of 3")
		s.loses("hale")
		s.after(15*time.Second, "unknown not-agreed")
		s.sees("ams", "fra")                          // the reports under way say otherwise of ams
		s.after(12*time.Second, "unknown not-agreed") // they arrive
		s.never(fleet.StandingDown)
		for _, p := range s.there {
			p.set(func() { p.delay = 0 })
		}
		s.after(40*time.Second, "up elsewhere")
	})
}

// A satellite that reports in time, but whose probes stand still, has no vote: what it says is as old as they are.
func TestASatelliteWhoseProbesStandStill(t *testing.T) {
	story(t, two, func(s *scene) {
		s.after(10*time.Second, "up ok ")
		s.loses("ams")
		s.after(10*time.Second, "up elsewhere 2 of 3")
		for _, p := range s.there {
			p.frozen.Store(true)
		}
		s.after(10*time.Second, "up elsewhere 1 of 3 see it: hale does, ams and fra are silent")
		s.loses("hale")
		s.after(time.Minute, "unknown not-agreed")
		s.never(fleet.StandingDown)
	})
}

// A satellite that does not reach the server goes on counting. What it has found meanwhile it says at once when it
// does.
func TestASatelliteCountsWhileItIsCutOff(t *testing.T) {
	story(t, two, func(s *scene) {
		s.after(10*time.Second, "up ok ")
		s.there["ams"].set(func() { s.there["ams"].cut = true })
		s.after(10*time.Second, "up elsewhere 2 of 3 see it: hale and fra do, ams is silent")
		s.loses("ams", "hale")
		s.after(20*time.Second, "unknown not-agreed 1 of 3 see it: fra does, hale does not (timeout), ams is silent")
		before := len(s.there["ams"].net.Starts(s.target.Address))
		s.after(5*time.Second, "unknown")
		if n := len(s.there["ams"].net.Starts(s.target.Address)) - before; n < 4 {
			s.Errorf("it probed %d times in five seconds", n)
		}
		s.there["ams"].set(func() { s.there["ams"].cut = false })
		s.after(8*time.Second, "down timeout 1 of 3 see it: fra does, hale and ams do not (timeout)")
	})
}

// S54: another server in the place of the first one begins anew with all satellites: what they said to that one
// counts no more, and in a few seconds it knows as much.
func TestS54AnotherServerAsksThemAnew(t *testing.T) {
	story(t, two, func(s *scene) {
		s.after(10*time.Second, "up ok ")
		s.loses("hale", "ams")
		s.after(10*time.Second, "down timeout")
		s.never(fleet.StandingUnknown)
		s.target.Epoch++
		s.serve(s.hub.settings.Tokens)
		s.after(10*time.Second, "down timeout 1 of 3 see it: fra does, hale and ams do not (timeout)")
		s.after(time.Minute, "down timeout")
	})
}

// A satellite that was started again tells everything again. Another one with its token is refused while it reports.
func TestASatelliteBeginsAnew(t *testing.T) {
	story(t, two, func(s *scene) {
		s.after(10*time.Second, "up ok ")
		s.there["ams"].end()
		s.launch("ams")
		s.after(15*time.Second, "up ok ")
		s.loses("ams")
		s.after(10*time.Second, "up elsewhere")

		first := s.there["ams"]
		s.there["ams"] = nil
		s.launch("ams")
		s.after(20*time.Second, "up elsewhere")
		if second := s.there["ams"]; second.sends < 3 || len(second.net.Starts(s.target.Address)) > 0 {
			s.Errorf("a second one with the token of the first sent %d times, and probes", second.sends)
		}
		first.end()
		s.after(20*time.Second, "up ok ")
	})
}

// A satellite that the server cannot understand has no vote, and goes on when it can.
func TestAnotherProtocol(t *testing.T) {
	story(t, two, func(s *scene) {
		for _, p := range s.there {
			p.set(func() {
				p.bad = func(body string) string {
					return strings.Replace(body, `"Protocol":1`, `"Protocol":2`, 1)
				}
			})
		}
		s.after(time.Minute, "up elsewhere 1 of 3 see it: hale does, ams and fra are silent")
		for _, p := range s.there {
			p.set(func() { p.bad = func(body string) string { return `{"Unknown": [{}],` + body[1:] } })
		}
		s.after(10*time.Second, "up ok ")
		s.loses("hale", "ams")
		s.after(10*time.Second, "down timeout 1 of 3")
	})
}

// A look on demand asks the satellites that look at the machine, and comes to what as many find that must agree.
func TestALookAsksSatellites(t *testing.T) {
	story(t, two, func(s *scene) {
		looks := func(within time.Duration, want string) {
			s.Helper()
			began := time.Now()
			is := s.engine.Look(s.Context(), s.target)
			got := string(is.Standing) + " " + string(is.Result) + " " + is.Detail
			if took := time.Since(began); !strings.HasPrefix(got, want) || took > within {
				s.Errorf("after %v it is %q, want %q within %v", took, got, want, within)
			}
		}
		s.after(10*time.Second, "up ok ")
		looks(time.Second, "up ")
		s.loses("hale")
		looks(2*time.Second, "up elsewhere 2 of 3 see it: ")
		s.loses("ams")
		looks(2*time.Second, "down timeout ")
		s.sees("ams")
		s.there["ams"].set(func() { s.there["ams"].cut = true })
		looks(4*time.Second, "unknown not-agreed 1 of 3 see it: fra does, hale does not (timeout), ams is silent")
		<-time.After(10 * time.Second) // it is known to be silent, and not waited for
		looks(2*time.Second, "unknown not-agreed 1 of 3")
	})
}

// Of many satellites those look at a machine that are to. When one is silent for a minute others take its machines, and
// it gets them back when it returns.
func TestASatelliteThatStaysAway(t *testing.T) {
	story(t, []string{"ams", "fra", "osl", "zrh"}, func(s *scene) {
		s.after(10*time.Second, "up ok ")
		eyes := eyesOf("web-1", 2, []string{"ams", "fra", "osl", "zrh"}, []string{"ams", "fra", "osl", "zrh"})
		gone := s.there[eyes[0]]
		gone.set(func() { gone.cut = true })
		s.after(30*time.Second, "up elsewhere 2 of 3 see it")
		s.after(time.Minute, "up ok ")
		s.loses("hale")
		s.after(10*time.Second, "up elsewhere 2 of 3")
		gone.set(func() { gone.cut = false })
		s.after(20*time.Second, "up elsewhere 2 of 3")
		s.loses(eyes[0])
		s.after(10*time.Second, "down timeout 1 of 3")
	})
}

// What is removed is looked at no more; an address that is not known is asked of nobody.
func TestWhatIsRemovedIsLeftAlone(t *testing.T) {
	story(t, two, func(s *scene) {
		s.after(10*time.Second, "up ok ")
		s.engine.Remove(s.target.ID)
		<-time.After(5 * time.Second)
		quiet := func(why string) {
			s.Helper()
			before := len(s.there["ams"].net.Starts(s.target.Address))
			<-time.After(time.Minute)
			if n := len(s.there["ams"].net.Starts(s.target.Address)); n != before {
				s.Errorf("%s: it was probed %d times", why, n-before)
			}
		}
		quiet("removed")
		nowhere := s.target
		nowhere.Rival = "another"
		s.engine.Set(nowhere)
		quiet("shared")
		s.after(0, "unknown shared-address")
		s.engine.Set(s.target)
		s.after(10*time.Second, "up ok ")
	})
}

// A machine that was built anew is looked at anew: that all satellites saw its last instance down says nothing of it.
func TestTheNextInstanceIsSeenAnew(t *testing.T) {
	story(t, two, func(s *scene) {
		s.loses("hale", "ams", "fra")
		s.after(10*time.Second, "down timeout")
		s.sees("hale", "ams", "fra")
		s.target.Epoch, s.target.Instance = s.target.Epoch+1, "next"
		s.engine.Set(s.target)
		s.after(10*time.Second, "up ok ")
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, e := range s.edges {
			if e.Epoch == s.target.Epoch && e.Standing != fleet.StandingUnknown && e.Standing != fleet.StandingUp {
				s.Errorf("it was %s by what was seen before: %+v", e.Standing, e)
			}
		}
	})
}

// serversOf are servers that stand by, with the tokens that the scene's eyes show.
func serversOf(names ...string) []Server {
	var all []Server
	for _, name := range names {
		all = append(all, Server{Name: name, Token: "token-" + name})
	}
	return all
}

// Servers that stand by look, too. What one of three does not see is up; what two do not see is down. One whose listing
// ended has no vote any more and is missed by its name, and has a vote again when it is listed anew.
func TestServersThatStandByLook(t *testing.T) {
	story(t, nil, func(s *scene) {
		s.names = true
		s.hub.Take(Settings{StaleAfter: 5 * time.Second, Server: "hale"})
		s.hub.TakeServers(serversOf("hale-b", "hale-c"))
		s.launch("hale-b")
		s.launch("hale-c")
		s.after(20*time.Second, "up ok ")
		s.loses("hale")
		s.after(time.Minute, "up elsewhere 2 of 3 see it: hale-b and hale-c do, hale does not (timeout)")
		s.never(fleet.StandingDown)
		s.hub.TakeServers(serversOf("hale-b"))
		s.loses("hale-c")
		s.after(time.Minute, "unknown not-agreed 1 of 3 see it: hale-b does, hale does not (timeout), hale-c is silent")
		s.never(fleet.StandingDown)
		s.hub.TakeServers(serversOf("hale-b", "hale-c"))
		s.after(20*time.Second, "down timeout 1 of 3 see it: hale-b does, hale and hale-c do not (timeout)")
		s.hub.TakeServers(serversOf("hale-b"))
		s.sees("hale")
		s.after(forgetAfter+time.Minute, "up elsewhere 2 of 3 see it: hale and hale-b do")
		if is := s.hub.Eyes(time.Now()); len(is) != 1 || is[0].Name != "hale-b" || !is[0].Server || is[0].Silent {
			s.Errorf("after an hour hale-c is still missed: %+v", is)
		}
	})
}

// Votes count by name: a server with the name of a satellite, or of the active server, has none, and neither has the
// second one of a name. It is said why.
func TestAServerThatHasAnothersName(t *testing.T) {
	story(t, two[:1], func(s *scene) {
		for _, p := range s.there { // the satellite is away
			p.set(func() { p.cut = true })
		}
		s.names = true
		s.hub.mu.Lock()
		tokens := s.hub.settings.Tokens
		s.hub.mu.Unlock()
		s.hub.Take(Settings{Tokens: tokens, StaleAfter: 5 * time.Second, Server: "hale"})
		impostors := []Server{{"ams", "token-x"}, {"hale", "token-hale"}, {"hale-b", "token-other"},
			{"hale-b", "token-hale-b"}}
		s.hub.TakeServers(impostors)
		s.launch("hale")
		s.launch("hale-b") // shows the second one's token
		s.loses("hale", "hale-b")
		s.here.Script(s.target.Address, probetest.Silent())
		s.after(time.Minute, "unknown not-agreed none of 3 sees it: hale does not (timeout), ams and hale-b are silent")
		s.never(fleet.StandingDown)
		is := s.hub.Eyes(time.Now())
		if len(is) != 4 || !strings.Contains(is[1].But, "a satellite has its name") ||
			!strings.Contains(is[2].But, "the active server has its name") || !is[3].Since.IsZero() {
			s.Errorf("it is said that %+v", is)
		}
	})
}
