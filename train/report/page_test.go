package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"opl/objectives"
	"opl/train"
	"opl/train/experiment"
)

// small figures, which take little time.
const smallDPI = 40

// stored reads testdata/made-up.jsonl, made-up records of fig1, written by -update.
func stored(t *testing.T) []train.Record {
	t.Helper()
	path := filepath.Join("testdata", "made-up.jsonl")
	if *Update {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		for _, r := range synthetic(t, []string{"fig1"}, []string{"mnist"}, 3, .02) {
			if r.Eta0 == 0 || r.Eta0 == .5 || r.Eta0 == 1 {
				if err := e.Encode(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var recs []train.Record
	for s := bufio.NewScanner(f); s.Scan(); {
		var r train.Record
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		recs = append(recs, r)
	}
	return recs
}

// A figure, its points and the verdicts are made again from stored records.
func TestWriteAll_RedrawsFromStoredRecords(t *testing.T) {
	dir := t.TempDir()
	recs := stored(t)
	if err := WriteAll(dir, recs, PageOptions{DPI: smallDPI, Command: "opl plot made-up.jsonl"}); err != nil {
		t.Fatal(err)
	}
	for file, golden := range map[string]string{PointsFile: "made-up-points.csv", VerdictsFile: "made-up-verdicts.json", PageFile: "made-up-report.md"} {
		t.Run(file, func(t *testing.T) {
			got, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			golden = filepath.Join("testdata", golden)
			if *Update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs; run go test ./train/report -update and read the difference:\n%s", golden, got)
			}
		})
	}
	f, err := os.Open(filepath.Join(dir, "fig1.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if w := img.Bounds().Dx(); w != 4*smallDPI {
		t.Errorf("fig1.png is %d dots wide, want %d", w, 4*smallDPI)
	}
	var names []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"fig1.png", "fig1.svg", "points.csv", "report.md", "runs.csv", "verdicts.json"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
}

// The points of a figure, by hand.
func TestPoints_AreThoseByHand(t *testing.T) {
	recs := settle(synthetic(t, []string{"fig2"}, []string{"mnist"}, 2, 0), levels, falling)
	for i, r := range recs {
		recs[i].LoggingReward = .25
		recs[i].Reward = train.Number(.1*float64(r.Seed) + float64(r.Hyper))
	}
	pts, _ := weights(paper, experiment.Figures()[1], canonical(recs))
	seen := map[string]int{}
	for _, p := range pts {
		seen[p.Quantity+" "+p.Objective]++
		mean, sd := .15+float64(p.Hyper), math.Sqrt(.005)
		if p.Quantity == MeanReward {
			mean = .15 + .5 // of .1, .3, .5, .7, .9
		}
		if p.Objective == train.LoggingPolicy {
			mean, sd = .25, 0
		}
		if math.Abs(float64(p.Mean)-mean) > 1e-12 || math.Abs(float64(p.SD)-sd) > 1e-12 || p.Count != 2 {
			t.Fatalf("%+v: want mean %v, sd %v of 2", p, mean, sd)
		}
	}
	if want := map[string]int{"reward theorem1": 11 * 20, "mean_reward theorem1": 11 * 4, "reward logging": 11}; len(seen) != len(want) || seen["reward theorem1"] != want["reward theorem1"] ||
		seen["mean_reward theorem1"] != want["mean_reward theorem1"] || seen["reward logging"] != want["reward logging"] {
		t.Errorf("points %v, want %v", seen, want)
	}
}

// withCurves gives some records learning curves.
func withCurves(recs []train.Record) []train.Record {
	recs = slices.Clone(recs)
	for i, r := range recs {
		if r.Objective != train.LoggingPolicy && r.Eta0 == .5 {
			for e := 1; e <= 3; e++ {
				recs[i].Curve = append(recs[i].Curve, train.CurvePoint{Epoch: e, Objective: train.Number(1 / float64(e)), Reward: r.Reward,
					Terms: []objectives.Term{{Name: "risk", Value: float64(e)}, {Name: "KL/n", Value: float64(r.Seed)}}})
			}
		}
	}
	return recs
}

// The order of records leaves no trace in any file.
func TestWriteAll_DoesNotDependOnOrder(t *testing.T) {
	recs := withCurves(stored(t))
	for _, r := range synthetic(t, []string{"fig5", "fig6"}, []string{"mnist"}, 2, .01) {
		if r.Eta0 == 0 || r.Eta0 == .3 || r.Eta0 == .4 {
			recs = append(recs, r)
		}
	}
	first := map[string][]byte{}
	for round := range 2 {
		dir := t.TempDir()
		if err := WriteAll(dir, recs, PageOptions{DPI: smallDPI, Curves: true}); err != nil {
			t.Fatal(err)
		}
		files := 0
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			files++
			b, err := os.ReadFile(path)
			name, _ := filepath.Rel(dir, path)
			if round == 0 {
				first[name] = b
			} else if !bytes.Equal(b, first[name]) {
				t.Errorf("%s depends on the order of records", name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if curves := 5; files != 2*3+5+2*curves {
			t.Errorf("%d files: %v", files, files)
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(recs), func(i, j int) { recs[i], recs[j] = recs[j], recs[i] })
		recs = append(recs, recs[0]) // a duplicate
	}
}

// A PDF carries no date but a fixed one, an SVG no text that needs a font.
func TestFigures_CarryNoDateAndNoFont(t *testing.T) {
	recs := canonical(stored(t))
	_, d := principles(paper, experiment.Figures()[0], recs)
	pdf, err := d.Encode("pdf", 0)
	if err != nil {
		t.Fatal(err)
	}
	dates := regexp.MustCompile(`D:\d+`).FindAllString(string(pdf), -1)
	if len(dates) == 0 || slices.ContainsFunc(dates, func(s string) bool { return s != "D:20000101000000" }) {
		t.Errorf("dates %v", dates)
	}
	svg, err := d.Encode("svg", 0)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(svg, []byte("<text")) || bytes.Contains(svg, []byte("NaN")) || !bytes.Contains(svg, []byte("#0072B2")) {
		t.Error("the SVG has text, NaN, or lacks the curve of Corollary 1")
	}
	if _, err := d.Encode("gif", 0); err == nil {
		t.Error("drawn as GIF")
	}
}

// Values that are missing or not finite leave gaps, not panics.
func TestMissingValues_LeaveGaps(t *testing.T) {
	recs := withCurves(synthetic(t, allFigures, []string{"mnist", "mine"}, 1, 0))
	for i := range recs {
		switch i % 7 {
		case 0:
			recs[i].Reward = train.None()
		case 1:
			recs[i].LoggingReward = train.None()
		case 2:
			recs[i].ObjectiveValue = train.Number(math.Inf(1))
		case 3:
			if len(recs[i].Curve) > 0 {
				recs[i].Curve[0].Objective, recs[i].Curve[1].Reward = train.None(), train.Number(math.Inf(-1))
			}
		case 4:
			recs[i].Hyper, recs[i].N = train.None(), 0
		case 5:
			recs[i].Lambda, recs[i].Policy, recs[i].Weight = "0.01", "mixedlogit", "tr/../unc"
		}
	}
	// few configurations' curves are enough
	for i := range recs {
		if recs[i].Objective != "sakhi1" && recs[i].Weight != "tr/../unc" || recs[i].Hyper.Valid() && recs[i].Hyper > .2 {
			recs[i].Curve = nil
		}
	}
	dir := t.TempDir()
	if err := WriteAll(dir, recs, PageOptions{DPI: 20, Curves: true}); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"fig1.png", "fig5.png", "grid.png"} {
		if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
			t.Error(err)
		}
	}
	nothing := recs[:3:3]
	for i := range nothing {
		nothing[i].Reward, nothing[i].LoggingReward = train.None(), train.None()
	}
	if err := WriteAll(t.TempDir(), nothing, PageOptions{DPI: 20}); err != nil {
		t.Error(err)
	}
}

func TestWriteAll_SaysWhatIsWrong(t *testing.T) {
	recs := stored(t)[:2]
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir  string
		recs []train.Record
		o    PageOptions
		want string
	}{
		{t.TempDir(), nil, PageOptions{}, "no records"},
		{file, recs, PageOptions{DPI: 20}, "not a directory"},
	} {
		if err := WriteAll(c.dir, c.recs, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
