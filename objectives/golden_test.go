package objectives_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"opl/graph"
	"opl/objectives"
	"opl/policies"
	"opl/train"
)

// goldenFile is testdata's, or what OPL_GOLDEN names. The values come from an
// independent implementation (reverse-mode autodiff, checked by central
// differences); testdata/golden/README.md has the format.
func goldenFile() string {
	if f := os.Getenv("OPL_GOLDEN"); f != "" {
		return f
	}
	return "../testdata/golden/cases.json.gz"
}

type goldenInputs struct {
	B, D, K, S int
	X          [][]float64
	Actions    []float64
	Costs      []float64
	Pi0        [][]float64
	Mu         [][]float64
	MuPrior    [][]float64 `json:"mu_prior"`
	LogSigma   float64     `json:"log_sigma"`
	Eps        json.RawMessage
	N          int
	Delta      float64
	LambdaMode string  `json:"lambda_mode"`
	Lambda     float64 `json:"lambda"`
	L1, L2, L3 float64
	RawLambda  float64 `json:"raw_lambda"`
}

type goldenCase struct {
	ID                                     int
	Family, Objective, Policy, Regularizer string
	Hyperparameter                         float64
	Inputs                                 goldenInputs
	Outputs                                map[string]any
}

type goldenTrajectory struct {
	Objective, Policy, Regularizer string
	Hyperparameter                 float64
	Steps                          int
	LR                             float64
	goldenInputs
	Values        []float64
	FinalMu       [][]float64 `json:"final_mu"`
	FinalLogSigma float64     `json:"final_log_sigma"`
	FinalRaw      float64     `json:"final_raw_lambda"`
}

type golden struct {
	Cases            []goldenCase
	RegularizerTable []struct {
		Reg            string
		HP, Pi, Pi0, W float64
		DwDpi          float64 `json:"dw_dpi"`
		PiMinusPi0W    float64 `json:"pi_minus_pi0w"`
	} `json:"regularizer_table"`
	Adam []struct {
		LR          float64
		WeightDecay float64 `json:"weight_decay"`
		X0          []float64
		Grads, X    [][]float64
	}
	CrossEntropy *struct {
		X, W, Grad [][]float64
		Y          []float64
		Loss       float64
	} `json:"cross_entropy"`
	Trajectories []goldenTrajectory
}

func readGolden(t *testing.T) golden {
	t.Helper()
	f, err := os.Open(goldenFile())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(f.Name(), ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	var g golden
	if err := json.NewDecoder(r).Decode(&g); err != nil {
		t.Fatalf("%s: %v", f.Name(), err)
	}
	return g
}

func flat(rows [][]float64) (xs []float64) {
	for _, r := range rows {
		xs = append(xs, r...)
	}
	return xs
}

// numbers collects the leaves of nested JSON arrays.
func numbers(v any) []float64 {
	switch v := v.(type) {
	case float64:
		return []float64{v}
	case []any:
		var xs []float64
		for _, e := range v {
			xs = append(xs, numbers(e)...)
		}
		return xs
	}
	return nil
}

// goldenSetup turns a case into a program; unknown says which name the library
// does not have.
func goldenSetup(objective, policy, reg string, hp float64, in goldenInputs) (p *graph.Program, params *objectives.Params, unknown string, err error) {
	lambda := objectives.LambdaStar
	switch in.LambdaMode {
	case "", "star":
	case "authors":
		lambda = objectives.LambdaAuthors
	case "fixed":
		lambda = objectives.LambdaFixed(in.Lambda)
	default:
		return nil, nil, "lambda_mode " + in.LambdaMode, nil
	}
	var o objectives.Objective
	switch objective {
	case "risk":
		o = objectives.Risk()
	case "l2":
		o = objectives.L2(in.L1)
	case "heuristic":
		o = objectives.Heuristic(objectives.Penalties{Distance: in.L1, Variance: in.L2, Bias: in.L3})
	case "thm1":
		o = objectives.Theorem1(lambda)
	case "cor1":
		o = objectives.Corollary1(lambda)
	case "london":
		o = objectives.London()
	case "sakhi1":
		o = objectives.Sakhi1()
	case "sakhi2":
		o = objectives.Sakhi2()
	default:
		return nil, nil, "objective " + objective, nil
	}
	var w objectives.Weight
	switch reg {
	case "none":
		w = objectives.IPS()
	case "clip":
		w = objectives.Clip(hp)
	case "es":
		w = objectives.ES(hp)
	case "ix":
		w = objectives.IX(hp)
	case "har":
		w = objectives.Har(hp)
	default:
		return nil, nil, "regularizer " + reg, nil
	}
	var pol policies.Policy
	switch policy {
	case "softmax_point":
		pol = policies.Softmax{}
	case "softmax_posterior_mc":
		pol = policies.SoftmaxPosterior{Samples: in.S}
	case "mixlogit_mc":
		pol = policies.MixedLogit{Samples: in.S}
	case "gaussian_mc":
		pol = policies.Gaussian{Samples: in.S}
	case "gaussian_exact":
		pol = policies.Gaussian{Nodes: 129}
	default:
		return nil, nil, "policy " + policy, nil
	}
	b, k, d := len(in.X), len(in.Mu), len(in.X[0])
	prior := policies.Prior{Mean: flat(in.MuPrior)}
	params = objectives.NewParams(tensor.Float64, pol, prior, k, d)
	params.Mu.Set(flat(in.Mu))
	if params.LogSigma != nil {
		params.LogSigma.Set([]float64{in.LogSigma})
	}
	if objective == "sakhi1" {
		params.Own = append(params.Own, graph.NewParam("alpha", tensor.Float64, []float64{in.RawLambda}))
	}
	prob, err := objectives.New(objectives.Setup{
		N: in.N, Delta: in.Delta, Policy: pol, Weight: w, Prior: prior, Params: params, Actions: k, Dim: d,
	}, b)
	if err != nil {
		return nil, nil, "", err
	}
	cost := o(prob)
	prob.Pi().Named("pi")
	if p, err = prob.Graph().Compile(cost); err != nil {
		return nil, nil, "", err
	}
	norms, logged := make([]float64, b), make([]float64, b)
	for i, x := range in.X {
		for _, v := range x {
			norms[i] += v * v
		}
		norms[i] = math.Sqrt(norms[i])
		logged[i] = in.Pi0[i][int(in.Actions[i])]
	}
	var eps any
	if len(in.Eps) > 0 {
		if err := json.Unmarshal(in.Eps, &eps); err != nil {
			return nil, nil, "", err
		}
	}
	for name, v := range map[string][]float64{
		objectives.InputContext:      flat(in.X),
		objectives.InputNorm:         norms,
		objectives.InputAction:       in.Actions,
		objectives.InputCost:         in.Costs,
		objectives.InputPropensity:   logged,
		objectives.InputPropensities: flat(in.Pi0),
		policies.NoiseName:           numbers(eps),
	} {
		if p.Has(name) {
			if err := p.Feed(name, v); err != nil {
				return nil, nil, "", err
			}
		}
	}
	return p, params, "", nil
}

// off describes where got leaves want by more than tol·max(1, max|want|).
func off(what string, got, want []float64, tol float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%s: %d values, want %d", what, len(got), len(want))
	}
	scale := 1.0
	for _, w := range want {
		scale = math.Max(scale, math.Abs(w))
	}
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d <= tol*scale) {
			return fmt.Sprintf("%s[%d] = %.17g, want %.17g (off by %.1e of %.3g)", what, i, got[i], want[i], d, scale)
		}
	}
	return ""
}

func TestObjectives_GiveTheGoldenValues(t *testing.T) {
	g := readGolden(t)
	checked, unknown := 0, 0
	for _, c := range g.Cases {
		name := fmt.Sprintf("case %d (%s, %s, %s, %s=%v)", c.ID, c.Family, c.Objective, c.Policy, c.Regularizer, c.Hyperparameter)
		p, params, missing, err := goldenSetup(c.Objective, c.Policy, c.Regularizer, c.Hyperparameter, c.Inputs)
		if missing != "" {
			t.Logf("%s: unknown %s", name, missing)
			unknown++
			continue
		}
		checked++
		if err == nil {
			err = p.Run()
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := map[string][]float64{"value": {p.Cost()}}
		for _, q := range params.All() {
			switch q {
			case params.Mu:
				got["grad_mu"] = p.Grad(q).Float64s()
			case params.LogSigma:
				got["grad_log_sigma"] = p.Grad(q).Float64s()
			default:
				got["grad_raw_lambda"] = p.Grad(q).Float64s()
			}
		}
		for term, output := range map[string]string{"risk": "risk", "variance": "V", "bias": "B", "KL": "kl", "lambda": "lambda_used", "l": "lambda_used", "distance": "sqdist", "pi": "pi"} {
			if v := p.Read(term); v != nil && c.Outputs[output] != nil {
				got[output] = v
			}
		}
		for _, output := range []string{"value", "grad_mu", "grad_log_sigma", "grad_raw_lambda", "risk", "V", "B", "kl", "lambda_used", "sqdist", "pi"} {
			want, wanted := c.Outputs[output]
			if v := got[output]; wanted && v != nil {
				if s := off(output, v, numbers(want), 1e-8); s != "" {
					t.Errorf("%s: %s", name, s)
				}
			} else if wanted && (output == "value" || strings.HasPrefix(output, "grad_")) && c.Policy != "softmax_point" {
				t.Errorf("%s: no %s", name, output)
			}
		}
	}
	// The number of checked cases is what a run on another file is judged by.
	fmt.Printf("golden: %d checked, %d unknown\n", checked, unknown)
	if checked == 0 {
		t.Error("no case was checked")
	}
}

func TestGolden_RegularizersHaveTheirValues(t *testing.T) {
	for _, r := range readGolden(t).RegularizerTable {
		w := objectives.GraphWeight{Weight: map[string]func(float64) objectives.Weight{
			"none": func(float64) objectives.Weight { return objectives.IPS() },
			"clip": objectives.Clip, "es": objectives.ES, "ix": objectives.IX, "har": objectives.Har,
		}[r.Reg](r.HP)}
		g := graph.New(tensor.Float64)
		pi := g.Param(graph.NewParam("pi", tensor.Float64, []float64{r.Pi}))
		pi0 := g.Const("pi0", []float64{r.Pi0})
		w.Bias(pi, pi0).Named("bias")
		w.SecondMoment(pi, pi0).Named("second moment")
		p, err := g.Compile(w.Value(pi, pi0))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Errorf("%+v: %v", r, err)
			continue
		}
		for _, c := range []struct {
			what      string
			got, want float64
		}{
			{"w", p.Cost(), r.W},
			{"dw/dpi", p.Grad(p.Params()[0]).Float64s()[0], r.DwDpi},
			{"|pi - pi0 w|", p.Read("bias")[0], math.Abs(r.PiMinusPi0W)},
			{"pi0 w²", p.Read("second moment")[0], r.Pi0 * r.W * r.W},
		} {
			if s := off(c.what, []float64{c.got}, []float64{c.want}, 1e-10); s != "" {
				t.Errorf("%s=%v at pi %v, pi0 %v: %s", r.Reg, r.HP, r.Pi, r.Pi0, s)
			}
		}
	}
}

func TestGolden_CrossEntropyHasItsValueAndGradient(t *testing.T) {
	c := readGolden(t).CrossEntropy
	if c == nil {
		return // files of other families have none
	}
	k, d := len(c.W), len(c.X[0])
	prior := policies.Prior{Mean: flat(c.W)}
	params := objectives.NewParams(tensor.Float64, policies.Softmax{}, prior, k, d)
	prob, err := objectives.New(objectives.Setup{N: len(c.X), Prior: prior, Params: params, Actions: k, Dim: d}, len(c.X))
	if err != nil {
		t.Fatal(err)
	}
	p, err := prob.Graph().Compile(objectives.CrossEntropy()(prob))
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Feed(objectives.InputContext, flat(c.X))
	_ = p.Feed(objectives.InputAction, c.Y)
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if s := off("loss", []float64{p.Cost()}, []float64{c.Loss}, 1e-12); s != "" {
		t.Error(s)
	}
	if s := off("grad", p.Grad(params.Mu).Float64s(), flat(c.Grad), 1e-12); s != "" {
		t.Error(s)
	}
}

// Twenty-five Adam steps on all rows: value before each step, parameters after
// the last.
func TestGolden_AdamStepsFollowTheTrajectories(t *testing.T) {
	for _, c := range readGolden(t).Trajectories {
		name := fmt.Sprintf("%s, %s, %s=%v", c.Objective, c.Policy, c.Regularizer, c.Hyperparameter)
		p, params, missing, err := goldenSetup(c.Objective, c.Policy, c.Regularizer, c.Hyperparameter, c.goldenInputs)
		if missing != "" {
			t.Logf("%s: unknown %s", name, missing)
			continue
		}
		if err != nil {
			t.Fatal(name, err)
		}
		adam := train.Adam{LearningRate: c.LR}
		for i, want := range c.Values {
			if err := p.Run(); err != nil {
				t.Fatal(name, err)
			}
			if s := off(fmt.Sprintf("value before step %d", i), []float64{p.Cost()}, []float64{want}, 1e-6); s != "" {
				t.Errorf("%s: %s", name, s)
				break
			}
			if err := train.Step(&adam, p); err != nil {
				t.Fatal(err)
			}
		}
		final := map[*graph.Param][]float64{params.Mu: flat(c.FinalMu)}
		if params.LogSigma != nil {
			final[params.LogSigma] = []float64{c.FinalLogSigma}
		}
		for _, q := range params.Own {
			final[q] = []float64{c.FinalRaw}
		}
		for q, want := range final {
			if s := off("final "+q.Name, q.Float64s(), want, 1e-6); s != "" {
				t.Errorf("%s: %s", name, s)
			}
		}
	}
}

func TestGolden_AdamTakesTheSameSteps(t *testing.T) {
	for i, c := range readGolden(t).Adam {
		x := graph.NewParam("x", tensor.Float64, c.X0, len(c.X0))
		g := graph.New(tensor.Float64)
		p, err := g.Compile(g.Param(x).Mul(g.Input("grad", len(c.X0))).Sum())
		if err != nil {
			t.Fatal(err)
		}
		adam := train.Adam{LearningRate: c.LR, WeightDecay: c.WeightDecay}
		for k, grad := range c.Grads {
			_ = p.Feed("grad", grad)
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			if err := train.Step(&adam, p); err != nil {
				t.Fatal(err)
			}
			if s := off(fmt.Sprintf("x after step %d", k), x.Float64s(), c.X[k], 1e-12); s != "" {
				t.Errorf("case %d: %s", i, s)
			}
		}
	}
}
