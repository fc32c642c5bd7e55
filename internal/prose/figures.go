package prose

import (
	"fmt"
	"strconv"
	"time"

	"hale/internal/core/fleet"
)

// Clock renders a moment of the day, in the location that the time carries: 15:04:05.000.
func Clock(t time.Time) string { return t.Format("15:04:05.000") }

// Span renders a duration with the two units that matter: 340ms, 2.3s, 41s, 3m12s, 2h05m, 4d03h.
func Span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', -1, 64) + "s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// shortID is how much of an instance's id tells it from the others at a glance.
const shortID = 8

// Instance shortens an instance's id for the eye.
func Instance(id fleet.InstanceID) string {
	if len(id) <= shortID {
		return string(id)
	}
	return string(id[:shortID]) + "…"
}

// machines counts them.
func machines(n int) string {
	if n == 1 {
		return "1 machine"
	}
	return fmt.Sprintf("%d machines", n)
}
