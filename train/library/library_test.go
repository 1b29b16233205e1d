package library_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"opl/objectives"
	"opl/policies"
	"opl/train"
	"opl/train/library"
	"opl/train/ope"
)

// flat is a noise of one's own: every point is 1.
type flat struct{}

func (flat) Name() string                   { return "flat" }
func (flat) New(_, _ int) policies.Points   { return flat{} }
func (flat) Fill(_ *rand.Rand, x []float64) { fill(x) }

func (flat) Fill32(_ *rand.Rand, x []float32, _ int) { fill(x) }

func fill[T float32 | float64](x []T) {
	for i := range x {
		x[i] = 1
	}
}

// withOwn has an entry of one's own of every kind.
func withOwn() library.Library {
	lib := library.Standard()
	risk := func(library.Args) objectives.Objective { return objectives.Risk() }
	lib.Objectives = append(lib.Objectives, library.Objective{Name: "mine", Label: "Mine", Policy: "softmax", Make: risk},
		library.Objective{Name: "plain", Policy: "softmax", Make: risk})
	lib.Weights = append(lib.Weights, library.Weight{Name: "own", Label: "Own", Symbol: "κ", IPSAt: 1, Make: objectives.ES})
	lib.Noises = append(lib.Noises, library.Noise{Noise: flat{}, About: "no noise at all"})
	lib.Estimators = append(lib.Estimators, ope.Estimator{Name: "nothing", Of: func(d *ope.Data, _ float64) ope.Value {
		return d.Mean(func(int) float64 { return 0 })
	}})
	return lib
}

func TestCheck_NamesWhatDoesNotFitAndWhatWasMeant(t *testing.T) {
	lib := library.Standard()
	for _, c := range []struct{ objective, weight, policy, want string }{
		{"corollary1", "har", "gaussian", "linear"},
		{"corollary1", "clip", "softmax", "mixture"},
		{"london", "ix", "gaussian", "clip"},
		{"theorem1", "clip", "softmax", "posterior"},
		{"heuristc", "clip", "softmax", `did you mean "heuristic"`},
		{"heuristic", "klip", "softmax", `did you mean "clip"`},
		{"heuristic", "clip", "softmaks", `did you mean "softmax"`},
		{"theorem1", "har", "gaussian", ""},
	} {
		err := lib.Check(train.Run{Objective: c.objective, Weight: c.weight, Policy: c.policy, Hyper: train.None(), Penalty: train.None()})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s × %s × %s: %v, want %q", c.objective, c.weight, c.policy, err, c.want)
		}
	}
}

func TestValidate_RefusesEntriesWithoutNameOrFormula(t *testing.T) {
	if err := withOwn().Validate(); err != nil {
		t.Error(err)
	}
	for want, add := range map[string]func(*library.Library){
		`objective "risk"`: func(l *library.Library) {
			l.Objectives = append(l.Objectives, library.Objective{Name: "risk", Policy: "softmax", Make: l.Objectives[0].Make})
		},
		`noise "iid"`:                        func(l *library.Library) { l.Noises = append(l.Noises, library.Noise{Noise: policies.IID{}}) },
		"noise has no":                       func(l *library.Library) { l.Noises = append(l.Noises, library.Noise{}) },
		`"logging"`:                          func(l *library.Library) { l.Objectives[0].Name = train.LoggingPolicy },
		`"w" has no formula`:                 func(l *library.Library) { l.Weights = append(l.Weights, library.Weight{Name: "w"}) },
		`two entries are the estimator "dr"`: func(l *library.Library) { l.Estimators = append(l.Estimators, ope.DR()) },
		"estimator has no name":              func(l *library.Library) { l.Estimators = append(l.Estimators, ope.Estimator{Of: ope.IPS().Of}) },
		`"e" has no formula`:                 func(l *library.Library) { l.Estimators = append(l.Estimators, ope.Estimator{Name: "e"}) },
		`policy "x"`:                         func(l *library.Library) { l.Objectives[0].Policy = "x" },
	} {
		t.Run(want, func(t *testing.T) {
			lib := library.Standard()
			if add(&lib); lib.Validate() == nil || !strings.Contains(lib.Validate().Error(), want) {
				t.Errorf("error %v, want %q", lib.Validate(), want)
			}
		})
	}
}

func TestLibrary_LabelsItsEntries(t *testing.T) {
	lib := withOwn()
	for got, want := range map[string]string{
		lib.ObjectiveLabel("corollary1"): "Corollary 1", lib.ObjectiveLabel("mine"): "Mine", lib.ObjectiveLabel("plain"): "plain", lib.ObjectiveLabel("other"): "other",
		lib.WeightLabel("clip"): "Clip", lib.WeightLabel("own"): "Own", lib.WeightLabel(""): "",
		lib.Symbol("risk", "clip"): "τ", lib.Symbol("mine", "own"): "κ", lib.Symbol("implicit", ""): "γ", lib.Symbol("ls", ""): "h",
	} {
		t.Run(got, func(t *testing.T) {
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// A log with the propensities of the logged actions alone is enough for some.
func TestCheckLoggedOnly_NamesObjectivesThatNeedNoMore(t *testing.T) {
	lib := withOwn()
	run := func(name string) train.Run {
		o, err := lib.Objective(name)
		if err != nil {
			t.Fatal(err)
		}
		return train.Run{Objective: name, Policy: o.Policy, Weight: "clip", Hyper: train.None(), Penalty: train.None()}
	}
	for _, name := range []string{"risk", "mine", "ls", "certified", "implicit"} {
		if err := lib.CheckLoggedOnly(run(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := lib.CheckLoggedOnly(run("corollary1"))
	if err == nil || !strings.Contains(err.Error(), "propensities of all actions") {
		t.Fatalf("corollary1: %v", err)
	}
	_, can, _ := strings.Cut(err.Error(), "these need no more: ")
	for name, want := range map[string]bool{"certified": true, "london": true, "ls": true, "risk": true, "implicit": true, "mine": true,
		"heuristic": false, "theorem1": false, "corollary1": false, "pseudoloss": false} {
		t.Run(name, func(t *testing.T) {
			if slices.Contains(strings.Split(can, ", "), name) != want {
				t.Errorf("%s is among %s: not %v", name, can, want)
			}
		})
	}
}

// A noise of one's own is in every policy that is sampled, fast in float32.
func TestOwnNoise_IsInThePolicysGraph(t *testing.T) {
	lib := withOwn()
	r, err := lib.Settle(train.Run{Objective: "theorem1", Policy: "mixedlogit", Weight: "clip", Lambda: "star",
		Hyper: train.None(), Penalty: train.None(), Settings: train.Settings{Noise: "flat"}.Filled()})
	if err != nil || r.Noise != "flat" || r.Samples != 32 {
		t.Fatalf("%+v, %v", r, err)
	}
	c, _, err := lib.Config(r, 100)
	if err != nil {
		t.Fatal(err)
	}
	prior := policies.Prior{Mean: make([]float64, 4)}
	p, err := objectives.New(objectives.Setup{N: 2, Policy: c.Policy, Weight: c.Weight, Prior: prior, Actions: 2, Dim: 2,
		Params: objectives.NewParams(c.Dtype, c.Policy, prior, 2, 2)}, 3)
	if err != nil {
		t.Fatal(err)
	}
	program, err := p.Graph().Compile(p.Pi().Mean())
	if err != nil {
		t.Fatal(err)
	}
	program.Refill(rand.New(rand.NewPCG(1, 1)))
	if !program.Has(policies.NoiseName) {
		t.Error("the noise is not in the graph")
	}
}

// Representations are read with their arguments, and the rate of layers stays where layers are learned.
func TestRepresentation_ReadsItsArguments(t *testing.T) {
	lib := library.Standard()
	for _, spec := range []string{"", "none", "mlp", "mlp=3", "mlp=3,4,tanh,dropout=.5", "fourier", "fourier=7,bandwidth=.5", "conv", "conv=pad", "conv=3x1", "conv=3x5,4x3,pad,image=20x30,10,dropout=.5", "conv=3x5,image=2x9x3"} {
		if h, err := lib.Representation(spec); err != nil || (h == nil) != (spec == "" || spec == "none") {
			t.Errorf("%q: %v", spec, err)
		}
	}
	for spec, want := range map[string]string{
		"none=1": "takes no arguments", "mpl": `did you mean "mlp"`, "mlp=": "a number of units", "mlp=1e9": "a number of units", "mlp=3,dropout=1": "in [0, 1)",
		"conv=3": "want kernels such as 16x5 before layers", "conv=3,3x5": "want a number of units", "conv=3x": "want kernels such as 16x5", "conv=0x5": "want kernels", "conv=3x5,image=28": "want HEIGHTxWIDTH",
		"conv=3x5,image=0x5": "want HEIGHTxWIDTH", "conv=3x5,image=1x2x3x4": "want HEIGHTxWIDTH", "conv=3x5,dropout=2": "in [0, 1)", "conv=1x1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1": "at most 16",
		"fourier=3,bandwidth=0": "from 1e-6", "mlp=1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1": "at most 16",
	} {
		t.Run(spec, func(t *testing.T) {
			if _, err := lib.Representation(spec); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", spec, err, want)
			}
		})
	}
	for _, c := range []struct {
		objective, policy, representation string
		want                              float64
		settled                           string
	}{
		{"certified", "argmax", "", .01, ""}, {"certified", "argmax", "none", 0, "none"}, {"certified", "argmax", "mlp=3", .01, "mlp=3"},
		{"heuristic", "softmax", "", 0, ""}, {"heuristic", "softmax", "none", 0, ""}, {"heuristic", "softmax", "mlp=3", .01, "mlp=3"},
	} {
		r, err := lib.Settle(train.Run{Objective: c.objective, Policy: c.policy, Settings: train.Settings{Representation: c.representation, LayerRate: .01}})
		if err != nil || r.LayerRate != c.want || r.Representation != c.settled {
			t.Errorf("%+v: rate %v, representation %q, %v", c, r.LayerRate, r.Representation, err)
		}
	}
}
