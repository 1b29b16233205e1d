package provenance

import (
	"fmt"
	"io"
	"strings"
)

// WriteText writes the statement about a log that was read, for people.
func (s Statement) WriteText(w io.Writer) error {
	var b strings.Builder
	switch s.Relation {
	case Fresh:
		fmt.Fprintf(&b, "rows       %d, of which none had a part in the policy: all certify\n", s.Rows)
	default:
		fmt.Fprintf(&b, "rows       %d, of which %d taught the prior or the scaling of features and are refused, %d certify\n", s.Rows, s.Refused, s.N)
	}
	u := Units{s.RewardMin, s.RewardMax}
	on := "these rows"
	if s.Relation != Fresh {
		on = "the rows that certify, which flatters if it was trained on them"
	}
	fmt.Fprintf(&b, "estimate   %s ± %s on %s, worth %.0f rows\n", u.Of(s.Estimate.Reward), u.Width(s.Estimate.SE), on, s.Estimate.Effective)
	s.Describe(&b)
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "note       %s\n", n)
	}
	for _, d := range s.Doubts {
		fmt.Fprintf(&b, "warning    %s\n", d)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Describe writes what is guaranteed, for people: the same words wherever it is printed.
func (s Statement) Describe(b *strings.Builder) {
	u := Units{s.RewardMin, s.RewardMax}
	fmt.Fprintf(b, "guaranteed %s with probability %v, by %s on %d rows\n", u.Of(max(0, s.Guaranteed)), 1-s.Delta, s.Best().Name, s.N)
	fmt.Fprintf(b, "logging    %s in the log, at most %s\n", u.Of(s.Logged), u.Of(s.LoggingUpper))
	verdict := map[Verdict]string{
		Better:   "better than the logging policy",
		NotShown: "not shown to be better than the logging policy",
		Vacuous:  "nothing is guaranteed: the bound allows the least reward",
	}[s.Verdict]
	if s.Dependent {
		verdict += ", if rows were independent; they are not, for some share a group"
	}
	fmt.Fprintf(b, "verdict    %s\n", verdict)
	kl := fmt.Sprintf("KL %.4g nats", s.KL)
	if s.Priors > 1 {
		kl += fmt.Sprintf("; chosen among %d priors, which each share of δ has paid for", s.Priors)
	}
	fmt.Fprintf(b, "\n  %-21s %10s %9s  of: (%s)\n", "bound", "reward", "δ", kl)
	for _, bound := range s.All {
		fmt.Fprintf(b, "  %-21s %10s %9.3g ", bound.Name, u.Of(-bound.Risk), bound.Delta)
		for _, t := range bound.Terms {
			if t.Name != "KL" {
				fmt.Fprintf(b, " %s %.4g", t.Name, t.Value)
			}
		}
		b.WriteByte('\n')
	}
	for _, m := range s.Missing {
		fmt.Fprintf(b, "  without %s\n", m)
	}
	fmt.Fprintf(b, "  logging policy at most%9s %9.3g\n", u.Of(s.LoggingUpper), s.Delta/2)
	b.WriteString("  All of it holds together; rows are taken for independent and identically distributed.\n\n")
}

// Units are those of a log's rewards.
type Units struct{ Low, High float64 }

// Of is a reward in [0, 1] in the log's units.
func (u Units) Of(reward float64) string { return fmt.Sprintf("%.4g", u.Low+reward*(u.High-u.Low)) }

// Width is a difference of rewards, likewise.
func (u Units) Width(v float64) string { return fmt.Sprintf("%.2g", v*(u.High-u.Low)) }
