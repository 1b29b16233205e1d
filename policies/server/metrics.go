package server

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"opl/policies/policyfile"
)

// The upper ends of the latency histogram, in seconds, and the kinds of errors that are counted.
var (
	bounds = [...]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}
	kinds  = [...]string{"request", "too_large", "read", "overload", "log", "path", "method", "host", "origin",
		"token", "type", "conflict"}
)

// metrics counts what /metrics tells. The histogram's count is the number of decisions, so they are counted once.
type metrics struct {
	errors              [len(kinds)]atomic.Uint64
	refused             atomic.Uint64 // connections
	unknown             atomic.Uint64
	repeated            atomic.Uint64
	reloads, badReloads atomic.Uint64
	reloading           atomic.Int64 // since when, nanoseconds since 1970; 0: no reload is under way
	inFlight            atomic.Int64
	buckets             [len(bounds) + 1]atomic.Uint64
	nanoseconds         atomic.Uint64
}

// fail counts an error of one of the kinds.
func (m *metrics) fail(kind string) { m.errors[slices.Index(kinds[:], kind)].Add(1) }

// took counts a decision by the time that it took.
func (m *metrics) took(d time.Duration) {
	i := 0
	for i < len(bounds) && d.Seconds() > bounds[i] {
		i++
	}
	m.buckets[i].Add(1)
	m.nanoseconds.Add(uint64(d))
}

// text appends the metrics in Prometheus' text format, which is short enough to need no client library.
func (m *metrics) text(b []byte, l *Log, p *policyfile.Policy) []byte {
	family := func(name, kind, help string) {
		b = fmt.Appendf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	single := func(name, kind, help string, v any) {
		family(name, kind, help)
		b = fmt.Appendf(b, "%s %v\n", name, v)
	}
	var counts [len(bounds) + 1]uint64
	var sum uint64
	for i := range counts {
		sum += m.buckets[i].Load()
		counts[i] = sum
	}
	single("opl_decisions_total", "counter", "Decisions answered.", sum)
	family("opl_errors_total", "counter", "Requests answered by an error, by kind.")
	for i, k := range kinds {
		b = fmt.Appendf(b, "opl_errors_total{kind=%q} %d\n", k, m.errors[i].Load())
	}
	single("opl_refused_connections_total", "counter", "Connections above the limits.", m.refused.Load())
	single("opl_repeated_answers_total", "counter", "Answers given again to an id that asked again; decisions, but "+
		"not logged twice.", m.repeated.Load())
	single("opl_unknown_values_total", "counter", "Names and categories of contexts that the policy does not know.",
		m.unknown.Load())
	single("opl_in_flight_requests", "gauge", "Decisions under way.", m.inFlight.Load())
	family("opl_decide_seconds", "histogram", "Time from a request's header to its answer.")
	for i, le := range bounds {
		b = fmt.Appendf(b, "opl_decide_seconds_bucket{le=\"%v\"} %d\n", le, counts[i])
	}
	b = fmt.Appendf(b, "opl_decide_seconds_bucket{le=\"+Inf\"} %d\nopl_decide_seconds_sum "+
		"%v\nopl_decide_seconds_count %d\n",
		sum, time.Duration(m.nanoseconds.Load()).Seconds(), sum)
	single("opl_log_lines_total", "counter", "Decisions written to the log.", l.lines.Load())
	single("opl_log_writes_total", "counter", "Writes to the log, of one or more decisions.", l.writes.Load())
	single("opl_log_opens_total", "counter", "Times a file of the log was opened: at the start, and after it was "+
		"renamed, removed or full.", l.opens.Load())
	failing := 0
	if l.Err() != nil {
		failing = 1
	}
	single("opl_log_failing", "gauge", "1 while decisions cannot be logged.", failing)
	single("opl_log_fsyncs_total", "counter", "Times the log was forced to the disk.", l.fsyncs.Load())
	family("opl_reloads_total", "counter", "Reloads of the policy, by result.")
	b = fmt.Appendf(b, "opl_reloads_total{result=\"ok\"} %d\nopl_reloads_total{result=\"failed\"} %d\n",
		m.reloads.Load(), m.badReloads.Load())
	var reloading float64
	if since := m.reloading.Load(); since > 0 {
		reloading = time.Since(time.Unix(0, since)).Seconds()
	}
	single("opl_reload_under_way_seconds", "gauge", "How long the reload under way has taken; 0: none is.", reloading)
	family("opl_policy_info", "gauge", "The policy being served.")
	b = fmt.Appendf(b, "opl_policy_info{hash=%q,kind=%q} 1\n", p.Hash(), p.File().Components[0].Kind)
	if c := p.Catalogue(); c != nil {
		family("opl_catalogue_actions", "gauge", "Actions of the catalogue being served, by its hash.")
		b = fmt.Appendf(b, "opl_catalogue_actions{hash=%q} %d\n", c.Hash, p.Len())
	}
	return b
}
