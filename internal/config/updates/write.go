package updates

import (
	"hale/internal/config/sizes"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// Write returns what follows the key update, in one line.
func Write(u *policy.Update) string {
	var p keys.Pairs
	p.Add("canary", "%d", u.Pilots)
	p.Add("soak", "%s", u.Soak)
	may := func(key string, is policy.Portion) {
		if is != (policy.Portion{}) {
			p.Add(key, "%v", sizes.PortionShape().Format(is))
		}
	}
	may("batch", u.Batch)
	may("min_in_service", u.InService)
	if u.Surge > 0 {
		p.Add("surge", "%d", u.Surge)
	}
	p.May("pause", "%s", u.Pause)
	p.May("on_failure", "%s", u.OnFailure)
	p.May("undo_within", "%s", u.UndoWithin)
	p.May("order", "%s", u.Order)
	if q := u.Query; q != nil {
		var ask keys.Pairs
		ask.Add("metric", "%s", sizes.WriteMetric(q.Metric, q.Own))
		if q.Above != nil {
			ask.Add("above", "%s", keys.FormatNumber(*q.Above))
		}
		if q.Below != nil {
			ask.Add("below", "%s", keys.FormatNumber(*q.Below))
		}
		ask.Add("for", "%s", q.For)
		p.Add("query", "%s", ask)
	}
	return p.String()
}
