package ope

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// Dose estimates what a bin or a number would have earned, if every row had drawn it.
type Dose struct {
	Segment string  `json:"segment,omitempty"` // whose rows these are; empty: all
	Number  float64 `json:"number"`            // the middle of a bin, or an atom
	From    float64 `json:"from"`              // of the bin in which a number is drawn evenly
	To      float64 `json:"to"`                // equal to From: an atom
	// Value is that of it, by snips; nil: no row drew it.
	Value *float64 `json:"value"`
	// Thin says that rows hardly drew such numbers, at least in some contexts: Value and Point cannot be judged.
	Thin bool `json:"hardly_drawn,omitempty"`
	// Low and High hold the values of all doses with probability 1 − δ.
	Low  float64 `json:"low"`  // lower end of the interval
	High float64 `json:"high"` // upper end of the interval
	// Point are estimates of the number itself, by kernels; none of an atom, whose value is its own.
	Point *Kernel `json:"point,omitempty"`
}

// Kernel are estimates of what a number earns from rows with numbers near it. They have a bias of the order of the
// square of the bandwidth where rewards are smooth, of the bandwidth at the ends of the range, and of a jump beside
// one. Nothing is guaranteed of them.
type Kernel struct {
	Bandwidth float64 `json:"bandwidth"` // in the units of the number
	IPS       float64 `json:"ips"`       // by inverse propensities
	SNIPS     float64 `json:"snips"`     // by inverse propensities, divided by the sum of the weights
	DR        float64 `json:"dr"`        // doubly robust, with the model of the bins
	SE        float64 `json:"se"`        // of DR
}

// DoseCurve is the dose–response curve of a log of numbers.
type DoseCurve struct {
	Rows    int     `json:"rows"`    // of the log
	Delta   float64 `json:"delta"`   // probability that some interval fails
	Logging float64 `json:"logging"` // mean reward of the log
	Doses   []Dose  `json:"doses"`   // segment by segment
	// Point is what the policy of [CurveOptions] would have earned, by Judged rows.
	Point  *Kernel `json:"point,omitempty"`
	Judged int     `json:"judged,omitempty"`
	// Contradicted says what in the log contradicts what the band assumes; empty: nothing.
	Contradicted string `json:"contradicted,omitempty"`
	// Notes are what is to be known of the log, as [Options] has them.
	Notes []string `json:"notes,omitempty"`
}

// CurveOptions says what a curve is of.
type CurveOptions struct {
	Delta, Gamma float64 // of the band
	By           string  // a column of names: each value is a segment with a curve of its own; empty: one curve
	// Policy, if not nil, is valued as if it played the middle of its most probable bins, or its most probable
	// atom. Rows that had a part in it are left out.
	Policy *policyfile.Policy
	Fresh  bool // none had, where that cannot be seen
	Model  RewardModel
	Shape  string // of the reward in each context, see [Model.Shaped]; empty: any
}

// mostSegments have curves of their own: what is rarer is one.
const mostSegments = 10

// Curve values each action of a log of numbers as if every row had taken it. The band divides δ among the ends of all
// bins and atoms of all segments. Segments depend on contexts alone, so it holds for them, too. The judge is that
// of the log.
func Curve(log *logs.Log, judge *provenance.Judge, o CurveOptions) (DoseCurve, error) {
	if log.Numbers == nil {
		return DoseCurve{}, errors.New("actions are names: setting action-range says that they are numbers")
	}
	if err := judge.Admits(); err != nil {
		return DoseCurve{}, err
	}
	n, units := log.Len(), log.Units()
	out := DoseCurve{Rows: n, Delta: o.Delta, Logging: units.At(-stat.Mean(log.Cost, nil))}
	segments := []provenance.Segment{{Rows: logs.Every(n)}}
	if o.By != "" {
		var err error
		if segments, err = provenance.Segmented(log, o.By); err != nil {
			return out, fmt.Errorf("setting by: %w", err)
		}
		segments = provenance.Largest(segments, mostSegments)
	}
	k := kernels{log: log, predicted: make([][]float64, n)}
	predict := Model(func(dst []float64, _ int) { clear(dst) })
	if log.X != nil || len(log.Names()) > 0 {
		var err error
		if predict, err = o.Model.Learn(log, ModelOptions{}); err != nil {
			return out, err
		}
	}
	predict, err := predict.Shaped(cmp.Or(o.Shape, Shapes()[0]), log)
	if err != nil {
		return out, err
	}
	for i := range k.predicted {
		k.predicted[i] = make([]float64, log.K())
		predict(k.predicted[i], i)
	}
	if o.Policy != nil {
		if err := k.policy(&out, judge, o); err != nil {
			return out, err
		}
	}
	flipped := *log
	flipped.Cost = make([]float64, n)
	for i, c := range log.Cost {
		flipped.Cost[i] = -1 - c
	}
	opposite, err := judge.Of(&flipped)
	if err != nil {
		return out, err
	}
	// Each end has the share of a value, half of what a certificate has.
	share := certify.Options{Delta: o.Delta / float64(log.K()*len(segments)), Gamma: o.Gamma}
	for _, s := range segments {
		for c := range log.K() {
			d, err := k.dose(s.Rows, c, [2]*provenance.Judge{judge, opposite}, share)
			if err != nil {
				return out, fmt.Errorf("%s: %w", log.Actions[c], err)
			}
			d.Segment = s.Name
			out.Doses = append(out.Doses, d)
		}
	}
	out.Contradicted = cmp.Or(k.contradicted, k.best)
	return out, nil
}

// kernels values numbers by rows of a log.
type kernels struct {
	log       *logs.Log
	predicted [][]float64 // r̂(x_i, c)

	contradicted string  // by what certificates found
	weight       float64 // the largest mean weight of numbers that rows show
	best         string  // what contradicts these
}

// dose values an action by some rows. The judges are those of the reward and its opposite.
func (k *kernels) dose(rows []int, c int, judges [2]*provenance.Judge, o certify.Options) (Dose, error) {
	of, units, ends := k.log.Numbers.Of, k.log.Units(), [2]float64{}
	d := Dose{Number: of.Center(c), From: of.Center(c), To: of.Center(c)}
	if c < of.Bins() {
		d.From, d.To = of.Edges[c], of.Edges[c+1]
		d.Point = k.lepski(rows, func(int) float64 { return d.Number }, false)
	}
	for e, j := range judges {
		got, err := j.Fixed(func(dst []float64, _ int) error {
			clear(dst)
			dst[c] = 1
			return nil
		}, provenance.FixedBefore(), rows, o)
		if err != nil {
			return d, err
		}
		// Numbers far from what is drawn are too rare for weights of mean 1; those that most contexts draw are not.
		s := got.Statement()
		w := s.Estimate
		unclear := w.Effective < few || w.Tail >= certify.Long
		if !unclear && w.Weight > k.weight {
			k.weight, k.best = w.Weight, s.Contradicted
		}
		if !s.Thin() {
			k.contradicted = cmp.Or(k.contradicted, s.Contradicted)
		}
		d.Thin = s.Thin() || unclear || s.Contradicted == "" && !w.Tells()
		ends[e] = min(1, max(0, got.Guaranteed()))
	}
	sum, weight := 0.0, 0.0
	for _, i := range rows {
		if int(k.log.Action[i]) == c {
			sum, weight = sum-k.log.Cost[i]/k.log.Propensity[i], weight+1/k.log.Propensity[i]
		}
	}
	d.Low, d.High = ends[0], 1-ends[1]
	if weight > 0 {
		value := units.At(min(d.High, max(d.Low, sum/weight)))
		d.Value = &value
	}
	d.Low, d.High = units.At(d.Low), units.At(d.High)
	return d, nil
}

// policy values a policy that plays a number in each context.
func (k *kernels) policy(out *DoseCurve, judge *provenance.Judge, o CurveOptions) error {
	p, numbers := o.Policy, o.Policy.File().Numbers
	if numbers == nil {
		return errors.New("setting policy: its actions are names, and not numbers")
	}
	rows, err := judge.Untaught(p, o.Fresh)
	if err != nil {
		return fmt.Errorf("setting policy: %w", err)
	}
	plays, err := provenance.Plays(p, k.log)
	if err != nil {
		return err
	}
	pi, at := make([]float64, p.Len()), make([]float64, k.log.Len())
	for _, i := range rows {
		if err := plays(pi, i); err != nil {
			return err
		}
		at[i] = numbers.Middle(floats.MaxIdx(pi), pi)
		if k.log.Numbers.Of.Bin(at[i]) < 0 {
			return fmt.Errorf("setting policy: it plays %v, which is outside of the log's range", at[i])
		}
	}
	out.Judged, out.Point = len(rows), k.lepski(rows, func(i int) float64 { return at[i] }, true)
	return nil
}

// bandwidths are how many times the bandwidth is halved, from a quarter of the range on.
const bandwidths = 6

// lepski takes the largest bandwidth whose interval of two standard errors meets those of all smaller ones: its bias
// is no larger than its error. Lepski (1992); Su et al. (2020).
func (k *kernels) lepski(rows []int, at func(i int) float64, atoms bool) (best *Kernel) {
	low, high := k.log.Numbers.Of.Range()
	from, to := math.Inf(-1), math.Inf(1)
	for b := range bandwidths {
		e := k.smoothed(rows, at, (high-low)/4/math.Exp2(float64(bandwidths-1-b)), atoms)
		if !(e.SE > 0) { // no row is near
			continue
		}
		if e.DR-2*e.SE > to || e.DR+2*e.SE < from {
			break
		}
		from, to, best = max(from, e.DR-2*e.SE), min(to, e.DR+2*e.SE), e
	}
	if best != nil {
		u := k.log.Units()
		best.IPS, best.SNIPS, best.DR, best.SE = u.At(best.IPS), u.At(best.SNIPS), u.At(best.DR), best.SE*u.Span()
	}
	return best
}

// smoothed are the estimates of playing a number t_i = at(i) in each row, with Epanechnikov's kernel of a bandwidth h,
// which is divided by its mass within the range:
//
//	w_i = K((a_i − t_i)/h) / (h m_i π₀(a_i|x_i)),  K(u) = ¾(1 − u²) of |u| ≤ 1,  m_i = ∫ K((a − t_i)/h)/h da
//	ips = mean(w r),  snips = Σ w r / Σ w,  dr = mean(r̂(x, t) + w (r − r̂(x, a)))
//
// A number that is an atom has the weight 1{a_i = t_i}/P₀(t_i|x_i) in place of that, if atoms says so. Kallus & Zhou
// (2018).
func (k *kernels) smoothed(rows []int, at func(i int) float64, h float64, atoms bool) *Kernel {
	numbers, n := k.log.Numbers, float64(len(rows))
	low, high := numbers.Of.Range()
	whole := func(u float64) float64 { u = min(1, max(-1, u)); return .75*(u-u*u*u/3) + .5 }
	e, weights, squares := &Kernel{Bandwidth: h}, 0.0, 0.0
	for _, i := range rows {
		w, r, a, t := 0.0, -k.log.Cost[i], numbers.Value[i], at(i)
		c, u := numbers.Of.Atom(t), (a-t)/h
		switch {
		case atoms && c >= 0:
			if int(k.log.Action[i]) == c {
				w = 1 / k.log.Propensity[i]
			}
		case u > -1 && u < 1 && numbers.Density[i] > 0:
			w = .75 * (1 - u*u) / (h * (whole((high-t)/h) - whole((low-t)/h)) * numbers.Density[i])
		}
		if !atoms || c < 0 {
			c = numbers.Of.Bin(t)
		}
		e.IPS, weights = e.IPS+w*r/n, weights+w
		x := k.predicted[i][c] + w*(r-k.predicted[i][k.log.Action[i]])
		e.DR, squares = e.DR+x/n, squares+x*x/n
	}
	if weights > 0 {
		e.SNIPS, e.SE = e.IPS*n/weights, math.Sqrt(max(0, squares-e.DR*e.DR)/n)
	}
	return e
}
