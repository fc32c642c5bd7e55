package trace

import (
	"io"
	"time"
)

// repeatWithin is how long after a failure another one of the same node is taken for the same: its disks' tickets
// are written one by one.
const repeatWithin = time.Hour

// The columns of the SSD data that a trace has not.
const (
	columnTime   columnName = "time"
	columnFailed columnName = "failure"
)

// ssdColumns are the columns as published, and as named in reduced copies.
var ssdColumns = map[string]columnName{
	"failure_time": columnTime, "time": columnTime,
	"node_id": columnNode, "node": columnNode,
	"rack_id": columnRack, "rack": columnRack,
	"machine_room_id": columnRoom, "room": columnRoom,
	"failure": columnFailed,
}

// Report says what a conversion found.
type Report struct {
	Rows     int // of failures
	Healthy  int // rows about disks that did not fail, left out
	Merged   int // failures that repeat one of their node within an hour
	Outages  int
	Nodes    int
	Racks    int // a number that stands in two rooms is two racks
	Rooms    int
	First    time.Time // local time of the failures, as if it were UTC
	Last     time.Time
	Unplaced int // outages without a rack or without a room
}

// FromSSD converts the published failures of SSDs in a production fleet (repository alibaba-edu/dcbrain,
// ssd_open_data/ssd_failure_tag.csv, or a reduced copy with columns time, node, rack, room) to a trace of nodes. Rows
// may stand in any order; further columns are ignored. The error is as in [Read].
//
// Times are local and without a zone. They are read as if they were UTC: only their distances matter, and China, where
// the fleet stands, keeps one time all year. There are no ends; see [Trace.FillEnds].
func FromSSD(r io.Reader) (Trace, Report, error) {
	table := openTable(r, usual, ssdColumns, columnTime, columnNode, columnRack, columnRoom)
	var report Report
	var rows []timed
	if table.usable() {
		table.each(func(r row) {
			if r.text(columnFailed) == "0" {
				report.Healthy++
				return
			}
			if o, ok := failure(r); ok {
				rows = append(rows, o)
			}
		})
	}
	report.First = rebase(rows)
	spanned(table, rows)
	if err := table.err(); err != nil {
		return nil, Report{}, err
	}
	raw := all(rows)
	merged, repeats := raw.Merge(repeatWithin)
	report.Rows, report.Merged = len(raw), repeats
	if len(raw) > 0 {
		report.Last = report.First.Add(raw[len(raw)-1].Start)
	}
	report.count(merged)
	return merged, report, nil
}

// failure reads one line of the SSD data; false where its time is not usable, which is then noted.
func failure(r row) (o timed, ok bool) {
	o = timed{line: r.line, Outage: Outage{
		Node: r.node(), Rack: r.name(columnRack), Room: r.name(columnRoom), Cause: "ssd",
	}}
	instant, err := time.Parse(time.DateTime, r.text(columnTime))
	if err != nil || instant.Year() < 1970 || instant.Year() > 2200 {
		r.wrong(columnTime, "is no time such as 2019-03-22 10:05:52")
		return o, false
	}
	o.Start = time.Duration(instant.UnixNano())
	return o, true
}

// count notes what the trace names.
func (rep *Report) count(t Trace) {
	nodes, racks, rooms := map[string]bool{}, map[[2]string]bool{}, map[string]bool{}
	for _, o := range t {
		nodes[o.Node] = true
		if o.Rack != "" {
			racks[[2]string{o.Room, o.Rack}] = true
		}
		if o.Room != "" {
			rooms[o.Room] = true
		}
		if o.Rack == "" || o.Room == "" {
			rep.Unplaced++
		}
	}
	rep.Outages, rep.Nodes, rep.Racks, rep.Rooms = len(t), len(nodes), len(racks), len(rooms)
}
