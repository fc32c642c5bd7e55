package prose

import (
	"fmt"
	"strconv"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// size says what opinions want of a fleet's size, and why it is not so, where it is not.
func size(r record.Record) string {
	switch r.Reason {
	case fleet.ReasonOpinion:
		return fmt.Sprintf("%s is to have %s, and not %d%s", about(r), machines(r.Size), r.Limit, opinionOf(r))
	case fleet.ReasonObserve:
		return fmt.Sprintf("%s would have %s, and not %d%s, if its size were not only watched", about(r),
			machines(r.Size), r.Limit, opinionOf(r))
	case fleet.ReasonForecast:
		return fmt.Sprintf("%s: of the last %d hours that its history foretold, it would have been too small in %d, "+
			"and had %d machine-hours to spare", about(r), r.Limit, r.Failing, r.Size)
	default:
	}
	said := fmt.Sprintf("%s stays at %s, and %d are wanted%s", about(r), machines(r.Limit), r.Size, opinionOf(r))
	return Because(said, Aside(words.Reason(r.Reason), r.Detail)) + until(r)
}

// opinionOf says which opinion it is, and by which number: ", by opinion busy (load is 83 for a target of 50)".
func opinionOf(r record.Record) string {
	if r.Opinion == "" {
		return ""
	}
	figures := ""
	if r.Metric != "" {
		figures = string(r.Metric) + " is " + Figure(r.Value)
	}
	if figures != "" && r.Goal != 0 {
		figures += " for a target of " + Figure(r.Goal)
	}
	return Aside(", by opinion "+string(r.Opinion), figures)
}

// until says until when, where that is known.
func until(r record.Record) string {
	if r.Until.IsZero() {
		return ""
	}
	return ", until " + r.Until.UTC().Format("2006-01-02 15:04:05") + " UTC"
}

// metric says that a metric says nothing, and why, or that it does again.
func metric(r record.Record) string {
	which := strings.TrimSuffix(about(r)+": metric "+string(r.Metric), " ")
	if r.Reason == fleet.ReasonUp {
		return which + " says something again" + after(r)
	}
	return Because(which+" says nothing", Aside(words.Reason(r.Reason), r.Detail))
}

// sizeOrder says which size an order wants: "5 machines", "2 machines more", "50 % fewer, but 3 at least".
func sizeOrder(size int, c fleet.SizeChange) string {
	more := func(n int) string {
		if n < 0 {
			return "fewer"
		}
		return "more"
	}
	switch {
	case c.By != 0:
		return machines(max(c.By, -c.By)) + " " + more(c.By)
	case c.Percent != 0 && c.AtLeast > 0:
		return fmt.Sprintf("%d %% %s, but %d at least", max(c.Percent, -c.Percent), more(c.Percent), c.AtLeast)
	case c.Percent != 0:
		return fmt.Sprintf("%d %% %s", max(c.Percent, -c.Percent), more(c.Percent))
	}
	return machines(size)
}

// Figure writes a number of a metric as people do, with three digits that matter.
func Figure(v float64) string { return strconv.FormatFloat(v, 'g', figureDigits(v), 64) }

// figureDigits is as many digits as the whole part of the number has, and three at least.
func figureDigits(v float64) int {
	if v > -1000 && v < 1000 {
		return 3
	}
	return len(strconv.FormatFloat(max(v, -v), 'f', 0, 64))
}
