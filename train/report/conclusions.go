package report

import (
	"cmp"
	"slices"
	"strings"

	"opl/train"
	"opl/train/experiment"
)

// notNearZero is the η₀ from which on the paper speaks of a logging policy that is
// not near uniform, and of a tight bound.
const notNearZero = .2

// Verdicts computes what records say about the paper's seven conclusions, in their
// order; a conclusion that depends on the choice of λ once for each. They do not
// depend on the order of the records.
func Verdicts(recs []train.Record) []Verdict {
	recs = canonical(recs)
	var vs []Verdict
	for _, conclusion := range []func([]train.Record) []Verdict{
		beatsOtherBounds, improvesOnLogging, regularizationsAlike, heuristicBeatsTheorem1,
		boundAsGoodAsHeuristic, heuristicsAlike, boundTightens,
	} {
		vs = append(vs, conclusion(recs)...)
	}
	return vs
}

// under makes the verdicts on a claim, one for each choice of λ.
func under(lambdas []string, number int, claim string, compare func(lambda string) []Comparison) (vs []Verdict) {
	for _, lambda := range lambdas {
		vs = append(vs, conclude(number, claim, lambda, compare(lambda)))
	}
	return vs
}

var bothLambdas = []string{"star", "authors"}

// beatsOtherBounds is conclusion 1, of fig1: for each of London, Sakhi 1 and Sakhi 2,
//
//	reward of Corollary 1 − reward of the other > 0
//
// in pairs of one data set, η₀ ≥ 0.2 and seed; Clip with τ = n^(−1/4), Gaussian
// policies. For both choices of λ.
func beatsOtherBounds(recs []train.Record) []Verdict {
	far := slices.DeleteFunc(slices.Clone(recs), func(r train.Record) bool { return isNear(r.Eta0) })
	claim := "Corollary 1 beats London, Sakhi 1 and Sakhi 2 when η₀ is not near 0 (η₀ ≥ 0.2)"
	return under(bothLambdas, 1, claim, func(lambda string) (cs []Comparison) {
		for _, other := range []string{"london", "sakhi1", "sakhi2"} {
			a, b := byDefault("fig1", "corollary1", lambda), byDefault("fig1", other, "")
			cs = append(cs, comparison{test: Above, a: a.side(), b: b.side()}.compare(far))
		}
		return cs
	})
}

// improvesOnLogging is conclusion 2, of fig1 to fig4: for each bound of fig1 and
// each objective and weight of fig2, fig3 and fig4,
//
//	reward − reward of the logging policy > 0
//
// in pairs of one data set, η₀, hyperparameter and seed; and for Clip, IX and ES of
// fig2 and of fig3
//
//	reward − reward of Har > 0
//
// in pairs of one data set, η₀ and seed, each side the mean over its
// hyperparameters (0 regularizes most for some and least for others, so that equal
// values are no pairs). The logging policy's reward cancels there. Under the
// authors' λ only the Corollary 1 of fig1 is another.
func improvesOnLogging(recs []train.Record) []Verdict {
	var shared, last []Comparison
	for _, o := range []string{"london", "sakhi1", "sakhi2"} {
		shared = append(shared, overLogging(byDefault("fig1", o, ""), recs))
	}
	for _, of := range []method{
		{figure: "fig2", objective: "theorem1", lambda: "star", weights: []string{"clip", "har", "ix", "es"}},
		{figure: "fig3", objective: "heuristic", weights: []string{"clip", "har", "ix", "es"}},
		{figure: "fig4", objective: "corollary1", lambda: "star", weights: []string{"clip", "ix", "es"}},
	} {
		for _, w := range of.weights {
			shared = append(shared, overLogging(of.with(w), recs))
			if w != "har" && slices.Contains(of.weights, "har") {
				last = append(last, comparison{test: Above, a: of.with(w).side(), b: of.with("har").side()}.compare(
					recs))
			}
		}
	}
	return under(bothLambdas, 2, "every method improves on the logging policy, Har least",
		func(lambda string) []Comparison {
			first := overLogging(byDefault("fig1", "corollary1", lambda), recs)
			return slices.Concat([]Comparison{first}, shared, last)
		})
}

func overLogging(m method, recs []train.Record) Comparison {
	logging := m.side()
	logging.name, logging.of = "logging policy", meanOf(loggingReward)
	return comparison{test: Above, a: m.side(), b: logging, cell: hyperOf}.compare(recs)
}

// regularizationsAlike is conclusion 3, of fig2, fig3 and fig4: within each, for
// each two of Clip, IX and ES,
//
//	|reward of one − reward of the other| ≤ 0.02
//
// in pairs of one data set, η₀ and seed, each side the mean over its
// hyperparameters.
func regularizationsAlike(recs []train.Record) []Verdict {
	claim := "Clip, IX and ES come out alike (mean difference at most 0.02)"
	return under(choices(recs, "theorem1", "corollary1"), 3, claim, func(lambda string) (cs []Comparison) {
		for _, m := range []method{
			{figure: "fig2", objective: "theorem1", lambda: lambda},
			{figure: "fig3", objective: "heuristic"},
			{figure: "fig4", objective: "corollary1", lambda: lambda},
		} {
			for _, two := range [][2]string{{"clip", "ix"}, {"clip", "es"}, {"ix", "es"}} {
				cs = append(cs, comparison{test: Alike, a: m.with(two[0]).side(), b: m.with(two[1]).side()}.compare(
					recs))
			}
		}
		return cs
	})
}

// heuristicBeatsTheorem1 is conclusion 4, of fig3 against fig2:
//
//	reward of the heuristic − reward of Theorem 1 > 0
//
// in pairs of one data set, η₀, weight, hyperparameter and seed.
func heuristicBeatsTheorem1(recs []train.Record) []Verdict {
	return under(choices(recs, "theorem1"), 4, "the heuristic beats the Monte Carlo Theorem 1 bound",
		func(lambda string) []Comparison {
			return []Comparison{comparison{test: Above, cell: weightAndHyper,
				a: method{figure: "fig3", objective: "heuristic"}.side(),
				b: method{figure: "fig2", objective: "theorem1", lambda: lambda}.side()}.compare(recs)}
		})
}

// boundAsGoodAsHeuristic is conclusion 5:
//
//	|reward of Corollary 1 − reward of the heuristic| ≤ 0.02
//
// in pairs of one data set, η₀, weight, hyperparameter and seed. Under λ*, of fig4
// against fig3, and also of fig1 against the penalty 1e-5 of fig5 (Clip,
// τ = n^(−1/4)) where these are there; under the authors' λ of the latter alone.
func boundAsGoodAsHeuristic(recs []train.Record) []Verdict {
	claim := "Corollary 1 does about as well as the heuristic (mean difference at most 0.02)"
	return under(bothLambdas, 5, claim, func(lambda string) (cs []Comparison) {
		alike := func(a, b method) Comparison {
			return comparison{test: Alike, cell: weightAndHyper, a: a.side(), b: b.side()}.compare(recs)
		}
		if all := []string{"clip", "ix", "es"}; lambda == "star" {
			cs = append(cs, alike(method{figure: "fig4", objective: "corollary1", lambda: lambda, weights: all},
				method{figure: "fig3", objective: "heuristic", weights: all}))
		}
		if c := alike(byDefault("fig1", "corollary1", lambda),
			byDefault("fig5", "heuristic", "")); lambda == "authors" || c.Status != NotRun {
			cs = append(cs, c)
		}
		return cs
	})
}

// heuristicsAlike is conclusion 6, of fig5:
//
//	|reward of the heuristic − reward of the L₂ heuristic| ≤ 0.02
//
// in pairs of one data set, η₀, penalty and seed; Clip with τ = n^(−1/4).
func heuristicsAlike(recs []train.Record) []Verdict {
	of := func(o string) side {
		m := byDefault("fig5", o, "")
		m.anyPenalty = true
		return m.side()
	}
	c := comparison{test: Alike, a: of("heuristic"), b: of("l2"),
		cell: func(r train.Record) string { return "penalty " + power(r.Penalty) }}.compare(recs)
	return []Verdict{conclude(6, "heuristic and L₂ heuristic are alike (mean difference at most 0.02)", "",
		[]Comparison{c})}
}

// boundTightens is conclusion 7, of fig6. With the gap at a learned policy
//
//	G = value of Corollary 1's bound on the whole log − true risk, true risk = −reward on the test set
//
// "loose below η₀ = 0.2" is
//
//	mean of G over η₀ < 0.2 − mean of G over η₀ ≥ 0.2 > 0
//
// and "tightens above" is, b being the slope of the least-squares line of G in η₀
// over η₀ ≥ 0.2,
//
//	−b > 0
//
// both in cells of one data set and τ, Clip, by seed.
func boundTightens(recs []train.Record) []Verdict {
	return under(choices(recs, "corollary1"), 7, "the bound is loose below η₀ = 0.2 and tightens above",
		func(lambda string) []Comparison {
			s := func(name string, in func(eta0 float64) bool, of func([]train.Record) float64) side {
				varied, fixed := method{figure: "fig6", objective: "corollary1", lambda: lambda,
					weights: []string{"clip"}}.side(),
					byDefault("fig6", "corollary1", lambda).side()
				is := func(r train.Record) bool { return varied.is(r) || fixed.is(r) }
				if !slices.ContainsFunc(recs, varied.is) { // the fixed ones are of fig1
					is = varied.is
				}
				return side{name: name, of: of, is: func(r train.Record) bool {
					return is(r) && finite(r.ObjectiveValue) && in(r.Eta0)
				}}
			}
			isFar := func(eta0 float64) bool { return !isNear(eta0) }
			below := s("gap of Corollary 1 × Clip at η₀ < 0.2", isNear, meanOf(gap))
			above := s("gap of Corollary 1 × Clip at η₀ ≥ 0.2", isFar, meanOf(gap))
			slope := s("−slope of the gap of Corollary 1 × Clip in η₀ ≥ 0.2", isFar, falls)
			return []Comparison{
				comparison{test: Above, across: true, cell: tauOf, a: below, b: above}.compare(recs),
				comparison{test: Above, across: true, cell: tauOf, a: slope}.compare(recs),
			}
		})
}

// falls is −b, b the slope of the least-squares line of the gap in η₀; NaN at fewer
// than two η₀.
func falls(recs []train.Record) float64 {
	var x, g float64
	for _, r := range recs {
		x += r.Eta0 / float64(len(recs))
		g += float64(gap(r)) / float64(len(recs))
	}
	var xy, xx float64
	for _, r := range recs {
		xy += (r.Eta0 - x) * (float64(gap(r)) - g)
		xx += (r.Eta0 - x) * (r.Eta0 - x)
	}
	return -xy / xx
}

// method is a set of runs: those of an objective with its own policy, on the data
// sets and at the η₀ of a figure.
type method struct {
	figure            string // whose data sets and η₀
	objective, lambda string
	weights           []string // empty: the paper's four
	byDefault         bool     // with the default hyperparameter, else with any other
	anyPenalty        bool     // else the objective's own
}

// byDefault has Clip at its default hyperparameter.
func byDefault(figure, objective, lambda string) method {
	return method{figure: figure, objective: objective, lambda: lambda, weights: []string{"clip"}, byDefault: true}
}

func (m method) with(weight string) method {
	m.weights = []string{weight}
	return m
}

func (m method) side() side {
	name := paper.method(m.objective, m.lambda)
	if len(m.weights) == 1 {
		name += " × " + paper.WeightLabel(m.weights[0])
	}
	if m.byDefault {
		name += "(n^(−1/4))"
	}
	weights := m.weights
	if len(weights) == 0 {
		weights = []string{"clip", "har", "ix", "es"}
	}
	o, err := paper.Objective(m.objective)
	figures := experiment.Figures()
	of := figures[slices.IndexFunc(figures, func(f experiment.Figure) bool { return f.Name == m.figure })].Grid
	return side{name: name, of: meanReward, is: func(r train.Record) bool {
		return err == nil && r.Objective == m.objective && r.Policy == o.Policy && r.Lambda == m.lambda &&
			of.Covers(r.Run) &&
			slices.Contains(weights, r.Weight) && (m.anyPenalty || !o.HasPenalty ||
			float64(r.Penalty) == o.Penalty) &&
			experiment.HasDefaultHyper(r) == m.byDefault
	}}
}

// choices of λ that records of objectives have: λ* in any case.
func choices(recs []train.Record, objectives ...string) []string {
	authors := func(r train.Record) bool {
		return slices.Contains(objectives, r.Objective) && r.Lambda == "authors" && !experiment.HasDefaultHyper(r)
	}
	if slices.ContainsFunc(recs, authors) {
		return bothLambdas
	}
	return []string{"star"}
}

// isNear reports that an η₀ is below notNearZero.
func isNear(eta0 float64) bool { return !(eta0 > notNearZero-1e-9) }

func hyperOf(r train.Record) string {
	if experiment.HasDefaultHyper(r) {
		return ""
	}
	return paper.Symbol(r.Objective, r.Weight) + " = " + r.Hyper.String()
}

func weightAndHyper(r train.Record) string {
	return strings.TrimSpace(paper.WeightLabel(r.Weight) + " " + hyperOf(r))
}

func tauOf(r train.Record) string { return cmp.Or(hyperOf(r), "τ = n^(−1/4)") }
