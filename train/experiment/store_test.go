package experiment_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"opl/objectives"
	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
)

// records are made up: those of runs of a grid.
func records(t testing.TB, eta0 ...float64) (runs []train.Run, recs []train.Record) {
	t.Helper()
	g := experiment.Grid{Datasets: []string{"mnist"}, Eta0: eta0, Seeds: []uint64{1}, Settings: train.DefaultSettings(),
		Entries: []experiment.Entry{{Objective: "heuristic", Weight: "clip", Hypers: []float64{.1, .2}}, {Objective: "theorem1", Weight: "har", Hypers: []float64{.5}}}}
	runs, err := g.Runs(library.Standard(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range runs {
		recs = append(recs, train.Record{Run: r, N: 1900, DataHash: "data", Reward: train.Number(float64(i) / 10), Seconds: float64(i),
			RewardSE: train.None(), RewardAtMean: train.None(), SampledReward: train.None(), LoggingReward: .3,
			ObjectiveValue: train.None(), Sigma: train.None(), PriorScale: train.None(), Terms: []objectives.Term{{Name: "risk", Value: -.25}}})
	}
	return runs, recs
}

func hash(string) (string, error) { return "data", nil }

func open(t *testing.T, dir string) *experiment.Store {
	t.Helper()
	s, err := experiment.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func add(t *testing.T, s *experiment.Store, recs ...train.Record) {
	t.Helper()
	for _, r := range recs {
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t testing.TB, text string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func toJSON(t testing.TB, x any) string {
	t.Helper()
	b, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is added is there when the store is opened again, in an order that is not
// the file's; one process at a time has it.
func TestStore_HasWhatWasAddedWhenOpenedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	runs, recs := records(t, 0, .5)
	s := open(t, dir)
	if got := s.Missing(runs); len(got) != len(runs) {
		t.Errorf("an empty store misses %d of %d", len(got), len(runs))
	}
	add(t, s, recs[:3]...)
	if got := s.Missing(runs); len(got) != len(runs)-3 || got[0].Eta0 != runs[3].Eta0 {
		t.Errorf("misses %v", got)
	}
	if _, err := experiment.OpenStore(dir); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("opened twice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	add(t, s, recs[3:]...)
	if got := s.Missing(runs); len(got) != 0 || len(s.Notes()) != 0 {
		t.Errorf("misses %v, notes %v", got, s.Notes())
	}
	if n := s.Others(runs[:2]); n != len(runs)-2 {
		t.Errorf("%d others, want %d", n, len(runs)-2)
	}
	first := toJSON(t, s.Records())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text := read(t, dir, experiment.ResultsFile)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	write(t, strings.Join(lines, ""), dir, experiment.ResultsFile)
	if got := toJSON(t, open(t, dir).Records()); got != first {
		t.Errorf("the order of lines changes the records:\n%s\n%s", got, first)
	}
	// A compressed copy reads the same.
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	fmt.Fprint(w, text)
	w.Close()
	write(t, z.String(), dir, "copy.jsonl.gz")
	for _, path := range []string{dir, filepath.Join(dir, experiment.ResultsFile), filepath.Join(dir, "copy.jsonl.gz")} {
		r, err := experiment.ReadStore(path)
		if err != nil || toJSON(t, r.Records()) != first {
			t.Errorf("%s: %v", path, err)
		}
	}
	write(t, z.String()[:z.Len()/2], dir, "copy.jsonl.gz")
	if _, err := experiment.ReadStore(filepath.Join(dir, "copy.jsonl.gz")); err == nil || !strings.Contains(err.Error(), "copy.jsonl.gz") {
		t.Errorf("half of a compressed file: %v", err)
	}
	if _, err := experiment.ReadStore(filepath.Join(dir, "nowhere")); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("no file: %v", err)
	}
	write(t, "", dir, "file")
	if _, err := experiment.OpenStore(filepath.Join(dir, "file")); err == nil {
		t.Error("opened a file as a folder")
	}
}

// Wherever the last line is cut, the others stay, the cut line is named and set
// aside, and its run is missing again.
func TestStore_SetsACutLineAside(t *testing.T) {
	dir := t.TempDir()
	runs, recs := records(t, 0)
	s := open(t, dir)
	add(t, s, recs...)
	whole := toJSON(t, s.Records())
	s.Close()
	text := read(t, dir, experiment.ResultsFile)
	begin := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n") + 1
	for cut := begin + 1; cut < len(text); cut += 1 + (len(text)-cut)/7 {
		times := read(t, dir, experiment.TimesFile)
		dir := t.TempDir()
		write(t, text[:cut], dir, experiment.ResultsFile)
		write(t, times, dir, experiment.TimesFile)
		if r, err := experiment.ReadStore(dir); err != nil || read(t, dir, experiment.ResultsFile) != text[:cut] || cut < len(text)-1 && len(r.Notes()) != 1 {
			t.Fatalf("reading alone: %v, notes %v", err, r.Notes())
		}
		s := open(t, dir)
		if cut == len(text)-1 { // its end alone was missing
			if len(s.Notes()) != 0 || len(s.Missing(runs)) != 0 {
				t.Errorf("without the last newline: notes %v, missing %v", s.Notes(), s.Missing(runs))
			}
		} else {
			want := fmt.Sprintf("%s:%d: a truncated line, moved to", s.Path(), len(recs))
			if len(s.Notes()) != 1 || !strings.HasPrefix(s.Notes()[0], want) {
				t.Fatalf("cut at %d: notes %q, want %q", cut, s.Notes(), want)
			}
			if got := s.Missing(runs); len(got) != 1 || experiment.Key(got[0]) != experiment.Key(runs[len(runs)-1]) {
				t.Fatalf("cut at %d: missing %v", cut, got)
			}
			if torn := read(t, dir, experiment.TornFile); torn != text[begin:cut]+"\n" {
				t.Fatalf("cut at %d: set aside %q", cut, torn)
			}
			add(t, s, recs[len(recs)-1])
		}
		s.Close()
		if got := read(t, dir, experiment.ResultsFile); got != text {
			t.Fatalf("cut at %d: the file is\n%s", cut, got)
		}
		if got := toJSON(t, open(t, dir).Records()); got != whole {
			t.Fatalf("cut at %d: the records are\n%s", cut, got)
		}
	}
}

// Duplicate and foreign lines are named, ignored and left where they are.
func TestStore_NamesDuplicateAndForeignLines(t *testing.T) {
	dir := t.TempDir()
	runs, recs := records(t, 0)
	s := open(t, dir)
	add(t, s, recs...)
	whole := toJSON(t, s.Records())
	s.Close()
	lines := strings.SplitAfter(read(t, dir, experiment.ResultsFile), "\n")[:len(recs)]
	again := recs[1]
	again.Seconds = 1e6
	other := recs[2]
	other.Reward = .99
	text := lines[0] + "\n" + lines[1] + "hello\n" + lines[2] + toJSON(t, again) + "\n" + lines[3] +
		"{\"dataset\":\"mnist\"}\n" + toJSON(t, other) + "\n[1]\n{\"dataset\":3}\n" + lines[0][:20] + "\n" +
		strings.TrimSuffix(lines[0], "\n") + lines[1] + "{\"colour\":\"red\"}\n\x00\x00\xff\n"
	write(t, text, dir, experiment.ResultsFile)
	s = open(t, dir)
	want := []string{
		":4: not a record of opl, ignored: invalid character", ":6: repeats line 3, ignored",
		":8: not a record of opl, ignored: dataset, objective", ":9: repeats the run of line 5 with another result, ignored",
		":10: not a record", ":11: not a record", ":12: not a record", ":13: not a record of opl, ignored: the line is damaged",
		":14: not a record of opl, ignored: unknown field \"colour\"", ":15: not a record",
	}
	if len(s.Notes()) != len(want) {
		t.Fatalf("notes:\n%s", strings.Join(s.Notes(), "\n"))
	}
	for i, w := range want {
		if !strings.HasPrefix(s.Notes()[i], s.Path()+w) {
			t.Errorf("note %q, want %q", s.Notes()[i], w)
		}
	}
	if got := toJSON(t, s.Records()); got != whole || len(s.Missing(runs)) != 0 {
		t.Errorf("records\n%s\nwant\n%s", got, whole)
	}
	if read(t, dir, experiment.ResultsFile) != text {
		t.Error("the file was changed")
	}
	// Once settled they are set aside, and the records are in their order, whatever it was.
	old := filepath.Join(dir, "old")
	if err := os.Link(filepath.Join(dir, experiment.ResultsFile), old); err != nil {
		t.Fatal(err)
	}
	if err := s.Settle(); err != nil {
		t.Fatal(err)
	}
	if read(t, old) != text {
		t.Error("the file was written over, not replaced: a kill would leave a part of it")
	}
	slices.Sort(lines)
	if got := read(t, dir, experiment.ResultsFile); got != strings.Join(lines, "") {
		t.Errorf("settled:\n%s", got)
	}
	torn := read(t, dir, experiment.TornFile)
	for _, odd := range []string{"hello\n", "\n[1]\n", toJSON(t, other) + "\n", "\x00\x00\xff\n"} {
		if !strings.Contains(torn, odd) {
			t.Errorf("%q was lost: %s", odd, torn)
		}
	}
	add(t, s, recs[0]) // the store can still be written to
	if err := s.Settle(); err != nil || read(t, dir, experiment.TornFile) != torn {
		t.Errorf("settled twice: %v", err)
	}
	s.Close()
	if s = open(t, dir); len(s.Notes()) != 0 || toJSON(t, s.Records()) != whole {
		t.Errorf("notes %q, records %s", s.Notes(), toJSON(t, s.Records()))
	}
}

// Results of other settings or other data are refused, and those of other grids
// with the same settings are not.
func TestStore_RefusesOtherSettingsAndData(t *testing.T) {
	runs, recs := records(t, 0)
	for name, c := range map[string]struct {
		change func(*train.Record)
		want   string
	}{
		"epochs":     {func(r *train.Record) { r.Epochs = 3 }, "setting epochs 3, not 20"},
		"lr":         {func(r *train.Record) { r.LearningRate = .2 }, "setting lr 0.2, not 0.1"},
		"limit":      {func(r *train.Record) { r.Limit = 100 }, "setting limit 100, not 0"},
		"scales":     {func(r *train.Record) { r.PriorScales = []float64{.1} }, "setting prior-scale [0.1], not []"},
		"noise":      {func(r *train.Record) { r.Noise = "iid" }, "setting noise iid, not lowdiscrepancy"},
		"data":       {func(r *train.Record) { r.DataHash = "others" }, "other data"},
		"dtype":      {func(r *train.Record) { r.Dtype = "float64"; r.Objective = "risk" }, "setting dtype float64"},
		"objective":  {func(r *train.Record) { r.Objective, r.Noise = "corollary1", "quadrature" }, ""},
		"seed":       {func(r *train.Record) { r.Seed = 9 }, ""},
		"other data": {func(r *train.Record) { r.Dataset, r.DataHash = "fashion", "others" }, ""},
		"eta0":       {func(r *train.Record) { r.Eta0 = .7; r.Hyper = .9 }, ""},
	} {
		dir := t.TempDir()
		rec := recs[3] // theorem1
		c.change(&rec)
		s := open(t, dir)
		add(t, s, recs[0], rec)
		s.Close()
		s = open(t, dir)
		err := s.Check(runs, hash)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), s.Path()+":2: ")) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	logging := recs[0]
	logging.Limit = 50
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, logging, recs[1])
	if err := s.Check(runs, hash); err == nil || !strings.Contains(err.Error(), "setting limit 50, not 0") {
		t.Errorf("logging policy: %v", err)
	}
	// plot, which has no plan, refuses what was mixed by hand.
	if _, err := experiment.ReadStore(dir); err == nil || !strings.Contains(err.Error(), "setting limit") {
		t.Errorf("mixed: %v", err)
	}
	if n := s.OtherVersions(train.ThisVersion(), train.Extensions()); n != 2 {
		t.Errorf("%d records of other versions, want 2", n)
	}
}

// Learning curves have a point an epoch that ends at the record's reward, and do
// not change the results.
func TestCurves_EndAtTheRecordsReward(t *testing.T) {
	runs := grid("heuristic", "corollary1")[:3]
	for i := range runs {
		runs[i].Epochs, runs[i].Limit = 3, 400
	}
	e := &experiment.Runner{Library: library.Standard(), DataDir: data, Jobs: 2}
	plain := runAll(t, e, runs)
	e.Curves = true
	for i, rec := range runAll(t, e, runs) {
		curve := rec.Curve
		if rec.Curve = nil; !reflect.DeepEqual(toJSON(t, rec), toJSON(t, plain[i])) {
			t.Errorf("%s: curves change the record", experiment.Name(rec.Run))
		}
		if rec.Objective == train.LoggingPolicy {
			continue
		}
		if len(curve) != 3 || curve[2].Epoch != 3 || curve[2].Reward != rec.Reward || len(curve[0].Terms) != len(rec.Terms) {
			t.Fatalf("%s: the curve is %+v, the terms %v", experiment.Name(rec.Run), curve, rec.Terms)
		}
		if !(curve[2].Objective < curve[0].Objective) {
			t.Errorf("%s: the objective goes from %v to %v", experiment.Name(rec.Run), curve[0].Objective, curve[2].Objective)
		}
		if curve[0].Terms[0].Name != rec.Terms[0].Name {
			t.Errorf("the first term is %v, want %v", curve[0].Terms, rec.Terms)
		}
	}
}

// Whatever the file of results, opening it keeps each line, as a record or in a
// note, and opening it again finds the same records.
func FuzzStore(f *testing.F) {
	_, recs := records(f, 0, .5)
	var text string
	for _, rec := range recs {
		text += toJSON(f, rec) + "\n"
	}
	f.Add([]byte(text))
	f.Add([]byte(text + text[:50]))
	f.Add([]byte("{}\n\n" + text + text))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		write(t, string(text), dir, experiment.ResultsFile)
		s, err := experiment.OpenStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		first := s.Records()
		lines := 0
		for l := range bytes.Lines(text) {
			if len(bytes.TrimSpace(l)) > 0 || !bytes.HasSuffix(l, []byte{'\n'}) {
				lines++
			}
		}
		notes := 0
		for _, note := range s.Notes() {
			if !strings.Contains(note, "have no checksum") {
				notes++
			}
		}
		if n := len(first) + notes; n != lines {
			t.Errorf("%d records and %d notes of %d lines", len(first), len(s.Notes()), lines)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = experiment.OpenStore(dir); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if again := s.Records(); toJSON(t, again) != toJSON(t, first) {
			t.Errorf("other records when opened again: %v, before %v", again, first)
		}
	})
}

// A flipped bit costs at most the records it is between, and never changes one.
func TestStore_NeverReadsAFlippedBitAsARecord(t *testing.T) {
	dir := t.TempDir()
	_, recs := records(t, 0)
	s := open(t, dir)
	add(t, s, recs[:2]...)
	s.Close()
	known := map[string]bool{}
	for _, rec := range recs[:2] {
		known[toJSON(t, rec)] = true
	}
	b := []byte(read(t, dir, experiment.ResultsFile))
	for bit := 0; bit < 8*len(b); bit += 13 {
		b[bit/8] ^= 1 << (bit % 8)
		write(t, string(b), dir, experiment.ResultsFile)
		s, err := experiment.ReadStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		found := s.Records()
		for _, rec := range found {
			if !known[toJSON(t, rec)] {
				t.Errorf("bit %d: another record, %+v", bit, rec)
			}
		}
		if bit/8 < len(b)-1 && (len(found) == 2 || len(s.Notes()) == 0) {
			t.Errorf("bit %d: %d records, notes %q", bit, len(found), s.Notes())
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
}

// Records that were written without a checksum are read, and that is said.
func TestStore_SaysWhenChecksumsAreMissing(t *testing.T) {
	dir := t.TempDir()
	_, recs := records(t, 0)
	write(t, toJSON(t, recs[0])+"\n"+toJSON(t, recs[1])+"\n", dir, experiment.ResultsFile)
	s := open(t, dir)
	defer s.Close()
	if len(s.Records()) != 2 || len(s.Notes()) != 1 || !strings.Contains(s.Notes()[0], "2 records have no checksum") {
		t.Errorf("%d records, notes %q", len(s.Records()), s.Notes())
	}
	// Once settled they have one, and their seconds, which stood in them, are kept.
	if err := s.Settle(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, dir)
	if got := s.Records(); len(s.Notes()) != 0 || strings.Contains(read(t, dir, experiment.ResultsFile), "seconds") || got[0].Seconds+got[1].Seconds != 1 {
		t.Errorf("notes %q, records %s", s.Notes(), toJSON(t, got))
	}
}
