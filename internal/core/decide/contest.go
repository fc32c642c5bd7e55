package decide

import (
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// contestLasts is for how long two hosts show an instance until a person is told, where no further listing said so:
// what is told of changes only was told.
const contestLasts = time.Minute

// noticeContest keeps whether two hosts show one of the machine's instances. A person is told when a second listing
// says so, too, or nothing was said to the contrary for a while: in the middle of a migration the first one may.
func (w *work) noticeContest() {
	m := w.M
	at := slices.IndexFunc(w.View.Seen, func(s fleet.Sighting) bool { return s.Instance.Contested() })
	if at < 0 {
		if m.Contest != nil && len(w.Situation.Silent) == 0 && w.Situation.Provider.Standing == fleet.ProviderUp {
			w.Record(record.Record{Kind: record.Contest, Reason: fleet.ReasonReleased, Instance: m.Current.ID,
				Host: m.Current.Host, Paged: m.Contest.Paged})
			m.Contest = nil
		}
		return
	}
	s := &w.View.Seen[at]
	rec := record.Record{Kind: record.Contest, Reason: fleet.ReasonTwoHosts, Instance: s.Instance.ID,
		Generation: s.Instance.Mark.Generation,
		Host:       s.Instance.Host, Detail: string(s.Instance.Also)}
	if m.Contest == nil || m.Contest.Host != s.Instance.Host || m.Contest.Also != s.Instance.Also {
		m.Contest = &belief.Contest{Asked: s.Asked, Host: s.Instance.Host, Also: s.Instance.Also}
		w.Record(rec)
	}
	// it may be heard of late, as when the store was full
	lasts := w.Situation.Now.Due(m.Contest.Asked.Add(contestLasts))
	if !m.Contest.Paged && (s.Asked > m.Contest.Asked || lasts) {
		told := *m.Contest
		told.Paged, m.Contest = true, &told
		rec.Kind = record.Paged
		w.Record(rec)
	}
}
