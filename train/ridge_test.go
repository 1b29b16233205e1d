package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"opl/policies/features"
	"opl/train/logs"
)

// An embedding's numbers tell little each, and go together. With a scale of each number few rows seem to say much, also
// of rows that are held out, where the folds do not have their own.
func TestDirect_Embeddings(t *testing.T) {
	for _, c := range []struct {
		numbers, rows int
		more          float64
	}{{48, 200, .02}, {360, 700, .04}} {
		t.Run(fmt.Sprintf("%d numbers", c.numbers), func(t *testing.T) { embeddings(t, c.numbers, c.rows, c.more) })
	}
}

func embeddings(t *testing.T, d, n int, more float64) {
	const factors, k = 24, 3
	g := rand.New(rand.NewPCG(5, 1))
	normal := func(n int, scale float64) []float64 {
		of := make([]float64, n)
		for i := range of {
			of[i] = scale * g.NormFloat64()
		}
		return of
	}
	to, effects := normal(factors*d, 1), normal(factors*k, .5)
	for f := range factors {
		floats.Scale(math.Exp(-float64(f)/8), to[f*d:(f+1)*d])
	}
	reward := func(x []float64, a int) float64 {
		return 1 / (1 + math.Exp(-floats.Dot(x, effects[a*factors:(a+1)*factors])))
	}
	embedded := func(log *logs.Log) *logs.Log {
		of := log.X.(logs.Rows64)
		wide := logs.Rows64{Width: d, Data: normal(of.Len()*d, .3)}
		for i := range of.Len() {
			for f, v := range of.Data[i*factors : (i+1)*factors] {
				floats.AddScaled(wide.Data[i*d:(i+1)*d], v, to[f*d:(f+1)*d])
			}
		}
		log.X = wide
		return log
	}
	log, fresh := embedded(tableLog(n, factors, k, 1, reward)), tableLog(2000, factors, k, 2, reward)
	judged := fresh.X.(logs.Rows64)
	embedded(fresh)
	earns := func(may func(name string) bool) (v float64) {
		c, err := (&Direct{may: may}).Learn(t.Context(), log, allRows(n))
		if err != nil {
			t.Fatal(err)
		}
		h, err := c.In.Of(fresh.X, 1)
		if err != nil {
			t.Fatal(err)
		}
		row, scores := make([]float64, h.Dim()), make([]float64, k)
		for i := range fresh.Len() {
			h.Row64(i, row)
			for a := range scores {
				scores[a] = features.Dot(row, c.Theta[a*len(row):(a+1)*len(row)])
			}
			v += reward(judged.Data[i*factors:(i+1)*factors], floats.MaxIdx(scores)) / float64(fresh.Len())
		}
		return v
	}
	both := func(name string) bool { return name == linearName || name == "ridge" }
	all, linear := earns(both), earns(func(name string) bool { return name == linearName })
	t.Logf("all %.3f, linear %.3f", all, linear)
	if all < linear+more {
		t.Errorf("what is learned earns %.3f, with a scale of each number %.3f", all, linear)
	}

	if d < leastEmbedded {
		return
	}

	// Folds must not know by their scales what they hold out.
	loss := func(z, y float64) float64 { return math.Log1p(math.Exp(-math.Abs(z))) + max(z, 0) - y*z }
	tab, of := (&Direct{}).table(log, allRows(n)), kinds()[0]
	p, crossed, err := tab.cross(t.Context(), of, nil, tab.all())
	if err != nil {
		t.Fatal(err)
	}
	held, unseen := 0., 0.
	for i, z := range crossed.logged {
		held += loss(z, tab.y[i]) / float64(n)
	}
	layers, err := of.fit(t.Context(), tab, tab.all(), p) // of more rows than a fold has
	if err != nil {
		t.Fatal(err)
	}
	net, scores := features.NewNet(layers), make([]float64, k)
	scratch := make([]float64, net.Scratch())
	for i := range fresh.Len() {
		net.Apply(scores, fresh.X.(logs.Rows64).Data[i*d:(i+1)*d], scratch)
		unseen += loss(scores[fresh.Action[i]], -fresh.Cost[i]) / float64(fresh.Len())
	}
	if t.Logf("log-loss held out %.3f, unseen %.3f", held, unseen); held < unseen-.008 {
		t.Errorf("held-out rows have a log-loss of %.3f, unseen ones %.3f", held, unseen)
	}
}

// Who names a learner that a table is too small for is told what it needs.
func TestDirect_SaysWhatLearnersNeed(t *testing.T) {
	log := tableLog(200, 3, 2, 1, func(x []float64, a int) float64 { return .5 })
	direct := &Direct{may: func(name string) bool { return name == "ridge" }}
	_, err := direct.Learn(t.Context(), log, allRows(200))
	if err == nil || !strings.Contains(err.Error(), "ridge (logistic regression of 8 numbers or more") {
		t.Error(err)
	}
}
