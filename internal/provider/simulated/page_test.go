package simulated

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
)

// A well machine shows every check the page that it wants.
func TestAPageFitsThePattern(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"passing", `"status": *"passing"`, "(?i)ok|well", "^up$", "[0-9]+ of [0-9]{2}", `\d\.\d`, "a.c", "(?s)a.*b",
		"x{3,5}y?", `[^a-z]\s`, "",
	} {
		if text := sample(pattern); !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("%s: %q does not match", pattern, text)
		}
	}
}

// What one check asks, another one does not see: each fails by itself, and a page may be wrong though it comes.
func TestOneCheckFailsAndTheOthersDoNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(Options{Checks: []policy.Check{
			{Name: "page", Kind: policy.CheckHTTP, Port: 80, HTTP: policy.HTTPCheck{Path: "/", Body: "passing",
				Status: []policy.StatusRange{{First: 299, Last: 299}}}},
			{Name: "db", Kind: policy.CheckTCP, Port: 5432},
			{Name: "disk", Kind: policy.CheckExec, Exec: policy.ExecCheck{Command: []string{"check_disk", "{ip}"}}},
			{Name: "alive", Kind: policy.CheckPing},
		}})
		if err := w.Plant(fleet.Instance{ID: "a", Name: "web-1", Mark: fleet.Mark{Machine: "web-1"}}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		i, _ := w.Instance("web-1")
		heard := func() (out string) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			client := http.Client{Transport: &http.Transport{DialContext: w.Dial, DisableKeepAlives: true}}
			request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+i.Address.String()+"/", nil)
			if response, err := client.Do(request); err == nil {
				body, _ := io.ReadAll(response.Body)
				_ = response.Body.Close()
				out += response.Status[:3] + " " + string(body)
			}
			if conn, err := w.Dial(ctx, "tcp", i.Address.String()+":5432"); err == nil {
				_ = conn.Close()
				out += "db "
			}
			if code, _, err := w.Run(ctx, probe.Program{Args: []string{"check_disk",
				i.Address.String()}}); err == nil && code == 0 {
				out += "disk "
			}
			if w.Ping(ctx, i.Address) == nil {
				out += "alive "
			}
			return out
		}
		for name, tc := range map[string]struct {
			ill  Illness
			want string
		}{
			"well":         {Illness{Symptom: BootsSlowly}, "299 passing\ndb disk alive "},
			"a wrong page": {Illness{Symptom: WrongPage}, "299 another page\ndb disk alive "},
			"page":         {Illness{Symptom: CheckFails, Check: "page"}, "db disk alive "},
			"db":           {Illness{Symptom: CheckFails, Check: "db"}, "299 passing\ndisk alive "},
			"disk":         {Illness{Symptom: CheckFails, Check: "disk"}, "299 passing\ndb alive "},
			"alive":        {Illness{Symptom: CheckFails, Check: "alive"}, "299 passing\ndb disk "},
		} {
			lift, err := w.Inject(Broken{Instance: "a", Illness: tc.ill})
			if err != nil {
				t.Fatal(err)
			}
			if got := heard(); got != tc.want {
				t.Errorf("%s: heard %q, want %q", name, got, tc.want)
			}
			if w.Healthy("a") != (name == "well") {
				t.Errorf("%s: healthy is %v", name, w.Healthy("a"))
			}
			lift()
		}
	})
}
