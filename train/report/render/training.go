package render

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/portable"
	"opl/train/explain"
	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/report/figure"
	"opl/train/report/html"
)

// Training prints the report of a training, with its bounds and what they assume. The explanation may be nil. file is
// where the policy was written, "" if it was not.
func Training(w io.Writer, l *pipeline.Learned, e *explain.Explanation, file string) error {
	var b strings.Builder
	fmt.Fprintln(&b, concludedTraining(l, file))
	printFacts(&b, trainingFacts(l, e))
	if l.Certificate == nil {
		printFacts(&b, []html.Fact{unproven(l)})
	} else {
		printDecision(&b, l.Certificate.Statement().Decided())
		printGuarantee(&b, l.Certificate.Statement())
	}
	printRules(&b, l.Served)
	printFacts(&b, warnings(l))
	_, err := io.WriteString(w, b.String())
	return err
}

// shortRules is how many leaves a policy that is printed as rules has at most.
const shortRules = 16

// printRules prints a policy that is a small tree.
func printRules(b *strings.Builder, p *policyfile.Policy) {
	if tree, err := portable.Within(p, 4*shortRules); err == nil && tree.Root.Leaves() <= shortRules {
		b.WriteString("\n")
		_ = tree.Write(b, "text", "") // a builder takes all
		b.WriteString("\n")
	}
}

// trainingFacts say what was learned, from what, what it earns by the estimate, and what it does.
func trainingFacts(l *pipeline.Learned, e *explain.Explanation) []html.Fact {
	t, f, c := l.Training, l.File, &l.File.Components[0]
	teach, certify, divided := "the policy and ", "certify", t.Split
	switch {
	case t.Chunks > 1:
		teach = "the first policy and "
		certify = fmt.Sprintf("certify in %d chunks, each the policy that the rows before it taught", t.Chunks)
	case t.Certify:
	case t.Learner != "":
		teach = "the prior and "
	default:
		teach, certify = "", "train and certify"
	}
	if t.Split == pipeline.Random {
		divided = "chance"
	}
	rows := fmt.Sprintf("%d of %d train", t.Certifying, t.Rows)
	if t.Split != "" || t.Chunks > 1 {
		rows = fmt.Sprintf("%d teach %sthe scaling of features, %d %s (divided by %s)", t.Teaching, teach, t.Certifying,
			certify, divided)
	}
	u := logs.Units{Low: f.RewardMin, High: f.RewardMax}
	name, unit := "rows", "rows"
	if l.Log.Lists > 0 {
		name, unit = "slots", "lists"
	}
	on := "the " + unit + " that certify"
	if !t.Certify { // no recipe that leaves them alone
		on = "the " + unit + " it was learned from, which flatters"
		if n := t.Estimate.Rows; f.HasItems() && n < t.Rows {
			on = fmt.Sprintf("%d of %s", n, on)
		}
	}
	facts := []html.Fact{
		fact("log", "%s; %d features", logOf(l.Log, actionsText(f)), c.Encoder.Dim()),
		{Name: name, Value: rows},
		fact("learned", "%s; %.1f s", learnedText(t, f), t.Seconds),
		{Name: "estimate", Value: estimated(t.Estimate, u, on, unit)},
	}
	drawn := func(c policyfile.Component) bool { return c.Fixed() && c.Kind == policyfile.Softmax }
	if slices.ContainsFunc(f.Components, drawn) && t.Learner != "start" {
		facts = append(facts, fact("drawn", "the larger its score, the more often an action is played: of a policy "+
			"that plays the best of many alone less can be guaranteed (--policy argmax plays it)"))
	}
	var of []string
	for _, d := range t.Divisions {
		of = append(of, fmt.Sprintf("%d: %s, %s", d.Bins, around(plain, d.Value, d.Error),
			decimal(plain, logs.Places(d.Error), d.Least)))
	}
	if of != nil {
		facts = append(facts, fact("bins", "%d of %d at a time, by rows that teach, which say the reward and about "+
			"what of it can be guaranteed: %s", max(1, f.Numbers.Window), f.Numbers.Bins(), strings.Join(of, "; ")))
	}
	if e != nil {
		facts = append(facts, behaviour(e, false)...)
	}
	return facts
}

// unproven says why nothing is guaranteed.
func unproven(l *pipeline.Learned) html.Fact { return fact("guaranteed", "nothing: %s", l.Unproven) }

func warnings(l *pipeline.Learned) (facts []html.Fact) {
	for _, s := range l.Training.Warnings {
		facts = append(facts, fact("warning", "%s", s))
	}
	return facts
}

// learnedText says what kind of policy was learned, and by what.
func learnedText(t pipeline.Training, f *policyfile.File) string {
	c := &f.Components[0]
	text := fmt.Sprintf("by %s: %s policy", t.Objective, c.Kind)
	if n := len(f.Components); n > 1 {
		kinds := map[string]int{}
		for i := range f.Components {
			kinds[f.Components[i].Kind]++
		}
		var of []string
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			of = append(of, fmt.Sprintf("%d %s", kinds[kind], kind))
		}
		text = fmt.Sprintf("by %s: a mixture of %s policies", t.Objective, strings.Join(of, " and "))
	}
	if t.Weight != "" {
		text += ", weight " + t.Weight
		if t.Hyper.Valid() {
			text += fmt.Sprintf("=%.4g", t.Hyper)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Traded)) {
		text += fmt.Sprintf(", %s weighed %.3g beside the reward's 1", name, t.Traded[name])
	}
	if t.Certify {
		text += ", scores by " + strings.Join(slices.Compact(strings.Split(t.Learner, ", ")), ", ")
	} else if t.Learner != "" {
		text += ", prior by " + t.Learner
	}
	if c.Family().HasPosterior() {
		text += fmt.Sprintf(" of scale %v, σ %.4g", c.Prior.Scale, c.Sigma)
	}
	if len(c.Layers) > 0 && !c.Layers[0].IsSpecial() {
		text += ", through " + layersText(c.Layers)
	}
	if f.Floor > 0 {
		text += fmt.Sprintf(", floor %.4g", f.Floor)
	}
	if t.Even > 0 {
		text += fmt.Sprintf(", of which draws of %.3g %% of the decisions are there to keep the limits", 100*t.Even)
	}
	return text
}

// actionsText says what a policy chooses among.
func actionsText(f *policyfile.File) string {
	text := fmt.Sprintf("%d actions", len(f.Actions))
	it := f.Components[0].Items
	if it == nil {
		return text
	}
	if f.Catalogue == nil {
		text = "sets of actions"
	} else if f.Among() == policyfile.Sets {
		text = "sets of " + text
	}
	if n := it.Encoder.Dim(); n > 1 {
		text += fmt.Sprintf(" of %d features", n)
	}
	if n := len(it.Own); n > 0 {
		text += fmt.Sprintf(" (%d with a row of their own)", n)
	}
	return text
}

// layersText says what layers a policy has.
func layersText(layers []features.Layer) string {
	var sizes []string
	for i := range layers {
		sizes = append(sizes, fmt.Sprint(layers[i].Out()))
	}
	if len(sizes) == 1 {
		return "a layer of " + sizes[0] + " units"
	}
	return "layers of " + strings.Join(sizes, ", ") + " units"
}

// TrainingPage returns the report of a training, to be shared. The explanation may be nil.
func TrainingPage(l *pipeline.Learned, e *explain.Explanation) html.Page {
	p := html.Page{Question: "What was learned from this log, and what is guaranteed of it?",
		Subject: fmt.Sprintf("%d rows, %s", l.Training.Rows, actionsText(l.File)),
		Data: map[string]any{"training": l.Training, "certificate": l.Certificate, "unproven": l.Unproven,
			"worse": l.Worse, "undecided": l.Undecided, "log": l.Log}}
	learned := html.Section{Title: "What was learned", Facts: trainingFacts(l, nil)}
	var said []html.Section
	if l.Certificate == nil {
		p.Tone = html.Bad
		p.Verdict = fmt.Sprintf("A policy was learned, and nothing is guaranteed of it: %s.",
			strings.TrimSuffix(l.Unproven, "."))
		learned.Facts = append(learned.Facts, unproven(l))
	} else {
		s := l.Certificate.Statement()
		p.Tone, p.Verdict = toneOf(s), "A policy was learned. "+sentence(s)
		said = []html.Section{guaranteeSection(s), assumptions(s)}
		if d := s.Decided(); d != nil {
			p.Tone, p.Verdict = decisionTone(d), "A policy was learned. "+answer(d)
			said = append([]html.Section{decisionSection(d)}, said...)
		}
	}
	learned.Facts = append(learned.Facts, warnings(l)...)
	p.Sections = append([]html.Section{learned}, said...)
	if l.Worse {
		p.Tone = html.Bad
		p.Verdict += " By the estimate it earns less than what plays: keep that, or learn again."
	}
	if e != nil {
		p.Sections = append(p.Sections, ExplanationPage(e).Sections...)
	}
	if f := learningFigure(l.Training); len(f.Panels) > 0 {
		p.Sections = append(p.Sections, html.Section{Title: "How it was learned", Figures: []html.Figure{f}})
	}
	if len(l.Training.Divisions) > 0 {
		p.Sections = append(p.Sections, html.Section{Title: "Into how many bins", Figures: []html.Figure{
			binsFigure(l.Training)}})
	}
	if l.Log.Severity > inspect.Fine && p.Tone == html.Good {
		p.Tone = html.Doubt
		p.Verdict = "A policy was learned. Its bounds, below, assume what checks of the log doubt: see what they found."
	}
	checks := Checks(l.Log)
	checks.Tables = readTables(l.Log)
	p.Sections = append(p.Sections, checks)
	return p
}

// binsFigure draws what is promised against the number of windows that a range of numbers has room for.
func binsFigure(t pipeline.Training) html.Figure {
	c := figure.Curve{Name: "estimate, down to what could be guaranteed", Style: figure.Category(0), Kind: figure.Barred}
	p := &figure.Panel{X: "bins", Y: "reward", LogX: true}
	for _, d := range t.Divisions {
		c.Add(float64(d.Bins), d.Value, d.Least, d.Value, "")
		p.At = append(p.At, float64(d.Bins))
	}
	p.Curves = []figure.Curve{c}
	return html.Figure{Caption: "The reward of the best policy of each number of bins, by rows that teach, and " +
		"about what as many rows as certify could guarantee. The largest reward less a quarter of the way there is taken.",
		Figure: figure.Figure{Name: "bins", Panels: [][]*figure.Panel{{p}},
			Legends: []figure.Legend{{Entries: []figure.Entry{{Label: c.Name, Style: c.Style}}}}}}
}

// learningFigure draws by epoch how many rows the weights are worth, and the objective: a panel for each stage, since
// objectives of different stages cannot be compared.
func learningFigure(t pipeline.Training) html.Figure {
	type key struct {
		stage string
		scale float64
	}
	var last key
	epoch, seen := 0, map[key]int{}
	objectives := map[string]*figure.Panel{}
	effective := &figure.Panel{Title: "rows that the weights are worth", X: "epoch", Whole: true}
	panels := []*figure.Panel{effective}
	var legend figure.Legend
	for _, p := range t.Curve {
		k, of := key{p.Stage, p.Scale}, objectives[p.Stage]
		if of == nil {
			of = &figure.Panel{Title: strings.TrimSuffix("objective of "+p.Stage, " of "), X: "epoch", Whole: true}
			objectives[p.Stage], panels = of, append(panels, of)
		}
		if seen[k] == 0 || k != last || p.Epoch <= epoch { // also the stage of another chunk
			name := p.Stage
			if seen[k]++; seen[k] > 1 {
				name = fmt.Sprintf("%s %d", name, seen[k])
			}
			if p.Scale != 0 {
				name = strings.TrimPrefix(fmt.Sprintf("%s, prior scale %.3g", name, p.Scale), ", ")
			}
			c := figure.Curve{Name: cmp.Or(name, "training"), Style: figure.Category(len(legend.Entries))}
			c.Marker = figure.NoMarker
			of.Curves, effective.Curves = append(of.Curves, c), append(effective.Curves, c)
			legend.Entries = append(legend.Entries, figure.Entry{Label: c.Name, Style: c.Style})
		}
		last, epoch = k, p.Epoch
		of.Curves[len(of.Curves)-1].Add(float64(p.Epoch), float64(p.Objective), math.NaN(), math.NaN(), "")
		effective.Curves[len(effective.Curves)-1].Add(float64(p.Epoch), p.Effective, math.NaN(), math.NaN(), "")
	}
	f := html.Figure{Caption: "Learning: the objective and the rows that the weights are worth, by epoch. " +
		"Objectives of different learners cannot be compared."}
	if legend.Entries != nil {
		f.Figure = figure.Figure{Name: "learning", Panels: slices.Collect(slices.Chunk(panels, 2)),
			Legends: []figure.Legend{legend}, OwnY: true}
	}
	return f
}
