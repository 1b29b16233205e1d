package numeric

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// Family is a distribution that numbers were drawn from.
type Family interface {
	Prob(v float64) float64 // its density
	CDF(v float64) float64
	Quantile(p float64) float64
}

// truncated is a normal distribution given that the number is within a range.
type truncated struct {
	distuv.Normal
	low, high float64
}

func (t truncated) mass() float64 { return t.Normal.CDF(t.high) - t.Normal.CDF(t.low) }

func (t truncated) Prob(v float64) float64 {
	if v < t.low || v > t.high {
		return 0
	}
	return t.Normal.Prob(v) / t.mass()
}

// Quantile is the number below which the distribution has p.
func (t truncated) Quantile(p float64) float64 {
	return max(t.low, min(t.high, t.Normal.Quantile(t.Normal.CDF(t.low)+p*t.mass())))
}

func (t truncated) CDF(v float64) float64 {
	v = max(t.low, min(t.high, v))
	return (t.Normal.CDF(v) - t.Normal.CDF(t.low)) / t.mass()
}

// ParseFamily reads a distribution: uniform A B, normal μ σ, or truncated μ σ A B, a normal one within [A, B].
func ParseFamily(text string) (Family, error) {
	words := strings.Fields(text)
	var v []float64
	for _, w := range words[min(1, len(words)):] {
		x, err := strconv.ParseFloat(w, 64)
		if err != nil || x-x != 0 {
			return nil, fmt.Errorf("%q: %q is no finite number", text, w)
		}
		v = append(v, x)
	}
	kind := ""
	if len(words) > 0 {
		kind = fmt.Sprint(words[0], len(v))
	}
	switch {
	case kind == "uniform2" && v[0] < v[1]:
		return distuv.Uniform{Min: v[0], Max: v[1]}, nil
	case kind == "normal2" && v[1] > 0:
		return distuv.Normal{Mu: v[0], Sigma: v[1]}, nil
	case kind == "truncated4" && v[1] > 0 && v[2] < v[3]:
		if t := (truncated{distuv.Normal{Mu: v[0], Sigma: v[1]}, v[2], v[3]}); t.mass() > 1e-12 {
			return t, nil
		}
		return nil, fmt.Errorf("%q: the normal distribution has nothing within the range", text)
	}
	return nil, fmt.Errorf("%q: want uniform A B, normal MEAN SD, or truncated MEAN SD A B", text)
}

// Fits says what is wrong with a density that was logged for a number: it differs by more than a share within from
// that of the family, or the family has a part outside of the range from low to high.
func Fits(f Family, v, density, low, high, within float64) error {
	if mass := f.CDF(high) - f.CDF(low); math.Abs(mass-1) > within {
		return fmt.Errorf("the family gives the range from %v to %v the probability %.4g, not 1: numbers "+
			"that are cut to the range are of a truncated family", low, high, mass)
	}
	if p := f.Prob(v); !(math.Abs(density-p) <= within*p) {
		return fmt.Errorf("%v at %v, where the family has %.6g: such densities integrate to %.4g, not 1", density, v, p,
			density/p)
	}
	return nil
}
