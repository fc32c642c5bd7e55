package quorum_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe/quorum"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// said are the votes of hale, ams, fra and so on, by a letter each: u is up, f failing, d down, ? unknown. A capital
// letter is what counts no more.
func said(letters string) []quorum.Vote {
	var out []quorum.Vote
	for i, c := range letters {
		v := quorum.Vote{Vantage: []string{"hale", "ams", "fra", "osl", "zrh"}[i], Until: noon.Add(1)}
		if c >= 'A' && c <= 'Z' {
			v.Until = noon
			c += 'a' - 'A'
		}
		switch c {
		case 'u':
			v.Standing, v.Result = fleet.StandingUp, fleet.ResultOK
		case 'f':
			v.Standing, v.Result = fleet.StandingFailing, fleet.ResultTimeout
		case 'd':
			v.Standing, v.Result = fleet.StandingDown, fleet.ResultTimeout
		case 'r':
			v.Standing, v.Result = fleet.StandingDown, fleet.ResultRefused
		default:
			v.Standing, v.Result = fleet.StandingUnknown, fleet.ResultLocal
		}
		out = append(out, v)
	}
	return out
}

// What several vantages say comes to one standing, by what each saw itself and not too long ago.
func TestWhatVotesComeTo(t *testing.T) {
	t.Parallel()
	for votes, want := range map[string]struct {
		agree  int
		stands string
		why    string
	}{
		"uuu": {2, "up ok", "all see it"},
		"duu": {2, "up elsewhere: 2 of 3 see it: ams and fra do, hale does not (timeout)", "hale alone does not"},
		"udu": {2, "up elsewhere: 2 of 3 see it: hale and fra do, ams does not (timeout)", "one satellite does not"},
		"ufu": {2, "up elsewhere: 2 of 3 see it: hale and fra do, ams does not (timeout)", "or begins not to"},
		"ddu": {2, "down timeout: 1 of 3 see it: fra does, hale and ams do not (timeout)", "two of three agree"},
		"ddd": {3, "down timeout: none of 3 sees it", "all of three must, and do"},
		"dfu": {2, "failing timeout: 1 of 3 see it", "the second one is about to agree"},
		"dud": {3, "up elsewhere: 1 of 3 see it", "two are not three"},

		"dUU": {2, "unknown not-agreed: none of 3 sees it: hale does not (timeout), ams and fra are silent",
			"the satellites are silent: nobody agrees, and nobody objects"},
		"dDD": {2, "unknown not-agreed: none of 3 sees it", "what they said counts no more"},
		"dDu": {2, "unknown not-agreed: 1 of 3 see it: fra does, hale does not (timeout), ams is silent",
			"the silent one could agree"},
		"uDD": {2, "up elsewhere: 1 of 3 see it: hale does, ams and fra are silent", "nobody says otherwise"},
		"uDd": {2, "unknown not-agreed", "the silent one could agree"},
		"u??": {2, "up elsewhere: 1 of 3 see it: hale does, ams and fra cannot tell (local)", "as silent"},
		"?dd": {2, "down timeout: none of 3 sees it: ams and fra do not (timeout), hale cannot tell (local)",
			"the server itself is blind"},
		"???": {2, "unknown local", "nobody can tell: as the server says"},
		"DDD": {2, "unknown timeout", "nobody spoke in time"},
		"d":   {2, "unknown not-agreed: none of 3 sees it: hale does not (timeout)", "there are too few satellites"},
		"dr":  {2, "down timeout", "one hears nothing: that asks for a witness"},
		"rd":  {2, "down timeout", "in any order"},
		"rr":  {2, "down refused", "all hear it refuse"},
		"d?d": {1, "down timeout", "one is enough, where one is to be"},
	} {
		is := quorum.Judge(said(votes), policy.Sight{Vantages: 3, Agree: want.agree}, noon)
		got := string(is.Standing) + " " + string(is.Result)
		if is.Detail != "" {
			got += ": " + is.Detail
		}
		if !strings.HasPrefix(got, want.stands) {
			t.Errorf("%s: %q\n got %s\nwant %s", want.why, votes, got, want.stands)
		}
	}
}

// Whatever is said, a target is down when, and only when, so many say so that must, and their word counts.
// A vote that counts no more changes the standing no more than one that was never given.
func TestDownIsOnlyWhatIsAgreed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "vantages")
		s := policy.Sight{Vantages: n, Agree: rapid.IntRange(1, n).Draw(t, "agree")}
		letters := ""
		for range rapid.IntRange(1, n).Draw(t, "votes") {
			letters += rapid.SampledFrom([]string{"u", "f", "d", "?", "U", "F", "D"}).Draw(t, "vote")
		}
		is := quorum.Judge(said(letters), s, noon)
		down, up := strings.Count(letters, "d"), strings.Count(letters, "u")
		if (is.Standing == fleet.StandingDown) != (down >= s.Agree) {
			t.Errorf("%q, %d of %d must agree: %s", letters, s.Agree, n, is.Standing)
		}
		if is.Standing == fleet.StandingUp && up == 0 {
			t.Errorf("%q is up, and nobody sees it", letters)
		}
		never := quorum.Judge(said(strings.NewReplacer("U", "?", "F", "?", "D", "?").Replace(letters)), s, noon)
		if is.Standing != never.Standing {
			t.Errorf("%q is %s; without what counts no more it is %s", letters, is.Standing, never.Standing)
		}
		if quorum.Settled(said(strings.ToLower(letters)), s) {
			now := quorum.Judge(said(strings.ToLower(letters)), s, noon).Standing
			later := quorum.Judge(said(strings.ToLower(letters)+strings.Repeat("d", n-len(letters))), s, noon).Standing
			if (now == fleet.StandingDown) != (later == fleet.StandingDown) {
				t.Errorf("%q is settled: %s, and later %s", letters, now, later)
			}
		}
	})
}
