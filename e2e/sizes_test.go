package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"hale/internal/testbed/haproxy"
	"hale/internal/testbed/prometheus"
	"hale/internal/testbed/traffic"
)

// envDrawing is where the long dose draws its picture; empty: the short dose is played.
const envDrawing = "E2E_SIZES"

// TestTheSizeFollowsARealLoad plays a recorded load at a service on real machines behind HAProxy. The fleet's size
// follows it; machines are killed meanwhile, and Prometheus stands still for a while. It runs beside no other test: how
// much its machines serve is to depend on how many they are.
func TestTheSizeFollowsARealLoad(t *testing.T) {
	play := dose{
		least: 2, most: 4, from: july(13, 7), to: july(13, 18), length: 105 * time.Second,
		killEvery: 30 * time.Second, silence: 15 * time.Second, tick: 2 * time.Hour,
	}
	picture := os.Getenv(envDrawing)
	if picture != "" {
		play = dose{
			least: 2, most: 6, from: july(12, 0), to: july(15, 0), length: 15 * time.Minute,
			killEvery: 45 * time.Second, silence: 40 * time.Second, tick: 12 * time.Hour,
		}
		if err := os.MkdirAll(filepath.Dir(picture), 0o750); err != nil { // before the quarter of an hour, not after
			t.Fatal(err)
		}
	} else {
		picture = filepath.Join(t.TempDir(), "sizes.svg")
	}
	trace, err := traffic.Launch()
	if err != nil {
		t.Fatal(err)
	}
	proxy := haproxy.Start(t, haproxy.Service{Seats: play.most + 2, Page: workPage, AtOnce: 1})
	reader := prometheus.Start(t, prometheus.Job{Name: "haproxy", Address: proxy.Metrics})
	s := newStage(t, "10.49.0.0/16", settings{fleet: "web", size: play.least, most: play.most, fleetYAML: workload})
	s.raise()
	s.stands()
	ushers := s.attend(proxy, play.most+2)
	defer ushers.end()
	s.configure(func(set *settings) { set.sizes = play.sizes(reader.URL) })
	s.says("reload")
	s.scene("the size follows the load", func(s stage) {
		d := &day{stage: s, dose: play, proxy: proxy, prometheus: reader, users: &traffic.Users{},
			load: traffic.Load{Trace: trace, From: play.from, To: play.to, Length: play.length,
				Peak: 1.15 * float64(play.most*eachServes)}}
		d.pass()
		if err := os.WriteFile(picture, []byte(d.draw(d.after(d.mark))), 0o600); err != nil {
			t.Error(err)
		}
		d.tell()
		d.judge()
	})
}

// july is an hour of the recording.
func july(day, hour int) time.Time { return time.Date(1995, time.July, day, hour, 0, 0, 0, time.UTC) }
