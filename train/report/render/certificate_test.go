package render_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"opl/objectives/weights"
	"opl/train/certify"
	"opl/train/provenance"
	"opl/train/report/render"
)

// A page says all that the text says, and the verdict of each kind.
func TestPage_SaysAllThatTheTextSays(t *testing.T) {
	gain := certify.Bound{Name: "ls", Risk: -.01, Delta: .025, Terms: []weights.Term{{Name: "risk", Value: -.03}}}
	of := func(v provenance.Verdict) provenance.Statement {
		return provenance.Statement{Verdict: v, Bounds: certify.Bounds{Delta: .05, N: 400, Groups: 40, Chunks: 4, Gamma: 1.5, KL: 2, Priors: 3,
			All: []certify.Bound{{Name: "ls+dr", Risk: -.4, Delta: .025, Terms: []weights.Term{{Name: "risk", Value: -.45}, {Name: "kappa", Value: .02}}}}, Gain: &gain,
			Missing: []string{"dr: the log has <no> propensities"}},
			Circumstances: &provenance.Circumstances{Guaranteed: .4, Rows: 600, Refused: 200, Logged: .38, ReadOff: 2, RewardMin: 0, RewardMax: 200, Strength: 1.25,
				Contradicted: "counts by action", Doubts: []string{"drift of the reward"}, Notes: []string{"12 rows were left out"},
				Estimate: certify.Estimate{Rows: 400, Reward: .5, SE: .01, Effective: 300}}}
	}
	for v, want := range map[provenance.Verdict]string{
		provenance.Better:   "It earns at least 80.0, and at least 2.0 more than what logged the rows, with probability 0.95.",
		provenance.NotShown: "Not shown to be better than what logged the rows, and the log contradicts what the bounds assume.",
		provenance.Vacuous:  "Nothing is guaranteed",
		provenance.Doubted:  "Not shown to be better than what logged the rows",
	} {
		s := of(v)
		page := render.CertificatePage(s)
		if !strings.HasPrefix(page.Verdict, want) {
			t.Errorf("%s: %s", v, page.Verdict)
		}
		if sure := of(v); v == provenance.NotShown {
			sure.Contradicted = ""
			want := "It earns at least 80.0, with probability 0.95; it is not shown to earn more than what logged the rows."
			if page := render.CertificatePage(sure); page.Verdict != want {
				t.Errorf("without a doubt: %s", page.Verdict)
			}
		}
		said := fmt.Sprint(page.Sections)
		var text bytes.Buffer
		if err := render.Certificate(&text, s); err != nil {
			t.Fatal(err)
		}
		_, below, _ := strings.Cut(text.String(), "\n") // the first line is the page's verdict in other words
		for line := range strings.Lines(below) {
			for word := range strings.FieldsSeq(line) {
				if strings.Contains(line, "bound on the") {
					continue
				}
				if !strings.Contains(said, word) {
					t.Errorf("%s: the page lacks %q of %q", v, word, line)
				}
			}
		}
		for _, want := range []string{"within the factor Γ = 1.5", "Γ = 1.25", "drift of the reward", "from 0 to 200"} {
			if !strings.Contains(said, want) {
				t.Errorf("no %q in %s", want, said)
			}
		}
		var b bytes.Buffer
		if err := page.Write(&b); err != nil || !strings.Contains(b.String(), "&lt;no&gt;") {
			t.Error(err)
		}
	}
}

// Rows worth fewer than 50 give no interval: here all that count earned 1, and the standard error is .007. Nor do weights
// of a long tail.
func TestCertificate_GivesNoIntervalThatIsNotToBeTrusted(t *testing.T) {
	for weights, want := range map[[2]float64]string{{23, .2}: "0.972 on these rows, worth 23 rows: too few for an interval",
		{60, .69}: "0.972 ± 0.014 (95 % interval)",
		{219, .9}: "0.972 on these rows, worth 219 rows: the largest weights have the tail k = 0.90: from 0.7 on no interval is to be trusted"} {
		s := provenance.Statement{Verdict: provenance.NotShown, Bounds: certify.Bounds{Delta: .05, N: 1059, All: []certify.Bound{{Name: "ls", Risk: -.24}}},
			Circumstances: &provenance.Circumstances{Relation: provenance.Fresh, Guaranteed: .24, Rows: 1059, Logged: .48, RewardMax: 1,
				Estimate: certify.Estimate{Rows: 1059, Reward: .972, SE: .0071, Effective: weights[0], Weight: 1, Tail: weights[1]}}}
		var text bytes.Buffer
		if err := render.Certificate(&text, s); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
