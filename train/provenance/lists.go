package provenance

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
)

// Lists turns a log whose rows are slots into a log with a row for each list, so that bounds and
// estimates count each list once.
type Lists struct {
	certify.Slots
	Log    *logs.Log          // a row a list: its cost Σ_l α_l c_l and its joint propensity
	Assume certify.Assumption // about the rewards of slots
	Pseudo []float64          // by list: see [certify.Pseudoinverse]; NaN, nil: not known

	of    []int32 // list by row of the log of slots
	spec  string  // how the rewards of slots are weighed
	whole bool    // rewards are of the list
	joint bool    // propensities are of the list
}

// ListsOf joins the slots of a log into lists. logged[i] = π(a_i|x_i) are the probabilities of the
// slots under a policy. row is the policy, as [certify.Fixed] takes it; the assumption of
// independence needs it, and asks it for rows alone (nil: all), which hold whole lists; others take nil. Errors: an
// unknown assumption, one that the rewards or the policy do not allow, unknown weights of slots.
func ListsOf(log *logs.Log, row certify.Policy, logged []float64, rows []int) (*Lists, error) {
	of := log.Lists
	out := &Lists{Assume: cmp.Or(certify.Assumption(of.Assume), certify.NoAssumption), of: make([]int32, log.Len()),
		spec: cmp.Or(of.SlotWeights, "mean"), whole: of.Whole, joint: log.Propensity == nil}
	var err error
	if out.Alpha, err = certify.SlotWeights(of.SlotWeights); err != nil {
		return nil, err
	}
	switch {
	case certify.AssumedBy(of.Assume) != "":
		out.Assume = certify.Varied
	case log.Units().Low != 0 && (of.SlotWeights == "sum" || certify.FirstClicks(of.SlotWeights)):
		return nil, fmt.Errorf("setting slot-weights %s: it counts rewards that are not 0, and those of the log are from "+
			"%v: leave setting reward-min at 0, or weigh slots in another way", of.SlotWeights, log.Units().Low)
	case !slices.Contains(certify.Assumptions(), string(out.Assume)):
		return nil, fmt.Errorf("setting assume %s: want one of %v", of.Assume, certify.Assumptions())
	}
	switch {
	case of.Whole && (out.Assume == certify.Cascade || out.Assume == certify.Varied):
		return nil, out.Certifiable()
	case log.Propensity == nil && (of.Joint == nil || out.Assume != certify.NoAssumption):
		return nil, fmt.Errorf("setting assume %s: %w", out.Assume, log.RequirePropensities())
	}
	out.Starts, out.Pi, out.Pi0, out.Cost = of.Starts(), logged, log.Propensity, log.Cost
	if out.Pi0 == nil { // only their product counts
		out.Pi0 = slices.Repeat([]float64{1}, log.Len())
		for _, first := range out.Starts[:len(out.Starts)-1] {
			out.Pi0[first] = of.Joint[of.Of[first]]
		}
	}
	if out.By, err = behaviours(log, out.Starts); err != nil {
		return nil, err
	}
	apart := out.Assume == certify.Independence || slices.Contains(out.By, certify.Independence)
	if certify.FirstClicks(of.SlotWeights) {
		if apart {
			return nil, fmt.Errorf("setting slot-weights %s: which click is the first depends on the slots above: "+
				"setting assume cascade holds if clicks do not depend on what is below", of.SlotWeights)
		}
		out.First()
	}
	if apart {
		if err := out.marginals(log, row, rows); err != nil {
			return nil, err
		}
	}
	n := len(out.Starts) - 1
	cost, joint, group := make([]float64, n), make([]float64, n), make([]int32, n)
	for i := range n {
		first := out.Starts[i]
		one := out.List(certify.NoAssumption, i, 1)
		if cost[i], joint[i], group[i] = one.Cost, one.Propensity, log.Group[first]; cost[i] < -1-1e-9 {
			return nil, fmt.Errorf("row %d: the rewards of a list add up to %v: setting slot-weights sum is for "+
				"rewards of which a list has one at most", log.Row(first), -cost[i])
		}
		cost[i] = max(-1, cost[i])
		for r := first; r < out.Starts[i+1]; r++ {
			out.of[r] = int32(i)
		}
	}
	out.Log = log.ByList(out.Starts, cost, joint, group)
	return out, nil
}

// behaviours returns what is assumed of each list, by the column of contexts that setting assume names; nil: the same
// of all.
func behaviours(log *logs.Log, starts []int) (all []certify.Assumption, err error) {
	column := certify.AssumedBy(log.Lists.Assume)
	if column == "" {
		return nil, nil
	}
	named := map[string]certify.Assumption{} // by features
	for _, a := range certify.Assumptions() {
		named[column+"="+a] = certify.Assumption(a)
	}
	var d logs.Decision
	for _, first := range starts[:len(starts)-1] {
		log.Decision(first, &d)
		at := slices.IndexFunc(d.Context, func(v features.Value) bool { return named[v.Name] != "" && v.Number == 1 })
		if at < 0 {
			return nil, fmt.Errorf("row %d, column %s, which setting assume names: want one of %v as a text of the context",
				log.Row(first), column, certify.Assumptions())
		}
		all = append(all, named[d.Context[at].Name])
	}
	return all, nil
}

// Certifiable says why an assumption about the rewards of slots certifies nothing where lists have one reward. Their
// estimate by the pseudoinverse assumes that it adds up over slots.
func (s *Lists) Certifiable() error {
	if !s.whole || s.Assume == certify.NoAssumption {
		return nil
	}
	return fmt.Errorf("setting assume %s is about rewards of slots, and the log has one reward a list: leave it "+
		"out, or log slot_rewards", s.Assume)
}

// ownSets reports slots whose sets have nothing in common: each is drawn by itself, whatever stands above. That a
// slot's set is the context's, and not chosen by what stands above, is taken for granted: a log cannot tell.
func ownSets(log *logs.Log, from, to int) bool {
	seen := map[int32]bool{}
	for r := from; r < to; r++ {
		for j := range log.Options(r) {
			a, _ := log.Option(r, j)
			if seen[a] {
				return false
			}
			seen[a] = true
		}
	}
	return true
}

// Marginless refuses a policy that reads the slot, or has a floor, before it is learned, of lists whose rewards are
// assumed to be independent: marginals could not find its probabilities unless each slot has a set of its own.
func Marginless(log *logs.Log) error {
	if log.Lists == nil {
		return nil
	}
	starts := log.Lists.Starts()
	by, err := behaviours(log, starts)
	for i, first := range starts[:len(starts)-1] {
		apart := log.Lists.Assume == string(certify.Independence) || by != nil && by[i] == certify.Independence
		if apart && !ownSets(log, first, starts[i+1]) {
			return errors.New("setting assume independence needs the probability of each action in each slot, and " +
				"those of a policy that is learned, as it reads the slot or has a floor, are known only given the slots " +
				"above: take cascade or none")
		}
	}
	return err
}

// marginals finds those of both policies in lists of some rows, and the weights of the pseudoinverse, which are known
// where slots are drawn each by itself,
//
//	W = 1 + Σ_l (π(a_l|x)/π₀(a_l|x) − 1)
//
// or lists evenly.
func (s *Lists) marginals(log *logs.Log, row certify.Policy, rows []int) error {
	n := log.Len()
	s.Marginal, s.Marginal0, s.Pseudo = make([]float64, n), make([]float64, n), make([]float64, len(s.Starts)-1)
	known := logs.Marked(n, rows)
	apart := func(i int) bool {
		return (rows == nil || known[s.Starts[i]]) && (s.By == nil || s.By[i] == certify.Independence)
	}
	even := true
	for i := range s.Pseudo {
		for r := s.Starts[i]; apart(i) && r < s.Starts[i+1]; r++ {
			even = even && logs.Near(s.Pi0[r], 1/float64(log.Options(r)), 1e-9)
		}
	}
	if row == nil {
		return fmt.Errorf("setting assume independence: the probabilities of all actions are not known")
	}
	one := make([]float64, log.MostOptions())
	for i, first := range s.Starts[:len(s.Starts)-1] {
		from, to := first, s.Starts[i+1]
		if s.Pseudo[i] = math.NaN(); !apart(i) {
			continue
		}
		if ownSets(log, from, to) {
			s.Pseudo[i] = 1
			for r := from; r < to; r++ {
				s.Marginal[r], s.Marginal0[r] = s.Pi[r], s.Pi0[r]
				s.Pseudo[i] += s.Pi[r]/s.Pi0[r] - 1
			}
			continue
		}
		pi := one[:log.Options(first)]
		if err := row(pi, first); err != nil {
			return err
		}
		at := make([]int, 0, to-from)
		for r := from; r < to; r++ {
			for j := range pi {
				if a, _ := log.Option(first, j); a == log.Action[r] {
					at = append(at, j)
				}
			}
		}
		const not = "row %d: setting assume independence needs the probability of each action in each slot, and %s: " +
			"take cascade or none"
		if len(at) < to-from {
			return fmt.Errorf(not, log.Row(first), "slots offer sets of their own, but not apart")
		}
		m, ok := certify.Marginals(s.Pi[from:to], pi, at)
		if !ok {
			return fmt.Errorf(not, log.Row(first),
				"the policy has a floor, or reads the slot, so that they are known only given the slots above")
		}
		for l, placed := range m {
			s.Marginal[from+l], s.Marginal0[from+l] = placed[l], 1/float64(len(pi))
		}
		if even {
			s.Pseudo[i] = certify.Pseudoinverse(m, len(pi))
			continue
		}
		pi0 := log.Pi0(first)
		if pi0 == nil {
			return fmt.Errorf(not, log.Row(first),
				"the log has those of the logged actions alone, given the slots above: "+
					"setting logging-policy may name the policy that drew them")
		}
		if m, ok = certify.Marginals(s.Pi0[from:to], pi0, at); !ok {
			return fmt.Errorf(not, log.Row(first), "the logging policy has a floor, or reads the slot")
		}
		for l, placed := range m {
			s.Marginal0[from+l] = placed[l]
		}
	}
	return nil
}

// Rows returns the lists that some rows of slots belong to. The rows must contain all slots of a
// list or none.
func (s *Lists) Rows(rows []int) ([]int, error) {
	count := make([]int, len(s.Starts)-1)
	var out []int
	for _, r := range rows {
		if count[s.of[r]]++; count[s.of[r]] == 1 {
			out = append(out, int(s.of[r]))
		}
	}
	for _, i := range out {
		if count[i] != s.Starts[i+1]-s.Starts[i] {
			return nil, fmt.Errorf("a list of %d slots is given with %d of them: a list counts as a whole",
				s.Starts[i+1]-s.Starts[i], count[i])
		}
	}
	return out, nil
}

// lists turns rows of slots that certify a policy into rows of lists. The sample's estimate of the policy is then
// Σ X/Σ W.
func (j *Judge) lists(p certify.PoolLog, s sample) (certify.PoolLog, sample, error) {
	if p.Pi != nil {
		one := make([]float64, j.log.MostOptions())
		for _, r := range p.Rows {
			if err := p.Pi(one[:j.log.Options(r)], r); err != nil { // which notes what the sample has
				return p, s, err
			}
		}
	}
	l, err := ListsOf(j.log, p.Pi, s.logged, p.Rows)
	if err != nil {
		return p, s, err
	}
	if err := l.Certifiable(); err != nil {
		return p, s, err
	}
	rows, err := l.Rows(p.Rows)
	if err != nil {
		return p, s, err
	}
	n := l.Log.Len()
	out := certify.PoolLog{Log: l.Log, Rows: rows, Logged: make([]float64, n), Gamma: 1}
	of := sample{rows: rows, logged: make([]float64, n), cost: make([]float64, n), lists: l}
	clusters := make([]int32, n)
	for i := range n {
		clusters[i] = int32(i)
		if slots := j.Clusters(); slots != nil {
			clusters[i] = slots[l.Starts[i]]
		}
		if p.Clusters != nil {
			out.Clusters = clusters
		}
		out.Logged[i] = l.List(l.Assume, i, max(1, p.Gamma)).Effective()
		one := l.List(l.Assume, i, 1)
		if of.logged[i] = one.Weight * one.Propensity; one.Weight > 0 {
			of.cost[i] = one.X / one.Weight
		}
	}
	found := j.found
	if f, ok := l.compared(rows, clusters); ok {
		found.Findings = append(slices.Clip(found.Findings), f)
	}
	of.Judge = judge(l.Log, found, j.force)
	of.Judge.clusters, of.Judge.among = func() []int32 { return clusters }, j.among
	return out, of, nil
}

// policyCheck is the name of the check of an assumption by what it says of a policy.
const policyCheck = "the assumption, for this policy"

// compared tests the assumption by what it says of the policy. Let A_i be what list i says by it, of mean v, and w_i
// and R_i the list's joint weight, of mean 1, and reward. Where the assumption holds, Σ w_i (v − R_i) has mean 0,
// and its terms with those of v, A_i − v + w_i (v − R_i), give its standard error over clusters. Few lists may have
// large w_i, whose rewards then show too little of how much they vary: their part of the error is at least that of the
// rewards of all lists, scaled to v, and half of the largest term is taken off. A sum above 0 by more than chance says
// that the assumption flatters the policy, and needs fewer lists than the tests of package inspect, which know no
// policy. ok is false of fewer than 100 clusters, or no assumption.
func (s *Lists) compared(rows []int, clusters []int32) (f inspect.Finding, ok bool) {
	if s.whole || s.Assume == certify.NoAssumption {
		return f, false
	}
	type said struct{ by, weight, reward float64 } // A_i, w_i and R_i
	all, n := make([]said, len(rows)), float64(len(rows))
	var by, reward, squared, most float64 // sums, and the largest that a list may earn
	for j, i := range rows {
		x := s.List(s.Assume, i, 1)
		l := said{-x.X, s.List(certify.NoAssumption, i, 1).Weight, -x.Cost}
		all[j], by, reward, squared = l, by+l.by, reward+l.reward, squared+l.reward*l.reward
		most = max(most, floats.Sum(s.Alpha(s.Starts[i+1]-s.Starts[i])))
	}
	v, mean := by/n, reward/n
	spread := (squared/n - mean*mean) * max(0, v*(most-v)) / (mean * (most - mean)) // variance of R_i, at mean v
	var sum, without, weight, largest, seen, floor, square float64
	terms := map[int32]float64{}
	for j, l := range all {
		t := l.weight * (v - l.reward)
		sum, without, weight, largest = sum+t, without+l.weight*l.reward, weight+l.weight, max(largest, math.Abs(t))
		seen, floor = seen+t*t, floor+l.weight*l.weight*spread
		terms[clusters[rows[j]]] += l.by - v + t
	}
	for _, t := range terms {
		square += t * t
	}
	square += max(0, floor-seen)
	if len(terms) < 100 || !(square > 0) || weight == 0 {
		return f, false
	}
	z, u := math.Max(sum-largest/2, math.Min(0, sum+largest/2))/math.Sqrt(square), s.Log.Units()
	f = inspect.Finding{Check: policyCheck, About: inspect.Assumed, Numbers: []inspect.Number{{Name: "z", Value: z}},
		Measured: fmt.Sprintf("by it these lists say that the policy earns %.3g, and without it %.3g, ± %.1g of the "+
			"difference, z = %.1f", u.At(v), u.At(without/weight), logs.Half(math.Sqrt(square)/weight)*u.Span(),
			math.Round(10*z)/10+0)}
	if z > 3 { // weights are skewed: above 2.33 are 3 logs in 100, where the assumption holds
		f.Severity, f.Means = inspect.Doubtful, "the assumption flatters the policy"
		f.Do = "give setting assume none"
	}
	return f, true
}

// Flatters says how much more some lists say of the policy by the assumption than without it, where that is more than
// chance. clusters are by list.
func (s *Lists) Flatters(rows []int, clusters []int32) string {
	if f, ok := s.compared(rows, clusters); ok && f.Severity > inspect.Fine {
		return f.Means + ": " + f.Measured
	}
	return ""
}

// Listed says what a statement about lists assumes, and how many lists it is about.
type Listed struct {
	Assumption certify.Assumption `json:"assumption"` // about how users read a list
	Says       string             `json:"says"`       // the assumption in words
	Lists      int                `json:"lists"`      // rows that are lists
	Slots      int                `json:"slots"`      // of these lists
	policyfile.Lengths
	SlotWeights string `json:"slot_weights"` // how the rewards of slots are weighed
	Found       string `json:"found"`        // what the inspection says of the assumption
	BySlot      bool   `json:"-"`            // rewards and propensities are of slots, as a cascade needs
}

// listed says what samples of lists assume; nil: their rows are decisions of their own.
func listed(samples []sample) *Listed {
	if samples[0].lists == nil {
		return nil
	}
	out := &Listed{Assumption: samples[0].lists.Assume, Says: samples[0].lists.Assume.Says(), BySlot: true}
	for _, s := range samples {
		out.Lists += len(s.rows)
		out.BySlot = out.BySlot && !s.lists.whole && !s.lists.joint
		for _, r := range s.rows {
			n := s.lists.Starts[r+1] - s.lists.Starts[r]
			out.Slots += n
			if out.Least == 0 || n < out.Least {
				out.Least = n
			}
			out.Most = max(out.Most, n)
		}
		if out.SlotWeights = s.lists.spec; out.Found == "" {
			out.Found = s.found.OfLists(out.Assumption)
			if f, ok := s.found.Finding(policyCheck); ok {
				out.Found += "; " + f.Measured
			}
		}
	}
	return out
}
