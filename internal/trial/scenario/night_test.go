package scenario

import (
	"fmt"
	"strings"
	"testing"

	"hale/internal/sim"
	"hale/internal/sim/score"
)

// TestS74AHostThatRebootsWakesNobody plays the commonest night in small and large installations, at default settings: a
// host loses its power for two minutes, or four, and comes back with its machines off. Each is started soon, and no
// person is told, however the fleet lies on its hosts and however seldom its provider is asked.
func TestS74AHostThatRebootsWakesNobody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ size, hosts int }{
		{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {8, 1}, {16, 1}, {20, 1}, {2, 2}, {3, 2}, {4, 2}, {5, 2}, {8, 2},
		{16, 2}, {40, 2},
		{3, 3}, {5, 3}, {9, 3}, {4, 4}, {8, 4}, {16, 4}, {80, 4}, {60, 6}, {200, 10},
	} {
		for _, minutes := range []int{2, 4} {
			for _, poll := range []string{"5s", "30s"} {
				t.Run(fmt.Sprintf("%d on %d, %d min, asked every %s", c.size, c.hosts, minutes, poll),
					func(t *testing.T) {
						t.Parallel()
						score := reboot(t, c.size, c.hosts, minutes, poll)
						lost, most := score.MachineHoursLost, 0.15*float64((c.size+c.hosts-1)/c.hosts)
						if score.Paged > 0 || score.Wrong() > 0 || score.Repairs != score.Outages || lost > most {
							t.Errorf("%d repairs of %d outages, %d pages, %d wrong, %.2f machine-hours lost, and "+
								"%.2f may be",
								score.Repairs, score.Outages, score.Paged, score.Wrong(), lost, most)
						}
					})
			}
		}
	}
}

// reboot plays the reboot of the first host, minutes long.
func reboot(t *testing.T, size, hosts, minutes int, poll string) score.Score {
	t.Helper()
	var file strings.Builder
	fmt.Fprintf(&file, `S74: a host reboots.
-- hale.yaml --
providers: {lab: {type: simulated, poll: %s, boot: 20s, latency: 200ms}}
fleets:
  web:
    provider: lab
    size: %d
    template: {image: web.qcow2, disks: {root: ephemeral}}
    checks: {alive: {ping: {}}}
-- world --
`, poll, size)
	for n := range hosts {
		fmt.Fprintf(&file, "host h%d\n", n+1)
	}
	fmt.Fprintf(&file, "run 1h\n-- events --\n1m  host h1 loses power for %dm\n-- expect --\n", minutes)
	s, err := Parse("reboot.txt", []byte(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(s.Options)
	if err != nil {
		t.Fatal(err)
	}
	return r.Score
}
