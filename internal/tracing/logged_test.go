package tracing_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"testing"

	"hale/internal/core/record"
	"hale/internal/tracing"
)

// A line of the log bears the ids of what it is about, and no others: by them it is found among records and spans.
func TestALineOfTheLogBearsTheIDs(t *testing.T) {
	t.Parallel()
	trace := "93f4365e52e913b199b718a159cc82ad"
	for name, c := range map[string]struct {
		line func(log *slog.Logger)
		want map[string]string
	}{
		"a record of an incident": {func(log *slog.Logger) {
			r := record.Record{Fleet: "web", Machine: "web-2", Incident: "web-2/1", Repair: "web-2/r1"}
			log.LogAttrs(t.Context(), slog.LevelInfo, "record", tracing.Logged("ours", &r)...)
		}, map[string]string{"fleet": "web", "machine": "web-2", "incident": "web-2/1", "repair": "web-2/r1",
			"trace": trace}},
		"a record of a fleet": {func(log *slog.Logger) {
			log.LogAttrs(t.Context(), slog.LevelInfo, "record", tracing.Logged("ours", &record.Record{Fleet: "web"})...)
		}, map[string]string{"fleet": "web"}},
		"another line": {func(log *slog.Logger) {
			log.Warn("something else", tracing.About("ours", "web-2", "web-2/1"), slog.String("err", "no"))
		}, map[string]string{"machine": "web-2", "incident": "web-2/1", "trace": trace, "err": "no"}},
	} {
		var said bytes.Buffer
		c.line(slog.New(slog.NewJSONHandler(&said, nil)))
		got := map[string]string{}
		if err := json.Unmarshal(said.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(got, func(k, _ string) bool { return k == "time" || k == "level" || k == "msg" })
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
