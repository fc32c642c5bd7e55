package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/notify"
)

// A relay beside hale that no line lists is told nothing, and hale says so and heals all the same. With the line, and a
// reload, it is told what waited.
func TestATargetOnHalesOwnServerIsToldOnceItIsListed(t *testing.T) {
	t.Parallel()
	told := make(chan notify.Message, 10)
	relay := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		var m notify.Message
		if err := json.NewDecoder(q.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		told <- m
	}))
	defer relay.Close()
	file := func(more string) string {
		return wakeful + "notify: {relay: {webhook: {url: \"" + relay.URL + "\"" + more + "}}}\n"
	}
	h := newHouse(t, file(""))
	o := h.options()
	o.Load = func() (*config.Config, error) {
		return config.Parse("hale.yaml", []byte(file(", allow_addresses: [127.0.0.1]")), adapters.All())
	}
	stop := h.runs(o)
	h.await("all are well", allWell)
	client := api.Dial(h.socket)
	defer client.Close()
	if _, err := client.Break(t.Context(), api.BreakOrder{Machine: "web-2", Way: "crash"}); err != nil {
		t.Fatal(err)
	}
	h.eventually("the status says why the page waits", func(ctx context.Context) bool {
		s, err := client.Status(ctx)
		return err == nil && len(s.Troubles) == 1 && strings.Contains(s.Troubles[0].Text, "allow_addresses: [127.0.0.1]") &&
			s.Fleets[0].Messages.Waiting == 1 && strings.Contains(s.Fleets[0].Messages.Detail, "allow_addresses")
	})
	if _, err := client.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case m := <-told:
		if m.Event != notify.EventPage || m.Machine != "web-2" {
			t.Errorf("told of %+v", m)
		}
	case <-time.After(patience):
		t.Fatal("nothing arrived")
	}
	h.eventually("nothing is lacking any more", func(ctx context.Context) bool {
		s, err := client.Status(ctx)
		return err == nil && len(s.Troubles) == 0 && s.Fleets[0].Messages.Waiting == 0
	})
	stop()
}
