package metrics

import (
	"runtime"
	"time"

	"hale/api"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/probe/bulkprobe"

	"github.com/prometheus/client_golang/prometheus"
)

// What hale itself is made of, as it stands.
var (
	buildInfo = gauge("build_info", "What runs: 1.", "version", "goversion")
	started   = gauge("start_time_seconds", "When hale was started.")
	heartbeat = gauge("heartbeat_timestamp_seconds", "When hale last acted in every fleet, looked at every second. "+
		"When it falls behind, or is missing, machines are not looked after.")
	reloaded   = gauge("config_last_reload_successful", "Whether the configuration in the file is the one that runs.")
	reloadedAt = gauge("config_last_reload_success_timestamp_seconds", "When the configuration was last taken over.")
	troubles   = gauge("troubles", "What hale lacks on its own server, and a person can give it, by what it is about.",
		"part")
	panics  = counter("panics_total", "Panics in parts of hale; the rest went on.")
	defects = gauge("defects", "Places in hale that panicked within the last hour, by part.", "part")

	storeTakes = gauge("store_takes", "Whether the store takes what is written; else no repair begins.")
	storeLow   = gauge("store_low", "Whether there is soon no room in the store.")
	storeSize  = gauge("store_size_bytes", "How large the store's database is.")
	storeQuota = gauge("store_quota_bytes", "How large it may become.")
	diskFree   = gauge("store_disk_free_bytes", "How much is free on the store's disk.")
	diskSize   = gauge("store_disk_size_bytes", "How large the store's disk is.")

	unowned = gauge("provider_unowned_instances", "Instances at the provider that bear hale's mark and that no fleet "+
		"looks after.", "provider")

	fences = gauge("provider_fences",
		"Ways to cut the power of the provider's hosts, by how the last test of each ended.",
		"provider", "test")

	streamTaken = counter("stream_records_total",
		"Records of the journal that a stream's receiver took: traces, or an "+
			"outlet of the journal.", "stream")
	streamLost = counter("stream_lost_total",
		"Records that the journal let go of before a stream's receiver took them.",
		"stream")
	streamRefused = counter("stream_refused_total",
		"Records, or spans, that a stream's receiver took to be wrong: they are "+
			"not sent again.", "stream")
	streamTakes = gauge("stream_takes",
		"Whether the stream's receiver takes what it is sent; else it waits in the journal.",
		"stream")

	targets = gauge("probe_targets",
		"What is asked by the shards that all fleets share: pings, ports and plain pages.")
	probed   = counter("probes_started_total", "Probes by those shards.")
	answered = counter("probes_answered_total", "Probes that got any answer within their time.")
	skipped  = counter("probes_skipped_total",
		"Probes that came too late to be started: they are unknown, and no failure.")
	putOff = counter("probes_put_off_total", "Times that a probe waited for want of room.")
	local  = counter("probes_failed_locally_total",
		"Probes that failed on hale's side: they are unknown, and no failure.")
	stalls   = counter("probe_stalls_total", "Times that a shard got no processor in time.")
	lateness = gauge("probe_lateness_seconds", "How much later than due probes were started.")
	stalest  = gauge("probe_stalest_seconds", "For how long nothing was heard of the target that was heard of last "+
		"longest ago.")
)

var parts = []family{
	buildInfo, started, heartbeat, reloaded, reloadedAt, troubles, panics, defects, storeTakes, storeLow, storeSize,
	storeQuota, diskFree, diskSize, unowned, fences, streamTaken, streamLost,
	streamRefused, streamTakes, targets, probed, answered, skipped, putOff, local, stalls, lateness, stalest,
}

type partCollector struct {
	Options
}

// Describe implements prometheus.Collector.
func (c partCollector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range parts {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c partCollector) Collect(to chan<- prometheus.Metric) {
	out := say(to)
	out.value(buildInfo, 1, c.Version, runtime.Version())
	out.value(started, seconds(c.Started))
	if at := c.Counts.beat.Load(); at != 0 {
		out.value(heartbeat, seconds(time.Unix(0, at)))
	}
	if c.Reloaded != nil {
		at, err := c.Reloaded()
		out.whether(reloaded, truth(err == nil))
		out.value(reloadedAt, seconds(at))
	}
	c.troubles(out)
	c.store(out)
	c.unowned(out)
	c.fences(out)
	c.streams(out)
	c.probes(out)
}

// Stream is how one stream out of hale stands.
type Stream struct {
	Name                 string
	Taken, Lost, Refused uint64
	Takes                bool
}

func (c partCollector) streams(out say) {
	if c.Streams == nil {
		return
	}
	for _, s := range c.Streams() {
		out.value(streamTaken, float64(s.Taken), s.Name)
		out.value(streamLost, float64(s.Lost), s.Name)
		out.value(streamRefused, float64(s.Refused), s.Name)
		out.whether(streamTakes, truth(s.Takes), s.Name)
	}
}

// seconds is a time as Prometheus says it.
func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }

// lacks are what a trouble can be about.
var lacks = []string{api.TroublePing, api.TroubleHeartbeats, api.TroubleAPI, api.TroubleTarget, api.TroubleStream,
	api.TroubleCheck, api.TroubleHook, api.TroubleSatellite,
	api.TroubleFence, api.TroubleProvider, api.TroubleBalancer, api.TroubleDiscovery}

func (c partCollector) troubles(out say) {
	if c.Troubles != nil {
		n := map[string]int{}
		for _, t := range c.Troubles() {
			n[t.Part]++
		}
		for _, part := range lacks {
			out.value(troubles, number(n[part]), part)
		}
	}
	out.value(panics, number(c.Defects.Revision()))
	n, now := map[defect.Part]int{}, time.Now()
	for _, e := range c.Defects.All() {
		if !e.Over(now) {
			n[e.Place.Part]++
		}
	}
	for part, count := range n {
		out.value(defects, number(count), string(part))
	}
}

func (c partCollector) store(out say) {
	is := c.Stored()
	out.whether(storeTakes, is.Trouble == "")
	out.whether(storeLow, is.Low != "")
	if c.Room == nil {
		return
	}
	room, err := c.Room()
	if err != nil {
		return // a store fails by itself when its disk does not answer
	}
	out.value(storeSize, number(room.Used))
	out.value(storeQuota, number(room.Quota))
	out.value(diskFree, number(room.Free))
	out.value(diskSize, number(room.Total))
}

func (c partCollector) unowned(out say) {
	if c.Unowned == nil {
		return
	}
	n := map[fleet.ProviderName]int{}
	for _, u := range c.Unowned() {
		n[u.Provider]++
	}
	for name, count := range n {
		out.value(unowned, number(count), string(name))
	}
}

func (c partCollector) fences(out say) {
	if c.Fences == nil {
		return
	}
	n := map[string]map[string]int{}
	for _, h := range c.Fences() {
		if n[h.Provider] == nil {
			n[h.Provider] = map[string]int{}
		}
		for _, m := range h.Methods {
			n[h.Provider][tested(m)]++
		}
	}
	for name, of := range n {
		for _, test := range []string{testOK, testFailed, testNone} {
			out.value(fences, number(of[test]), name, test)
		}
	}
}

// How the last test of a fence ended, as a label says it.
const (
	testOK     = "ok"
	testFailed = "failed"
	testNone   = "none"
)

func tested(m api.FenceMethod) string {
	switch {
	case m.Test == nil:
		return testNone
	case m.Test.OK:
		return testOK
	}
	return testFailed
}

// latenessBounds are those of the histogram: a probe that is later than the last is skipped.
var latenessBounds = []time.Duration{time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second}

func (c partCollector) probes(out say) {
	if c.Probes == nil {
		return
	}
	is, known := c.Probes()
	if !known {
		return
	}
	out.value(targets, number(is.Targets))
	out.value(probed, number(is.Started))
	out.value(answered, number(is.Answered))
	out.value(skipped, number(is.Skipped))
	out.value(putOff, number(is.PutOff))
	out.value(local, number(is.Local))
	out.value(stalls, number(is.Stalls))
	out.value(stalest, is.Stalest.Seconds())
	out <- late(&is)
}

func late(is *bulkprobe.Stats) prometheus.Metric {
	within := map[float64]uint64{}
	for _, b := range latenessBounds {
		within[b.Seconds()] = is.Lateness.Within(b)
	}
	return prometheus.MustNewConstHistogram(lateness.desc, is.Started, is.Late.Seconds(), within)
}
