package library

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/tensor"

	"opl/objectives"
	"opl/policies"
	"opl/train"
)

// Config makes the settings of [train.Fit] for a run on a log of n rows, but for the prior;
// the run comes back with the hyperparameter of its weight settled. Objective is
// nil for recipes. Names that are not known are errors.
func (l Library) Config(r train.Run, n int) (train.Config, train.Run, error) {
	c, r, err := l.settled(r, n)
	if err != nil {
		return c, r, err
	}
	c.Delta, c.Epochs, c.BatchSize, c.LearningRate, c.Seed = r.Delta, r.Epochs, r.BatchSize, r.LearningRate, r.Seed
	if c.Representation != nil && c.Objective != nil && !c.Policy.HasPosterior() {
		c.LearningRate = r.LayerRate
	}
	c.Dtype = tensor.Float32
	if r.Dtype == "float64" {
		c.Dtype = tensor.Float64
	}
	if r.Schedule == "linear" {
		c.Schedule = train.Linear
	}
	return c, r, nil
}

// settled is parts of a run with its hyperparameter.
func (l Library) settled(r train.Run, n int) (c train.Config, _ train.Run, err error) {
	if r.Hyper, err = l.Hyper(r, n); err == nil {
		c, err = l.parts(r)
	}
	return c, r, err
}

// Hyper returns the hyperparameter of a run: the given one, or the default for
// a log of n rows.
func (l Library) Hyper(r train.Run, n int) (train.Number, error) {
	o, err := l.Objective(r.Objective)
	if err != nil {
		return 0, err
	}
	name := r.Weight
	if o.OwnWeight {
		name = o.Hyper
	}
	if name == "" || r.Hyper.Valid() {
		return r.Hyper, nil
	}
	w, err := l.Weight(name)
	if err != nil || !w.Tunable() {
		return train.None(), err
	}
	return train.Number(objectives.DefaultHyper(n, w.IPSAt)), nil
}

// Check reports why a run has no meaning, an *objectives.UnfitError, or that a
// name is not known.
func (l Library) Check(r train.Run) error { return l.check(r, objectives.Check) }

// CheckLoggedOnly reports why a run cannot learn from a log that has the propensities
// of the logged actions alone, and names the objectives that can.
func (l Library) CheckLoggedOnly(r train.Run) error {
	err := l.check(r, objectives.CheckLoggedOnly)
	var unfit *objectives.UnfitError
	if !errors.As(err, &unfit) || l.Check(r) != nil {
		return err
	}
	var can []string
	for _, o := range l.Objectives {
		for _, w := range l.Weights {
			r := train.Run{Objective: o.Name, Policy: o.Policy, Weight: w.Name, Hyper: train.None(),
				Penalty: train.None()}
			if !slices.Contains(can, o.Name) && l.check(r, objectives.CheckLoggedOnly) == nil {
				can = append(can, o.Name)
			}
		}
	}
	return &objectives.UnfitError{Reason: fmt.Sprintf("%s; of the others, these need no more: %s", unfit.Reason,
		strings.Join(can, ", "))}
}

func (l Library) check(r train.Run, fits func(objectives.Objective, objectives.Weight, policies.Policy) error) error {
	c, r, err := l.settled(r, 10000)
	if err != nil {
		return err
	}
	if c.Objective == nil { // a recipe
		if o, _ := l.Objective(r.Objective); r.Policy != o.Policy {
			return &objectives.UnfitError{Reason: r.Objective + " learns policies of kind " + o.Policy + ", not " +
				r.Policy}
		}
		return nil
	}
	if p, _ := l.Policy(r.Policy); p.Plays {
		return &objectives.UnfitError{Reason: "a policy " + r.Policy + " has no gradient: learn a softmax one"}
	}
	return fits(c.Objective, c.Weight, c.Policy)
}

// parts turns a run's names into what Fit takes.
func (l Library) parts(r train.Run) (train.Config, error) {
	var c train.Config
	o, err := l.Objective(r.Objective)
	if err != nil {
		return c, err
	}
	args := Args{Penalty: o.Penalty, Hyper: float64(r.Hyper)}
	if r.Penalty.Valid() {
		args.Penalty = float64(r.Penalty)
	}
	if o.HasLambda {
		if args.Lambda, err = ParseLambda(r.Lambda); err != nil {
			return c, err
		}
	}
	if !o.Recipe {
		c.Objective = o.Make(args)
	}
	if r.Weight != "" && !o.OwnWeight {
		w, err := l.Weight(r.Weight)
		if err != nil {
			return c, err
		}
		c.Weight = w.Make(float64(r.Hyper))
	}
	if r.Representation == "" && o.Recipe && len(l.Representations) > 0 {
		r.Representation = l.Representations[0].Name // a candidate of its own
	}
	if c.Representation, err = l.Representation(r.Representation); err != nil {
		return c, err
	}
	p, err := l.Policy(r.Policy)
	if err != nil {
		return c, err
	}
	var noise Noise
	if r.Noise != "" && r.Noise != Quadrature {
		noise, err = l.Noise(r.Noise)
	}
	c.Policy = p.Make(r.Samples, noise.Noise, noise.Noise != nil)
	return c, err
}

// Quadrature is the name of the noise that is none.
const Quadrature = "quadrature"

// ParseLambda reads star, authors or a positive number.
func ParseLambda(s string) (objectives.Lambda, error) {
	switch s {
	case "star", "":
		return objectives.LambdaStar, nil
	case "authors":
		return objectives.LambdaAuthors, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return nil, fmt.Errorf("%q: want star, authors or a positive number", s)
	}
	return objectives.LambdaFixed(v), nil
}

// Settle fills in what follows from a run's policy: the noise and the number of
// draws of policies that are sampled in training, nothing for the others. It is
// an error to ask for a noise that is not known, or for quadrature where there
// is none.
func (l Library) Settle(r train.Run) (train.Run, error) {
	p, err := l.Policy(r.Policy)
	if err != nil {
		return r, err
	}
	o, err := l.Objective(r.Objective)
	recipe := err == nil && o.Recipe // which tries layers unless it is told not to
	if r.Representation == NoRepresentation && !recipe {
		r.Representation = ""
	}
	if none := r.Representation == NoRepresentation || r.Representation == "" && !recipe; none {
		r.LayerRate = 0
	} else if r.LayerRate == 0 {
		r.LayerRate = train.DefaultSettings().LayerRate
	}
	exact := p.Make(0, nil, false)
	switch {
	case !exact.HasPosterior():
		r.Noise, r.Samples = "", 0
	case r.Noise == Quadrature && exact.Noisy():
		return r, fmt.Errorf("policy %s has no quadrature", r.Policy)
	case r.Noise == Quadrature || r.Noise == "" && !exact.Noisy():
		r.Noise, r.Samples = Quadrature, 0
	case r.Noise == "":
		r.Noise = l.Noises[0].Name()
	default:
		if _, err := l.Noise(r.Noise); err != nil {
			return r, err
		}
	}
	if r.Samples == 0 && r.Noise != "" && r.Noise != Quadrature {
		r.Samples = policies.DefaultSamples
	}
	return r, nil
}
