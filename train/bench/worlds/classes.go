package worlds

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"opl/policies/features"
)

// Classes returns the world of a classification set: naming the class of a row earns 1, any other class 0. A log is
// of at most half of the rows, and policies are judged by the others. The logging policy is a softmax of
// temperature times random scores, linear in standardized features, mixed with .3 of the uniform policy:
// temperature 0 is uniform.
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
			return Visit{Context: x[i], Mean: means, Logging: softmax(scores, .3)}
		}
	}
	return World{Name: name, About: "a classification set", K: k, Visits: len(x), Make: draws}
}

// ReadClasses reads the world of a classification set from CSV: a column class, and features. A feature all of whose
// cells are numbers, or empty, is one; any other is a category. Errors name line and column.
func ReadClasses(name string, from io.Reader, temperature float64) (World, error) {
	rows, err := csv.NewReader(from).ReadAll()
	if err != nil {
		return World{}, fmt.Errorf("%s: %w", name, err)
	}
	of := -1
	if len(rows) > 0 {
		of = slices.Index(rows[0], "class")
	}
	if of < 0 || len(rows) < 5 {
		return World{}, fmt.Errorf("%s: want a column class, and at least four rows", name)
	}
	head, rows := rows[0], rows[1:]
	x, class, seen := make([][]features.Value, len(rows)), make([]int, len(rows)), map[string]int{}
	for j, column := range head {
		numeric := j != of
		for i, row := range rows {
			v, err := strconv.ParseFloat(row[j], 64)
			numeric = numeric && (err == nil || row[j] == "")
			if err == nil && numeric && (math.IsInf(v, 0) || math.IsNaN(v)) {
				return World{}, fmt.Errorf("%s: row %d, column %s: %s is not finite", name, i+1, column, row[j])
			}
		}
		for i, row := range rows {
			cell := row[j]
			switch {
			case j == of:
				if _, ok := seen[cell]; !ok {
					seen[cell] = len(seen)
				}
				class[i] = seen[cell]
			case cell == "": // missing
			case numeric:
				v, _ := strconv.ParseFloat(cell, 64)
				x[i] = append(x[i], features.Value{Name: column, Number: v})
			default:
				x[i] = append(x[i], features.Value{Name: column + "=" + cell, Number: 1})
			}
		}
	}
	if len(seen) < 2 || len(seen) > 1000 {
		return World{}, fmt.Errorf("%s: %d classes, want 2 to 1,000", name, len(seen))
	}
	return Classes(name, x, class, len(seen), temperature), nil
}
