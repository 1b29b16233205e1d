package pipeline

import (
	"fmt"
	"io"
	"strings"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/logs"
)

// WriteText writes the report of a training for people.
func (l *Learned) WriteText(w io.Writer) error {
	var b strings.Builder
	t, f, c := l.Training, l.File, &l.File.Components[0]
	fmt.Fprintf(&b, "log        %d rows, %s, %d features; propensities known: %s\n", t.Rows, actionsText(f), c.Encoder.Dim(), l.Log.Known)
	switch {
	case t.Chunks > 1:
		fmt.Fprintf(&b, "rows       %d teach the first policy and the scaling of features, %d certify in %d chunks, each the policy that the rows before it taught (divided by %s)\n", t.Teaching, t.Certifying, t.Chunks, division(t.Split))
	case t.Split != "" && t.Certify:
		fmt.Fprintf(&b, "rows       %d teach the policy and the scaling of features, %d certify (divided by %s)\n", t.Teaching, t.Certifying, division(t.Split))
	case t.Split != "" && t.Learner != "":
		fmt.Fprintf(&b, "rows       %d teach the prior and the scaling of features, %d certify (divided by %s)\n", t.Teaching, t.Certifying, division(t.Split))
	case t.Split != "":
		fmt.Fprintf(&b, "rows       %d teach the scaling of features, %d train and certify (divided by %s)\n", t.Teaching, t.Certifying, division(t.Split))
	default:
		fmt.Fprintf(&b, "rows       %d of %d train\n", t.Certifying, t.Rows)
	}
	kind := c.Kind + " policy"
	if n := len(f.Components); n > 1 {
		kind = fmt.Sprintf("a mixture of %d %s policies", n, c.Kind)
	}
	fmt.Fprintf(&b, "learned    %s, %s", t.Objective, kind)
	if t.Weight != "" {
		fmt.Fprintf(&b, ", weight %s", t.Weight)
		if t.Hyper.Valid() {
			fmt.Fprintf(&b, "=%.4g", t.Hyper)
		}
	}
	if t.Certify {
		fmt.Fprintf(&b, ", scores by %s", t.Learner)
	} else if t.Learner != "" {
		fmt.Fprintf(&b, ", prior by %s", t.Learner)
	}
	if c.Family().HasPosterior() {
		fmt.Fprintf(&b, " of scale %v, σ %.4g", c.Prior.Scale, c.Sigma)
	}
	if n := len(c.Layers); n > 0 {
		fmt.Fprintf(&b, ", through %s", layersText(c.Layers))
	}
	if f.Floor > 0 {
		fmt.Fprintf(&b, ", floor %v", f.Floor)
	}
	fmt.Fprintf(&b, "; %.1f s\n", t.Seconds)
	u := logs.Units{Low: f.RewardMin, High: f.RewardMax}
	on := "the rows that certify"
	if !t.Certify { // no recipe that leaves them alone
		on = "the rows it was learned from, which flatters"
		if n := t.Estimate.Rows; f.HasItems() && n < t.Rows {
			on = fmt.Sprintf("%d of %s", n, on)
		}
	}
	fmt.Fprintf(&b, "estimate   %s\n", t.Estimate.Text(u.Of, u.Width, on))
	if l.Certificate == nil {
		fmt.Fprintf(&b, "guaranteed nothing: %s\n", l.Unproven)
	} else {
		l.Certificate.Statement().Describe(&b)
	}
	for _, s := range t.Warnings {
		fmt.Fprintf(&b, "warning    %s\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
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

func division(split string) string {
	switch split {
	case Random:
		return "chance"
	default:
		return split
	}
}
