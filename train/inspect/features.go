package inspect

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"opl/train/logs"
)

// scanned is about how many rows say how columns vary.
const scanned = 50_000

// feature is a column of contexts, or of actions: what scanned rows say of it.
type feature struct {
	name     string
	place    int // in the vector
	mean, sd float64
	n        int
	most     float64
	sum, two float64 // of v − first
	first    float64
}

// scale returns a feature's mean and 1/sd.
type scale struct{ mean, over float64 }

// standard returns a value in units of its sd, at most 5 of them.
func (s scale) standard(v float64) float64 {
	if v = (v - s.mean) * s.over; v != v {
		return 0
	}
	return max(-5, min(v, 5))
}

// reader reads the features of contexts that vary most for their largest value, in the order of the log.
type reader struct {
	*log
	features []feature
	at       []int     // feature of each name, by its place in Names; negative: none
	x        []float64 // buffer for a vector; nil: features have names
	none     []float64 // features of value 0, as a vector has them
	scales   []scale   // of the features
	clock    []int     // features of the time, which come last, by their places in clock
	span     [2]int64  // of the time
}

// clock names what a row's time and slot tell of it. Hours and days are those of UTC.
var clock = [...]string{"timestamp=weekend", "timestamp=6 to 12 h UTC", "timestamp=12 to 18 h UTC", "timestamp=18 to 24 h UTC",
	"hour of timestamp, UTC", "weekday of timestamp (0: Sunday)", "timestamp (0: first, 1: last)", slot: "slot"}

const slot = 7 // in clock

// timed adds what the time and slots tell, where they vary.
func (r *reader) timed() {
	var all []feature
	for j, name := range clock {
		if j < slot && r.Time != nil || j == slot && r.Lists != nil {
			all = append(all, feature{name: name, place: j})
		}
	}
	if all == nil {
		return
	}
	if r.Time != nil {
		r.span = [2]int64{slices.Min(r.Time), slices.Max(r.Time)}
	}
	for _, f := range r.spread(all, func(i int, use func(j int, v float64)) {
		for j, f := range all {
			use(j, r.tells(i, f.place))
		}
	}) {
		r.clock, r.features = append(r.clock, f.place), append(r.features, f)
		r.scales, r.none = append(r.scales, scale{f.mean, 1 / f.sd}), append(r.none, 0)
	}
}

// tells is one of the features of row i's time and slot.
func (r *reader) tells(i, which int) (v float64) {
	if which == slot {
		return float64(r.Lists.Slot[i])
	}
	const day = int64(24 * time.Hour)
	days, in := r.Time[i]/day, r.Time[i]%day // since 1970, a Thursday
	if in < 0 {
		days, in = days-1, in+day
	}
	switch weekday := (days%7 + 11) % 7; { // 0 is Sunday
	case which == 0 && weekday%6 == 0, which > 0 && which < 4 && int64(which) == in/(day/4):
		return 1
	case which == 4:
		return float64(in) / float64(time.Hour)
	case which == 5:
		return float64(weekday)
	case which == 6:
		return (float64(r.Time[i]) - float64(r.span[0])) / (float64(r.span[1]) - float64(r.span[0]))
	}
	return 0
}

// ofContexts counts the features that are of contexts.
func (r *reader) ofContexts() int { return len(r.features) - len(r.clock) }

// reader reads at most so many features.
func (l *log) reader(most int) *reader {
	all := l.varied()
	return l.reads(slices.SortedFunc(slices.Values(all[:min(len(all), most)]),
		func(f, g feature) int { return cmp.Compare(f.place, g.place) }))
}

// reads returns a reader of the given features.
func (l *log) reads(features []feature) *reader {
	r := &reader{log: l, features: features, at: slices.Repeat([]int{-1}, len(l.columnNames()))}
	if l.Names() == nil && l.X != nil {
		r.x = make([]float64, len(r.at))
	}
	for f, of := range features {
		r.at[of.place] = f
		r.scales = append(r.scales, scale{of.mean, 1 / of.sd})
		r.none = append(r.none, r.scales[f].standard(0))
	}
	return r
}

// alone returns the reader with a buffer of its own, for another goroutine.
func (r *reader) alone() *reader {
	c := *r
	c.x = slices.Clone(r.x)
	return &c
}

// columnNames returns the names of the columns of contexts.
func (l *log) columnNames() []string {
	if l.Names() == nil && l.X != nil {
		return places(l.X)
	}
	return l.Names()
}

// places names the elements of vectors by their places.
func places(x logs.Contexts) (names []string) {
	for j := range x.Dim() {
		names = append(names, "feature "+strconv.Itoa(j))
	}
	return names
}

// scan returns the features of contexts, those first that vary most. Bets, late rewards and columns that know share it.
func (l *log) scan() (all []feature) {
	for j, name := range l.columnNames() {
		all = append(all, feature{name: name, place: j})
	}
	return l.spread(all, l.reads(all).each)
}

// spread sorts those features, of which each hands out the values, that vary, by their sd over the largest value.
func (l *log) spread(features []feature, each func(i int, use func(j int, v float64))) []feature {
	each(0, func(j int, v float64) { features[j].first = v })
	rows := 0
	for i := 0; i < l.n; i += 1 + l.n/scanned {
		rows++
		each(i, func(j int, v float64) {
			f := &features[j]
			f.n++
			f.most = max(f.most, math.Abs(v))
			f.sum += v - f.first
			f.two += (v - f.first) * (v - f.first)
		})
	}
	kept := features[:0]
	for _, f := range features {
		none := float64(rows - f.n) // rows of value 0
		m := (f.sum - none*f.first) / float64(rows)
		f.mean, f.sd = f.first+m, math.Sqrt((f.two+none*f.first*f.first)/float64(rows)-m*m)
		if f.sd > 1e-9*f.most && f.sd < math.MaxFloat64 {
			kept = append(kept, f)
		}
	}
	slices.SortStableFunc(kept, func(f, g feature) int { return cmp.Compare(g.sd/g.most, f.sd/f.most) })
	return kept
}

// each calls use with the features of row i by their place in r.features; those of value 0 may be left out.
func (r *reader) each(i int, use func(f int, v float64)) {
	for j, which := range r.clock {
		use(r.ofContexts()+j, r.tells(i, which))
	}
	if r.x != nil {
		r.X.Row64(r.Context(i), r.x)
		for f := range r.ofContexts() {
			use(f, r.x[r.features[f].place])
		}
		return
	}
	ids, values := r.Values(i)
	for j, id := range ids {
		if f := r.at[id]; f >= 0 {
			use(f, values[j])
		}
	}
}

// vector writes the features of row i, in units of their sd and at most 5 of them.
func (r *reader) vector(i int, dst []float64) {
	copy(dst, r.none)
	r.each(i, func(f int, v float64) { dst[f] = r.scales[f].standard(v) })
}
