package worlds

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"opl/policies/features"
)

// Classes is the world of a classification set: naming the class of a row earns 1, any other class 0. A log is of at
// most half of the rows, and policies are judged by the others. The logging policy is a softmax of temperature times
// random scores, linear in standardized features, mixed with .3 of the uniform policy: temperature 0 is uniform.
func Classes(name string, x [][]features.Value, class []int, k int, temperature float64) World {
	mean, deviation := map[string]float64{}, map[string]float64{}
	n := float64(len(x))
	for _, row := range x {
		for _, v := range row {
			mean[v.Name] += v.Number / n
			deviation[v.Name] += v.Number * v.Number / n
		}
	}
	names := slices.Sorted(maps.Keys(mean))
	for _, j := range names {
		deviation[j] = math.Sqrt(max(0, deviation[j]-mean[j]*mean[j])) + 1e-9
	}
	draws := func(r *rand.Rand) func(*rand.Rand) Visit {
		order, at := r.Perm(len(x)), 0
		effects := make([]map[string]float64, k)
		for a := range effects {
			effects[a] = map[string]float64{}
			for _, j := range names {
				effects[a][j] = temperature * r.NormFloat64() / math.Sqrt(float64(len(names)))
			}
		}
		return func(*rand.Rand) Visit {
			i := order[at%len(order)]
			at++
			scores, means := make([]float64, k), make([]float64, k)
			means[class[i]] = 1
			for a := range scores {
				for _, v := range x[i] {
					scores[a] += effects[a][v.Name] * (v.Number - mean[v.Name]) / deviation[v.Name]
				}
			}
			return Visit{x[i], means, softmax(scores, .3)}
		}
	}
	return World{Name: name, About: "a classification set", K: k, Visits: len(x), Make: draws}
}
