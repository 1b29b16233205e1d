package regress_test

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"opl/policies/features"
	"opl/train/regress"
)

// oneRight are rows of which one of three actions is right, by a softmax of scores, and others were played, too.
func oneRight(n int, score func(x []float64, a int) float64) (x regress.Matrix, y []float64, action []int32) {
	r := rand.New(rand.NewPCG(5, 8))
	x.Width = 4
	for range n {
		row := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), 1}
		p, sum := make([]float64, 3), 0.
		for a := range p {
			p[a] = math.Exp(score(row, a))
			sum += p[a]
		}
		right, u := 0, sum*r.Float64()
		for u > p[right] && right < 2 {
			u -= p[right]
			right++
		}
		a := r.IntN(3)
		var reward float64
		if a == right {
			reward = 1
		}
		x.Data, y, action = append(x.Data, row...), append(y, reward), append(action, int32(a))
	}
	return x, y, action
}

func TestExclusive_FindsTheModeAndTheTruth(t *testing.T) {
	truth := []float64{1, 0, -.5, 1, -1, .5, .5, -1, 0, -.5, 0, 0}
	score := func(x []float64, a int) float64 { return features.Dot(x, truth[4*a:4*a+4]) }
	x, y, action := oneRight(6000, score)
	scales := []float64{1, 1, 1, 2}
	theta, err := regress.Exclusive(context.Background(), x, y, action, 3, scales, 2)
	if err != nil {
		t.Fatal(err)
	}
	loss := func() (l float64) {
		for i, r := range y {
			row, sum := x.Data[4*i:4*i+4], 0.
			a := int(action[i])
			for b := range 3 {
				sum += math.Exp(features.Dot(row, theta[4*b:4*b+4]) - features.Dot(row, theta[4*a:4*a+4]))
			}
			l -= r*math.Log(1/sum) + (1-r)*math.Log(1-1/sum)
		}
		for j, v := range theta {
			l += v * v / (2 * scales[j%4] * scales[j%4])
		}
		return l
	}
	for j := range theta {
		const h = 1e-5
		theta[j] += h
		up := loss()
		theta[j] -= 2 * h
		down := loss()
		theta[j] += h
		if slope := (up - down) / (2 * h); math.Abs(slope) > .02 {
			t.Errorf("coefficient %d: the loss of 6000 rows falls by %v", j, slope)
		}
		if of := theta[j] - theta[j%4] - truth[j] + truth[j%4]; math.Abs(of) > .2 { // differences alone are known
			t.Errorf("coefficient %d: %v beside the first action, the truth is %v", j, theta[j]-theta[j%4], truth[j]-truth[j%4])
		}
	}
}

func TestExclusive_RefusesSizesThatDoNotFit(t *testing.T) {
	x := regress.Matrix{Width: 1, Data: []float64{1, 1}}
	for _, c := range []struct {
		y      []float64
		action []int32
		scales []float64
	}{{[]float64{1}, []int32{0, 1}, []float64{1}}, {[]float64{1, 0}, []int32{0}, []float64{1}}, {[]float64{1, 0}, []int32{0, 1}, nil}} {
		if _, err := regress.Exclusive(context.Background(), x, c.y, c.action, 2, c.scales, 1); err == nil {
			t.Errorf("%v: no error", c)
		}
	}
}

// Trees of a softmax need fewer rows than trees of each action where one action is right, and do not depend on threads.
func TestBoostExclusive_IsBetterThanTreesOfEachActionWhereOneIsRight(t *testing.T) {
	score := func(x []float64, a int) float64 {
		right := 2
		if x[0] > 0 && x[1] > -.3 {
			right = 0
		} else if x[0] > 0 || x[2] > .5 {
			right = 1
		}
		if a == right {
			return 3
		}
		return 0
	}
	x, y, action := oneRight(400, score)
	o := regress.BoostOptions{Depth: 3, Leaves: 6, Rate: .08, MinRows: 20, L2: 3, Folds: 3}
	earned := func(f *features.Forest) (v float64) {
		l := []features.Layer{{Trees: f}}
		if err := l[0].Check(4); err != nil || f.In != 4 {
			t.Fatalf("%v, %d features", err, f.In)
		}
		net := features.NewNet(l)
		z, scratch := make([]float64, 3), make([]float64, net.Scratch())
		fresh, _, _ := oneRight(9000, score)
		for i := 400; i < 9000; i++ {
			row := fresh.Data[4*i : 4*i+4]
			net.Apply(z, row, scratch)
			best, sum := 0, 0.
			for a := range z {
				if z[a] > z[best] {
					best = a
				}
			}
			for a := range z {
				sum += math.Exp(score(row, a) - score(row, best))
			}
			v += 1 / sum / 8600
		}
		return v
	}
	one, err := regress.BoostExclusive(context.Background(), x, action, 3, y, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Threads = 3
	again, err := regress.BoostExclusive(context.Background(), x, action, 3, y, o)
	if err != nil || !reflect.DeepEqual(one, again) {
		t.Errorf("three threads grow other trees: %v", err)
	}
	each, err := regress.BoostByAction(context.Background(), x, action, 3, y, o)
	if err != nil {
		t.Fatal(err)
	}
	got, without := earned(one.Forest), earned(each.Forest)
	t.Logf("%.3f, by trees of each action %.3f", got, without)
	if got < without+.01 {
		t.Errorf("trees of a softmax earn %.3f, trees of each action %.3f", got, without)
	}
	if _, err := regress.BoostExclusive(context.Background(), x, make([]int32, 400), 3, append([]float64{2}, y[1:]...), o); err == nil {
		t.Error("a reward of 2 is no error")
	}
}
