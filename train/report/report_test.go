package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"opl/objectives"
	"opl/train"
	"opl/train/certify"
	"opl/train/provenance"
	"opl/train/report"
	"opl/train/report/table"
)

var update = report.Update

func records() []train.Record {
	none := train.None()
	base := train.Record{N: 57000, LoggingReward: .7, RewardAtMean: none, SampledReward: none, ObjectiveValue: none, Sigma: none, PriorScale: none,
		Run: train.Run{Dataset: "mnist", Eta0: .5, Seed: 1, Hyper: none, Penalty: none}}
	logging := base
	logging.Objective, logging.Policy, logging.Reward = "logging", "softmax", .7
	logging.LoggingReward = .7
	learned := base
	learned.Objective, learned.Policy, learned.Weight, learned.Hyper = "corollary1", "gaussian", "clip", .0647
	learned.Lambda, learned.Epochs, learned.Reward, learned.RewardAtMean, learned.ObjectiveValue, learned.Seconds = "star", 20, .82, .89, -.7, 12.34
	own := base
	own.Objective, own.Policy, own.Hyper, own.Epochs, own.Reward, own.RewardSE, own.Seconds = "implicit", "softmax-posterior", .0647, 20, .83, .0002, 3
	own.PriorScale, own.HeldOut = .1, &train.HeldOut{Rows: 28500, Reward: .825, SE: .002}
	own.Certificate = &provenance.Statement{Verdict: provenance.Better, Bounds: certify.Bounds{Delta: .05, N: 28500, KL: 1.5, Gain: &certify.Bound{Name: "ls", Risk: -.09, Delta: .025},
		All: []certify.Bound{{Name: "ls", Risk: -.8, Delta: .005, Lambda: .02, Terms: []objectives.Term{{Name: "risk", Value: -.81}}}}}}
	return []train.Record{logging, learned, own}
}

func TestReport_CountsEachVerdictOfSeveralSeeds(t *testing.T) {
	var recs []train.Record
	for seed, v := range []provenance.Verdict{provenance.Better, provenance.Doubted, provenance.Better} {
		r := records()[2]
		c := *r.Certificate
		c.Verdict, r.Seed, r.Certificate = v, uint64(seed), &c
		recs = append(recs, r)
	}
	var b strings.Builder
	if err := report.Write(&b, table.Text, recs); err != nil || !strings.Contains(b.String(), "2× better, 1× doubted") {
		t.Errorf("%v: %s", err, &b)
	}
}

func TestReport_GivesTheGoldenFiles(t *testing.T) {
	seeds := records()
	for _, r := range records() {
		r.Seed, r.Reward = 2, r.Reward+.01
		seeds = append(seeds, r)
	}
	other := records()[:2]
	for i := range other {
		other[i].Dataset = "fashion"
	}
	for name, c := range map[string]struct {
		format table.Format
		recs   []train.Record
	}{
		"table.txt":    {table.Text, append(records(), other...)},
		"seeds.txt":    {table.Text, seeds},
		"table.md":     {table.Markdown, records()},
		"records.csv":  {table.CSV, seeds},
		"records.json": {table.JSON, records()[:2]},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			write := func() error { return report.Write(&b, c.format, c.recs) }
			if c.format == table.JSON { // as commands answer
				e := json.NewEncoder(&b)
				e.SetIndent("", "  ")
				write = func() error { return e.Encode(c.recs) }
			}
			if err := write(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%s differs; run go test ./train/report -update and read the difference:\n%s", name, b.Bytes())
			}
		})
	}
	var b bytes.Buffer
	if err := report.WriteTerms(&b, table.Text, records()); err != nil || !bytes.Contains(b.Bytes(), []byte("ls")) {
		t.Errorf("terms: %v\n%s", err, b.Bytes())
	}
	if err := report.Write(&bytes.Buffer{}, "yaml", records()); err == nil {
		t.Error("an unknown format was written")
	}
}

// Text is as wide as the terminal at most, and whatever is no column there is said below.
func TestText_IsAsWideAsTheTerminalAtMost(t *testing.T) {
	recs, again := records(), records()
	for i := range recs {
		recs[i].SampledReward, again[i].SampledReward, again[i].Seed = .4321, .4321, 2
		recs[i].Terms = []objectives.Term{{Name: "unbiased risk", Value: -.123456}, {Name: "sampling", Value: .000123456}, {Name: "variance", Value: 1234.5}, {Name: "distance", Value: 3}}
	}
	for width := 80; width <= 160; width += 4 {
		for _, recs := range [][]train.Record{recs, append(again, recs...)} {
			var b bytes.Buffer
			if err := errors.Join(report.Rewards(&b, table.Text, width, recs), report.Blocks(&b, width, recs)); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > width {
					t.Errorf("%d columns on a terminal of %d: %s", n, width, line)
				}
			}
			for _, want := range []string{"softmax-posterior", "star", "0.8900", "better", "ls", "+0.1300", "clip=0.0647", "no certificate", "12.3", "0.4321", "variance 1234.5"} {
				if !strings.Contains(b.String(), want) {
					t.Fatalf("%s is missing at %d columns:\n%s", want, width, b.String())
				}
			}
		}
	}
}
