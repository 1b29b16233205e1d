package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/graph/kernel/simd"
)

// plainLists are log π of a list and its gradient in direction, each slot by a softmax over what is left.
func plainLists(x, list, direction []float64) (logp, grad []float64) {
	grad = make([]float64, len(x))
	gone := make([]bool, len(x))
	for l, a := range list {
		if a < 0 {
			logp = append(logp, 0)
			continue
		}
		top, sum := math.Inf(-1), 0.
		for b, v := range x {
			if !gone[b] {
				top = max(top, v)
			}
		}
		for b, v := range x {
			if !gone[b] {
				sum += math.Exp(v - top)
			}
		}
		for b, v := range x {
			if !gone[b] {
				grad[b] -= direction[l] * math.Exp(v-top) / sum
			}
		}
		grad[int(a)] += direction[l]
		logp, gone[int(a)] = append(logp, x[int(a)]-top-math.Log(sum)), true
	}
	return logp, grad
}

// manyLists are lists of some rows, scores and directions; some slots are empty.
func manyLists(r *rand.Rand, rows, k, slots int, spread float64) (x, lists, direction []float64) {
	for range rows {
		order := r.Perm(k)[:slots]
		full := slots - r.IntN(2)*r.IntN(slots+1)
		for l, a := range order {
			if l >= full {
				a = -1
			}
			lists, direction = append(lists, float64(a)), append(direction, r.NormFloat64())
		}
		for range k {
			x = append(x, float64(float32(spread*r.NormFloat64())))
		}
	}
	return x, lists, direction
}

func TestPlackettLuce_EqualsASoftmaxOfWhatIsLeftAtEachSlot(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 1))
	for _, c := range []struct {
		rows, k, slots int
		spread         float64
	}{{3, 1, 1, 1}, {4, 2, 2, 2}, {7, 5, 3, 1}, {64, 10, 10, 3}, {5, 300, 7, 30}, {2, 100_000, 50, 2}} {
		x, lists, direction := manyLists(r, c.rows, c.k, c.slots, c.spread)
		for _, kind := range []struct {
			dt      tensor.Dtype
			vector  bool
			threads int
			tol     float64
		}{{tensor.Float64, true, 1, 1e-12}, {tensor.Float32, true, 3, 1e-5}, {tensor.Float32, false, 1, 1e-5}} {
			t.Run(fmt.Sprint(c, kind), func(t *testing.T) {
				defer simd.Use(simd.Use(kind.vector))
				var before []float64
				for _, threads := range []int{kind.threads, 1 + runtime.GOMAXPROCS(0)} {
					g := graph.New(kind.dt)
					q := graph.NewParam("x", kind.dt, x, c.rows, c.k)
					lp := g.Param(q).PlackettLuce(g.Const("lists", lists, c.rows, c.slots)).Named("lp")
					p, err := g.Compile(lp.Mul(g.Const("direction", direction, c.rows, c.slots)).Sum(), graph.Threads(threads))
					if err != nil {
						t.Fatal(err)
					}
					mustRun(t, p)
					got, gradient := p.Read("lp"), grad(p, q)
					for i := range c.rows {
						want, d := plainLists(x[i*c.k:(i+1)*c.k], lists[i*c.slots:(i+1)*c.slots],
							direction[i*c.slots:(i+1)*c.slots])
						for l, v := range want {
							if e := math.Abs(got[i*c.slots+l] - v); e > kind.tol*(1+math.Abs(v)) {
								t.Fatalf("row %d, slot %d: log π = %v, want %v", i, l, got[i*c.slots+l], v)
							}
						}
						for b, v := range d {
							if e := math.Abs(gradient[i*c.k+b] - v); e > 10*kind.tol*(1+c.spread/10) {
								t.Fatalf("row %d: gradient %d = %v, want %v", i, b, gradient[i*c.k+b], v)
							}
						}
					}
					if all := append(got, gradient...); before == nil {
						before = all
					} else if !slices.Equal(all, before) {
						t.Error("threads change the result")
					}
				}
			})
		}
	}
}

func TestPlackettLuce_HasTheGradientOfCentralDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 2))
	x, lists, direction := manyLists(r, 6, 5, 4, 1.5)
	g := graph.New(tensor.Float64)
	pi := g.Param(graph.NewParam("x", tensor.Float64, x, 6, 5)).PlackettLuce(g.Const("lists", lists, 6, 4)).Exp()
	p, err := g.Compile(pi.Mul(g.Const("direction", direction, 6, 4)).Sum())
	if err != nil {
		t.Fatal(err)
	}
	checkGradient(t, p, 1e-6)
}

// An action that is not offered has score −Inf, and no share of a gradient; where lists have all that is offered their
// last slot is certain.
func TestPlackettLuce_LeavesOutWhatIsNotOffered(t *testing.T) {
	g := graph.New(tensor.Float64)
	x := graph.NewParam("x", tensor.Float64, []float64{1, math.Inf(-1), -2, math.Inf(-1)}, 1, 4)
	lp := g.Param(x).PlackettLuce(g.Const("lists", []float64{2, 0}, 1, 2)).Named("lp")
	p, err := g.Compile(lp.Sum())
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, p)
	if got, want := p.Read("lp")[0], -3-math.Log1p(math.Exp(-3)); math.Abs(got-want) > 1e-15 || p.Read("lp")[1] != 0 {
		t.Errorf("log π = %v, want %v and 0", p.Read("lp"), want)
	}
	if d := grad(p, x); d[1] != 0 || d[3] != 0 || math.Abs(d[0]+d[2]) > 1e-15 || !(d[2] > .9) {
		t.Errorf("gradient %v", d)
	}
}

func TestPlackettLuce_RefusesWhatIsNoList(t *testing.T) {
	for _, c := range []struct {
		lists []float64
		want  string
	}{{[]float64{0, 3}, "action 3"}, {[]float64{0, -2}, "action -2"}, {[]float64{1, 1}, "stands twice"},
		{[]float64{-1, 1}, "below an empty slot"}, {[]float64{.5, 1}, "action 0.5"}, {[]float64{math.NaN(), 1}, "NaN"}} {
		g := graph.New(tensor.Float64)
		x := graph.NewParam("x", tensor.Float64, []float64{1, 2, 3, 4, 5, 6}, 2, 3)
		p, err := g.Compile(g.Param(x).PlackettLuce(g.Const("lists", append([]float64{0, 1}, c.lists...), 2, 2)).Sum())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "row 1") {
			t.Errorf("%v: %v, want one that says %q of row 1", c.lists, err, c.want)
		}
	}
	g := graph.New(tensor.Float64)
	x := g.Param(graph.NewParam("x", tensor.Float64, []float64{1, 2}, 1, 2))
	for _, shape := range [][]int{{1, 3}, {3, 1}} {
		if err := x.PlackettLuce(g.Const(fmt.Sprint(shape), make([]float64, 3), shape...)).Err(); err == nil {
			t.Errorf("lists of shape %v of scores 1×2 are taken", shape)
		}
	}
}

// The fused operation beside a softmax of what is left at each slot, both with the gradient.
func BenchmarkPlackettLuce(b *testing.B) {
	for _, c := range []struct{ rows, k, slots int }{{128, 10, 3}, {16, 1000, 10}, {4, 100_000, 10}, {4, 100_000, 50}} {
		x, lists, _ := manyLists(rand.New(rand.NewPCG(35, 3)), c.rows, c.k, c.slots, 1)
		for l := range lists {
			lists[l] = float64(l % c.slots)
		}
		build := map[string]func(g *graph.Graph, x graph.Expr) graph.Expr{
			"fused": func(g *graph.Graph, x graph.Expr) graph.Expr {
				return x.PlackettLuce(g.Const("lists", lists, c.rows, c.slots))
			},
			"softmaxes": func(g *graph.Graph, x graph.Expr) graph.Expr {
				gone := make([]float64, c.rows*c.slots*c.k)
				for i := range lists {
					for l := range i % c.slots {
						gone[i*c.k+int(lists[i/c.slots*c.slots+l])] = -1e30
					}
				}
				left := x.RepeatRows(c.slots).Add(g.Const("gone", gone, c.rows*c.slots, c.k))
				return left.LogSoftmax().Gather(g.Const("actions", lists, c.rows*c.slots))
			},
		}
		for _, name := range []string{"fused", "softmaxes"} {
			b.Run(fmt.Sprintf("%d×%d×%d/%s", c.rows, c.k, c.slots, name), func(b *testing.B) {
				g := graph.New(tensor.Float32)
				q := graph.NewParam("x", tensor.Float32, x, c.rows, c.k)
				p, err := g.Compile(build[name](g, g.Param(q)).Sum(), graph.Threads(1))
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := p.Run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
