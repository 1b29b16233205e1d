package objectives

import (
	"math"
	"math/rand/v2"

	"opl/graph"
	"opl/policies/features"
)

// Fourier is m random Fourier features, cos(W·φ(x) + b) with W ~ N(0, 1/(d·bandwidth²)) and b
// uniform on [0, 2π), drawn once: nothing is learned. Policies linear in them are, for large m, those
// of the kernel exp(−‖x − x′‖²/(2d·bandwidth²)). Rahimi & Recht (2007).
func Fourier(bandwidth float64, m int) Representation {
	return func(p Problem, x graph.Expr) graph.Expr {
		if len(x.Shape()) != 2 || !(bandwidth > 0) || m < 1 {
			return p.Unfit("%d random Fourier features of bandwidth %v: want at least 1, of a positive number", m,
				bandwidth)
		}
		d := x.Shape()[1]
		w := p.Drawn("frequencies", Spread(1/(bandwidth*math.Sqrt(float64(d)))), m, d)
		b := p.Drawn("phases", func(r *rand.Rand, dst []float64) {
			for i := range dst {
				dst[i] = 2 * math.Pi * r.Float64()
			}
		}, m)
		return p.link(link{from: x, w: w, b: b, activation: features.Cos})
	}
}
