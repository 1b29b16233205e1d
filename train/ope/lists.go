package ope

import (
	"cmp"
	"fmt"
	"slices"

	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// listed is a target's lists: what estimators of lists read, beside Data.
type listed struct {
	*provenance.Lists
	slots Target // the target on the log of slots
	at    []int  // the list of each row
	some  []int  // rows of the log of slots that these are; nil: all
	// direct[r] = Σ_a π(a|x, a_<l) r̂_l(a) and predicted[r] = r̂_l(a_l), by row of the log of slots; nil: there is no
	// model
	direct, predicted []float64
}

// among is a target's lists of some rows.
func (t *listed) among(rows []int) *listed {
	if t == nil {
		return nil
	}
	out := *t
	out.at, out.some = logs.Pick(t.at, rows), t.rows(rows)
	return &out
}

// rows are those of the log of slots that some rows stand for.
func (t *listed) rows(some []int) []int {
	if t == nil {
		return some
	}
	var out []int
	for _, r := range some {
		for i := t.Starts[t.at[r]]; i < t.Starts[t.at[r]+1]; i++ {
			out = append(out, i)
		}
	}
	return out
}

// policy is the target on the log of slots, or on those that its lists are.
func (t *listed) policy() (row certify.Policy, logged []float64) {
	if t.some == nil {
		return t.slots.Row, t.Pi
	}
	if t.slots.Row != nil {
		row = func(dst []float64, i int) error { return t.slots.Row(dst, t.some[i]) }
	}
	return row, logs.Pick(t.Pi, t.some)
}

// list is what list i amounts to under an assumption.
func (d *Data) list(a certify.Assumption, i int) certify.List {
	return d.lists.List(a, d.lists.at[i], 1)
}

// listEstimators lists the estimators of logs whose rows are slots of lists, in the order of tables. They read what
// [certify.Slots] makes of a list: each is unbiased under its assumption about rewards, which stands in its formula,
// and counts as biased where no more is assumed of the log ([logs.Lists]) than it needs.
//
//	ips, rips, iips        mean of Σ_l α_l W_l r_l
//	aips                   the same, with the W_l that a column names by list; snaips
//	snips, snrips, sniips  Σ Σ_l α_l W_l r_l / Σ (Σ_l α_l W_l / Σ_l α_l)
//	cascade-dr             mean of Σ_l α_l (W_l (r_l − r̂_l) + W_{l−1} Σ_a π(a|x, a_<l) r̂_l(a))
//	direct                 mean of Σ_l α_l Σ_a π(a|x, a_<l) r̂_l(a), biased as r̂ is, and by slots a_<l of π₀ above
//	pi, snpi               mean of W Σ_l α_l r_l, and by the mean of W, see [certify.Pseudoinverse]
//	pi-cv                  mean of W Σ_l α_l r_l − β (W − 1), β = Cov(W Σ_l α_l r_l, W)/Var(W)
//
// Swaminathan et al. (2017), Kiyohara et al. (2023), McInerney et al. (2020), Li et al. (2018); cascade-dr after
// Kiyohara et al. (2022), pi-cv after Vlassis et al. (2021). Those with the pseudoinverse need no rewards of slots: of
// a list's one reward they assume that it adds up over slots.
func listEstimators(assumed certify.Assumption) []Estimator {
	order := func(a certify.Assumption) int { return slices.Index(certify.Assumptions(), string(a)) }
	var all []Estimator
	for _, e := range []struct {
		assumption  certify.Assumption
		name, about string
	}{
		{certify.NoAssumption, "ips", "W_l = ∏ w_j over the list"},
		{certify.Cascade, "rips", "W_l = ∏ w_j over slots to l"},
		{certify.Independence, "iips", "W_l = π(a at l|x)/π₀(a at l|x)"},
		{certify.Varied, "aips", "W_l of these by list, as a column says"},
	} {
		if e.assumption == certify.Varied && assumed != certify.Varied {
			continue
		}
		x := func(d *Data) func(i int) float64 {
			return func(i int) float64 { return -d.list(e.assumption, i).X }
		}
		biased := order(e.assumption) > max(0, order(assumed))
		all = append(all, Estimator{Name: e.name, About: "mean of Σ_l α_l W_l r_l, " + e.about, Biased: biased,
			Of: func(d *Data, _ float64) Value { return d.Mean(x(d)) }, assumes: e.assumption})
		all = append(all, Estimator{Name: "sn" + e.name, Biased: biased, assumes: e.assumption, ratio: true,
			About: "the same, by Σ_l α_l W_l / Σ_l α_l",
			Of: func(d *Data, _ float64) Value {
				return d.Ratio(x(d), func(i int) float64 { return d.list(e.assumption, i).Weight })
			}})
	}
	all = append(all, Estimator{Name: "cascade-dr", Biased: order(assumed) < 1, assumes: certify.Cascade,
		learns: true,
		About:  "mean of Σ_l α_l (W_l (r_l − r̂_l) + W_{l−1} Σ_a π r̂_l(a))",
		Of:     func(d *Data, _ float64) Value { return d.Mean(d.cascadeDR) }},
		Estimator{Name: "direct", Biased: true, assumes: certify.Cascade, learns: true, direct: true,
			About: "mean of Σ_l α_l Σ_a π(a|x, a_<l) r̂_l(a), after the slots that were logged above",
			Of: func(d *Data, _ float64) Value {
				return d.Mean(func(i int) (sum float64) {
					t, at := d.lists, d.lists.at[i]
					for l, a := range t.Alpha(t.Starts[at+1] - t.Starts[at]) {
						sum += a * t.direct[t.Starts[at]+l]
					}
					return sum
				})
			}})
	pseudo := func(name, about string, ratio bool, of func(d *Data, w, x func(i int) float64) Value) Estimator {
		return Estimator{Name: name, About: about, Biased: assumed != certify.Independence,
			assumes: certify.Independence, adds: true, ratio: ratio,
			Of: func(d *Data, _ float64) Value {
				w := func(i int) float64 { return d.lists.Pseudo[d.lists.at[i]] }
				return of(d, w, func(i int) float64 { return w(i) * d.R[i] })
			}}
	}
	return append(all,
		pseudo("pi", "mean of W Σ_l α_l r_l, W of the pseudoinverse", false,
			func(d *Data, _, x func(i int) float64) Value { return d.Mean(x) }),
		pseudo("snpi", "the same, by W", true,
			func(d *Data, w, x func(i int) float64) Value { return d.Ratio(x, w) }),
		pseudo("pi-cv", "mean of W Σ_l α_l r_l − β (W − 1)", false, func(d *Data, w, x func(i int) float64) Value {
			beta := 0.
			if mean, around := d.Mean(w).Value, d.Mean(x).Value; mean == mean {
				both := d.Mean(func(i int) float64 { return (w(i) - mean) * (x(i) - around) }).Value
				if square := d.Mean(func(i int) float64 { return (w(i) - mean) * (w(i) - mean) }).Value; square > 0 {
					beta = both / square
				}
			}
			return d.Mean(func(i int) float64 { return x(i) - beta*(w(i)-1) })
		}))
}

// cascadeDR is the doubly robust estimate of a list in a cascade: what the model says of a slot has the weight of the
// slots above it.
func (d *Data) cascadeDR(i int) (sum float64) {
	t, at := d.lists, d.lists.at[i]
	from, before := t.Starts[at], 1.
	alpha := t.Alpha(t.Starts[at+1] - from)
	for l, w := range t.Weights(certify.Cascade, at, 1) {
		r := from + l
		sum += alpha[l] * (w*(-t.Cost[r]-t.predicted[r]) + before*t.direct[r])
		before = w
	}
	return sum
}

// assumed says why what is assumed of lists is not to be believed of a target; "": nothing speaks against it.
func (e *evaluation) assumed(t Target) string {
	if t.lists == nil {
		return ""
	}
	clusters := make([]int32, t.lists.Log.Len())
	for k, i := range t.lists.at {
		clusters[i] = int32(e.group(k))
	}
	return t.lists.Flatters(t.lists.at, clusters)
}

// evaluateLists is Evaluate of a log whose rows are slots of lists: it estimates what lists earn.
func evaluateLists(log *logs.Log, targets []Target, o Options) (Result, error) {
	if err := o.check(targets); err != nil {
		return Result{}, err
	}
	if err := cmp.Or(provenance.Required(log, o.Gamma, o.Requirements), log.Check()); err != nil {
		return Result{}, err
	}
	slots := log.RequirePropensities() // without joint ones, too
	if slots != nil && !log.Lists.Jointly() {
		return Result{}, fmt.Errorf("ope: %w", slots)
	}
	if o.Judge == nil && !o.EstimatesAlone {
		o.Judge = provenance.Within(log, o.Gamma)
	}
	assumed := cmp.Or(certify.Assumption(log.Lists.Assume), certify.NoAssumption)
	if certify.AssumedBy(log.Lists.Assume) != "" {
		assumed = certify.Varied
	}
	model := o.Model
	if alone := len(o.Estimators) == 1; !alone && model == nil && o.Learn != nil {
		var err error
		if model, err = o.Learn(nil); err != nil {
			return Result{}, err
		}
	}
	marginals := log.Lists.Assume == string(certify.Independence)
	o.Estimators = slices.DeleteFunc(listEstimators(assumed), func(e Estimator) bool {
		selects := e.assumes == assumed && e.ratio && (!e.adds || log.Lists.Whole)
		return len(o.Estimators) == 1 && !selects || // for a selection
			slots != nil && e.assumes != certify.NoAssumption && !e.direct ||
			e.learns && model == nil || e.direct && certify.FirstClicks(log.Lists.SlotWeights) ||
			e.assumes == certify.Independence && !marginals ||
			log.Lists.Whole && e.assumes != certify.NoAssumption && !e.adds
	})
	o.Model, o.Learn, o.Loggers = nil, nil, nil
	var lists []Target
	for _, t := range targets {
		one, err := t.onLists(log, model)
		if err != nil {
			return Result{}, fmt.Errorf("ope: target %s: %w", t.Name, err)
		}
		lists = append(lists, one)
	}
	r, err := Evaluate(lists[0].lists.Log, lists, o)
	if err != nil {
		return r, err
	}
	for i := range r.Policies {
		if not := targets[i].unread(log); not != "" {
			r.Policies[i].Warnings, r.Policies[i].Recommended = append(r.Policies[i].Warnings, not), ""
		}
		if p := &r.Policies[i]; p.Recommended != "" {
			p.Recommended = p.Estimates[slices.IndexFunc(o.Estimators, func(e Estimator) bool {
				return e.assumes == assumed && e.ratio
			})].Estimator
		}
	}
	r.Notes = append(slices.Clip(r.Notes), fmt.Sprintf("rows are %d lists of %d slots, whose rewards are weighed by "+
		"%s; assumed (%s): %s", r.Rows, log.Len(), cmp.Or(log.Lists.SlotWeights, "mean"), assumed, assumed.Says()))
	return r, nil
}

// onLists is the target on the lists of a log. A model predicts rewards of slots; nil: there is none.
func (t Target) onLists(log *logs.Log, model Model) (Target, error) {
	n, most := log.Len(), log.MostOptions()
	logged, row, predicted := make([]float64, n), make([]float64, most), make([]float64, most)
	out := &listed{slots: t}
	if model != nil && t.Row != nil {
		out.direct, out.predicted = make([]float64, n), make([]float64, n)
	}
	for i := range n {
		var err error
		if logged[i], err = t.logged(row, i, log); err != nil {
			return t, fmt.Errorf("row %d: %w", i+1, err)
		}
		if out.direct == nil {
			continue
		}
		k := log.Options(i)
		model(predicted[:k], i)
		for a, r := range predicted[:k] {
			out.direct[i] += row[a] * r
		}
		out.predicted[i] = predicted[log.Chosen(i)]
	}
	var err error
	if out.Lists, err = provenance.ListsOf(log, t.Row, logged, nil); err != nil {
		return t, err
	}
	of := Target{Name: t.Name, Origin: t.Origin, scores: t.scores, word: t.word, lists: out}
	for i := range out.Log.Len() {
		one := out.List(out.Assume, i, 1)
		of.Logged, out.at = append(of.Logged, min(1, one.Weight*one.Propensity)), append(out.at, i)
	}
	return of, nil
}
