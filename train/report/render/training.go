package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/portable"
	"opl/train/explain"
	"opl/train/logs"
	"opl/train/pipeline"
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
	printRules(&b, l.File)
	printFacts(&b, warnings(l))
	_, err := io.WriteString(w, b.String())
	return err
}

// shortRules is how many leaves a policy that is printed as rules has at most.
const shortRules = 16

// printRules prints a policy that is a small tree.
func printRules(b *strings.Builder, f *policyfile.File) {
	for _, c := range f.Components {
		if len(c.Layers) == 0 || c.Layers[0].Trees == nil || len(c.Layers[0].Trees.Feature) > 1000 {
			return
		}
	}
	p, err := policyfile.New(f)
	if err != nil {
		return
	}
	if tree, err := portable.New(p); err == nil && tree.Root.Leaves() <= shortRules {
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
	var of []string
	for _, d := range t.Divisions {
		of = append(of, fmt.Sprintf("%d: %s", d.Bins, around(plain, d.Value, d.Error)))
	}
	if of != nil {
		facts = append(facts, fact("bins", "%d of %d at a time, by rows that teach: %s", max(1, f.Numbers.Window),
			f.Numbers.Bins(), strings.Join(of, "; ")))
	}
	if e != nil {
		facts = append(facts, behaviour(e, false)...)
	}
	return facts
}

// unproven says why nothing is guaranteed.
func unproven(l *pipeline.Learned) html.Fact { return fact("guaranteed", "nothing: %s", l.Unproven) }

// warnings are those of the training.
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
		text = fmt.Sprintf("by %s: a mixture of %d %s policies", t.Objective, n, c.Kind)
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
