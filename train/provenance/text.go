package provenance

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"opl/train/certify"
	"opl/train/logs"
)

// WriteText writes the statement about a log that was read, for people.
func (s Statement) WriteText(w io.Writer) error {
	var b strings.Builder
	rows := fmt.Sprint(s.Rows)
	if s.Files > 1 {
		rows += fmt.Sprintf(" of %d files", s.Files)
	}
	switch {
	case s.Relation == Fresh && s.Refused == 0:
		fmt.Fprintf(&b, "rows       %s, of which none had a part in the policy: all certify\n", rows)
	case s.Relation == Fresh:
		fmt.Fprintf(&b, "rows       %s, of which none had a part in the policy: %d certify, of %d the notes say why not\n", rows, s.N, s.Refused)
	case s.AnyTime:
		fmt.Fprintf(&b, "rows       %s, of which %d taught what must be fixed, or depend on such, or do not count as the notes say, %d certify\n", rows, s.Refused, s.N)
	default:
		fmt.Fprintf(&b, "rows       %s, of which %d taught what must be fixed, or depend on such, and are refused, %d certify\n", rows, s.Refused, s.N)
	}
	u := logs.Units{Low: s.RewardMin, High: s.RewardMax}
	on := "these rows"
	if s.Relation != Fresh {
		on = "the rows that certify"
	}
	if s.KL != 0 {
		on += ", which flatters if it was trained on them"
	}
	fmt.Fprintf(&b, "estimate   %s\n", s.Estimate.Text(u.Of, u.Width, on))
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
	u := logs.Units{Low: s.RewardMin, High: s.RewardMax}
	rows := fmt.Sprintf("%d rows", s.N)
	if s.Groups > 0 {
		rows = fmt.Sprintf("%d groups of %d rows", s.Groups, s.N)
	}
	who, at := "the logging policy", ""
	if s.Files > 1 {
		rows, who = fmt.Sprintf("%s of %d files", rows, s.Files), "what logged these rows"
	}
	if s.AnyTime {
		at = " at any time"
	}
	fmt.Fprintf(b, "guaranteed %s%s with probability %v, by %s on %s\n", u.Least(s.Guaranteed), at, 1-s.Delta, s.Best().Name, rows)
	fmt.Fprintf(b, "logging    %s in the same rows", u.Of(s.Logged))
	if s.Gain != nil {
		over := "it"
		if s.Files > 1 {
			over = "the policies that logged them, each with the share of its rows,"
		}
		fmt.Fprintf(b, "; gain over %s at least %s", over, u.LeastWidth(-s.Gain.Risk))
	}
	verdict := map[Verdict]string{
		Better:   "better than " + who,
		NotShown: "not shown to be better than " + who,
		Vacuous:  "nothing is guaranteed: the bound allows the least reward",
		Doubted:  "not shown to be better than " + who + ", for the log contradicts what the bounds assume",
	}[s.Verdict]
	fmt.Fprintf(b, "\nverdict    %s\n", verdict)
	if s.Contradicted != "" {
		fmt.Fprintf(b, "doubt      %s\n", s.Contradicted)
	}
	if s.Groups > 0 {
		b.WriteString("groups     rows of a group count as one: what is bounded is the mean over groups of their mean reward, not that over rows\n")
	}
	if s.Chunks > 0 {
		fmt.Fprintf(b, "chunks     %d: the rows of each certify the policy that those before taught; what is bounded is the mixture, which draws one of these policies for every decision\n", s.Chunks)
	}
	if s.Gamma > 1 {
		fmt.Fprintf(b, "Γ          for all propensities within the factor %v of those logged\n", s.Gamma)
	}
	kl := fmt.Sprintf("KL %.4g nats", s.KL)
	if s.Chunks > 0 {
		kl = "each fixed before the rows that certify it"
	} else if s.KL == 0 {
		kl = "fixed before the rows that certify"
	} else if s.Priors > 1 {
		kl += fmt.Sprintf(", which pays for the choice among %d priors", s.Priors)
	}
	fmt.Fprintf(b, "\n  %-21s %10s %9s  of: (%s)\n", "bound on the", "value", "δ", kl)
	for i, bound := range append(slices.Clone(s.All), *cmp.Or(s.Gain, &certify.Bound{})) {
		name, value := "reward", u.Least(max(0, -bound.Risk))
		switch {
		case i == len(s.All):
			if name, value = "gain", u.LeastWidth(-bound.Risk); s.Gain == nil {
				continue
			}
		case len(s.All) > 1: // a record of old
			name = bound.Name
		}
		fmt.Fprintf(b, "  %-21s %10s %9.3g ", name, value, bound.Delta)
		for _, t := range bound.Terms {
			fmt.Fprintf(b, " %s %.4g", t.Name, t.Value)
		}
		b.WriteByte('\n')
	}
	for _, m := range s.Missing {
		fmt.Fprintf(b, "  without %s\n", m)
	}
	if can := u.Range(); can != "" {
		fmt.Fprintf(b, "  Rewards are the log's, which can be %s; the terms are of rewards scaled from that range to [0, 1].\n", can)
	}
	if s.Circumstances != nil && s.ReadOff > 0 {
		fmt.Fprintf(b, "  %d of the actions occur in rows that certify alone: the bounds take all actions for named before (setting actions).\n", s.ReadOff)
	}
	if s.AnyTime {
		b.WriteString("  At any time: they hold at every look at these rows as more come, all looks together.\n")
	} else {
		b.WriteString("  For one look, at rows whose number was fixed before; to look again as rows come: certify by setting any-time.\n")
	}
	b.WriteString("  Both hold together, for this one policy on rows that are alike; whoever takes the best of several policies, trainings or\n" +
		"  statements on the same rows must share δ among them, and what several rounds state fails with the sum of their δ.\n\n")
}
