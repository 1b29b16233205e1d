package learn

import (
	"fmt"
	"io"
	"strings"

	"opl/policies/policyfile"
	"opl/train/certify"
)

// WriteText writes the report of a training for people.
func (l *Learned) WriteText(w io.Writer) error {
	var b strings.Builder
	t, f := l.Training, l.File
	fmt.Fprintf(&b, "log        %d rows, %d actions, %d features; propensities known: %s\n", t.Rows, len(f.Actions), f.Encoder.Dim(), l.Log.Known)
	switch {
	case t.Split != "" && t.Learner != "":
		fmt.Fprintf(&b, "rows       %d teach the prior and the scaling of features, %d certify (divided by %s)\n", t.Teach, t.Rest, division(t.Split))
	case t.Split != "":
		fmt.Fprintf(&b, "rows       %d teach the scaling of features, %d train and certify (divided by %s)\n", t.Teach, t.Rest, division(t.Split))
	default:
		fmt.Fprintf(&b, "rows       %d of %d train\n", t.Rest, t.Rows)
	}
	fmt.Fprintf(&b, "learned    %s, %s policy", t.Objective, f.Kind)
	if t.Weight != "" {
		fmt.Fprintf(&b, ", weight %s", t.Weight)
		if t.Hyper.Valid() {
			fmt.Fprintf(&b, "=%.4g", t.Hyper)
		}
	}
	if t.Learner != "" {
		fmt.Fprintf(&b, ", prior by %s", t.Learner)
	}
	if f.Kind == policyfile.Gaussian {
		fmt.Fprintf(&b, " of scale %v, σ %.4g", f.Prior.Scale, f.Sigma)
	}
	if f.Floor > 0 {
		fmt.Fprintf(&b, ", floor %v", f.Floor)
	}
	fmt.Fprintf(&b, "; %.1f s\n", t.Seconds)
	u := units{t.RewardMin, t.RewardMax}
	on := "the rows that certify"
	if !t.Certify || t.Tune > 0 { // no recipe that leaves them alone
		on = "the rows it was learned from, which flatters"
	}
	fmt.Fprintf(&b, "estimate   %s ± %s on %s, worth %.0f rows\n", u.of(t.Estimate.Reward), u.width(t.Estimate.SE), on, t.Estimate.Effective)
	if l.Guarantee == nil {
		fmt.Fprintf(&b, "guaranteed nothing: %s\n", l.Unproven)
	} else {
		l.Guarantee.text(&b)
	}
	for _, s := range t.Warnings {
		fmt.Fprintf(&b, "warning    %s\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func division(split string) string {
	switch split {
	case Random:
		return "chance"
	default:
		return split
	}
}

// WriteText writes the report of a certification for people.
func (g *Guarantee) WriteText(w io.Writer) error {
	var b strings.Builder
	switch g.Relation {
	case Fresh:
		fmt.Fprintf(&b, "rows       %d, of which none had a part in the policy: all certify\n", g.Rows)
	default:
		fmt.Fprintf(&b, "rows       %d, of which %d taught the prior or the scaling of features and are refused, %d certify\n", g.Rows, g.Refused, g.N)
	}
	u := units{g.RewardMin, g.RewardMax}
	on := "these rows"
	if g.Relation != Fresh {
		on = "the rows that certify, which flatters if it was trained on them"
	}
	fmt.Fprintf(&b, "estimate   %s ± %s on %s, worth %.0f rows\n", u.of(g.Estimate.Reward), u.width(g.Estimate.SE), on, g.Estimate.Effective)
	g.text(&b)
	for _, s := range g.Notes {
		fmt.Fprintf(&b, "note       %s\n", s)
	}
	for _, s := range g.Doubts {
		fmt.Fprintf(&b, "warning    %s\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text writes what is guaranteed.
func (g *Guarantee) text(b *strings.Builder) {
	u := units{g.RewardMin, g.RewardMax}
	fmt.Fprintf(b, "guaranteed %s with probability %v, by %s on %d rows\n", u.of(max(0, g.Reward)), 1-g.Delta, g.Best().Name, g.N)
	fmt.Fprintf(b, "logging    %s in the log, at most %s\n", u.of(g.Logged), u.of(g.LoggingUpper))
	verdict := map[certify.Verdict]string{
		certify.Better:   "better than the logging policy",
		certify.NotShown: "not shown to be better than the logging policy",
		certify.Vacuous:  "nothing is guaranteed: the bound allows the least reward",
	}[g.Verdict]
	if g.Dependent {
		verdict += ", if rows were independent; they are not, for some share a group"
	}
	fmt.Fprintf(b, "verdict    %s\n", verdict)
	kl := fmt.Sprintf("KL %.4g nats", g.KL)
	if g.Priors > 1 {
		kl += fmt.Sprintf("; chosen among %d priors, which each share of δ has paid for", g.Priors)
	}
	fmt.Fprintf(b, "\n  %-21s %10s %9s  of: (%s)\n", "bound", "reward", "δ", kl)
	for _, bound := range g.Bounds {
		fmt.Fprintf(b, "  %-21s %10s %9.3g ", bound.Name, u.of(-bound.Risk), bound.Delta)
		for _, t := range bound.Terms {
			if t.Name != "KL" {
				fmt.Fprintf(b, " %s %.4g", t.Name, t.Value)
			}
		}
		b.WriteByte('\n')
	}
	for _, m := range g.Missing {
		fmt.Fprintf(b, "  without %s\n", m)
	}
	fmt.Fprintf(b, "  logging policy at most%9s %9.3g\n", u.of(g.LoggingUpper), g.Delta/2)
	b.WriteString("  All of it holds together; rows are taken for independent and identically distributed.\n\n")
}

// units are those of the log's rewards.
type units struct{ low, high float64 }

func (u units) of(reward float64) string { return fmt.Sprintf("%.4g", u.low+reward*(u.high-u.low)) }
func (u units) width(v float64) string   { return fmt.Sprintf("%.2g", v*(u.high-u.low)) }
