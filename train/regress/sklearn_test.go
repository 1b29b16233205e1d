package regress_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"opl/testdata/long"
	"opl/train/regress"
)

// At equal settings held-out log-loss is that of scikit-learn's HistGradientBoostingClassifier within 2 %, on numbers
// that matter in steps, in products and not at all, on many zeros, few rows, and a category.
func TestBoost_PredictsAsWellAsScikitLearn(t *testing.T) {
	long.Test(t)
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import sklearn").Run(); err != nil {
		t.Skip("no scikit-learn: apt-get install python3-sklearn")
	}
	const test = 20_000
	for _, c := range []struct {
		name             string
		n, d, categories int
		rounds, leaves   int
		z                func(x []float64, category int) float64
	}{
		{"steps", 4000, 10, 0, 60, 31, func(x []float64,
			_ int) float64 {
			return step(x[0]) + step(x[1])*step(x[2]) - 1
		}},
		{"products", 10000, 10, 0, 100, 31, func(x []float64, _ int) float64 { return x[0]*x[1] + x[2] }},
		{"smooth", 4000, 5, 0, 100, 8, func(x []float64, _ int) float64 { return 2 * math.Sin(2*x[0]) * x[1] }},
		{"noise", 2000, 20, 0, 30, 8, func(x []float64, _ int) float64 { return 0.3 * x[0] }},
		{"zeros", 8000, 20, 0, 60, 31, func(x []float64, _ int) float64 { return 3*x[0] - x[1]*x[2] - 1 }},
		{"category", 8000, 3, 40, 60, 31, func(x []float64, c int) float64 { return math.Sin(float64(c*c)) + x[0] }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(31, uint64(c.n)))
			n := c.n + test
			one := regress.Matrix{Width: c.d + c.categories, Data: make([]float64, n*(c.d+c.categories))}
			y := make([]float64, n)
			var csv strings.Builder
			for i := range n {
				row := one.Data[i*one.Width : (i+1)*one.Width]
				for j := range c.d {
					if row[j] = r.NormFloat64(); c.name == "zeros" && r.IntN(5) > 0 {
						row[j] = 0
					}
					fmt.Fprintf(&csv, "%v,", row[j])
				}
				category := -1
				if c.categories > 0 {
					category = r.IntN(c.categories)
					row[c.d+category] = 1
					fmt.Fprintf(&csv, "%d,", category)
				}
				if r.Float64() < 1/(1+math.Exp(-c.z(row, category))) {
					y[i] = 1
				}
				fmt.Fprintf(&csv, "%v\n", y[i])
			}
			path := filepath.Join(t.TempDir(), "rows.csv")
			if err := os.WriteFile(path, []byte(csv.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			const rows, l2 = 20, 1.
			column := "-1"
			o := regress.BoostOptions{Rounds: c.rounds, Leaves: c.leaves, MinRows: rows, L2: l2, Depth: 6,
				Folds: 1, Fold: make([]uint8, c.n)}
			if c.categories > 0 {
				column, o.Groups = strconv.Itoa(c.d), [][]int32{nil}
				for j := range c.categories {
					o.Groups[0] = append(o.Groups[0], int32(c.d+j))
				}
			}
			theirs := exec.Command(python, "testdata/boosted.py", path, fmt.Sprint(c.n), fmt.Sprint(c.rounds),
				fmt.Sprint(c.leaves),
				fmt.Sprint(rows), fmt.Sprint(l2), column)
			theirs.Env = append(os.Environ(),
				"OMP_NUM_THREADS=1") // more of them wait for one another where others work, too
			out, err := theirs.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
			if err != nil {
				t.Fatal(err)
			}
			teach := regress.Matrix{Width: one.Width, Data: one.Data[:c.n*one.Width]}
			got, err := regress.Boost(context.Background(), teach, y[:c.n], o)
			if err != nil {
				t.Fatal(err)
			}
			loss := func(f regress.Boosted) (loss float64) {
				for i, s := range scores(t, f.Forest, regress.Matrix{Width: one.Width,
					Data: one.Data[c.n*one.Width:]}) {
					loss += (math.Log1p(math.Exp(s)) - y[c.n+i]*s) / test
				}
				return loss
			}
			o.Folds, o.Fold, o.Rounds, o.Depth, o.Threads = 3, nil, 150, 4, 2
			stopped, err := regress.Boost(context.Background(), teach, y[:c.n], o)
			if err != nil {
				t.Fatal(err)
			}
			p := slices.Max([]float64{1e-9, mean(y[:c.n])})
			t.Logf("log-loss of %s: ours %.4f, scikit-learn's %.4f, ours of %d rounds, by cross-validation, %.4f, of the mean %.4f",
				c.name, loss(got), want, stopped.Rounds[0], loss(stopped), -p*math.Log(p)-(1-p)*math.Log(1-p))
			if loss(got) > 1.02*want {
				t.Errorf("ours %v, theirs %v", loss(got), want)
			}
			if loss(stopped) > 1.005*loss(got) {
				t.Errorf("by cross-validation %v, without %v", loss(stopped), loss(got))
			}
		})
	}
}

func step(x float64) float64 {
	if x > 0.2 {
		return 2
	}
	return 0
}

func mean(y []float64) (m float64) {
	for _, v := range y {
		m += v / float64(len(y))
	}
	return m
}
