package join

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/server"
	"opl/train/logs"
)

// rows keeps what is written.
type rows []logs.Decision

func (r *rows) write(d *logs.Decision) error { *r = append(*r, *d); return nil }

// servedLog logs decisions of a real server and returns the log's path.
func servedLog(t testing.TB, bodies ...string) string {
	t.Helper()
	e, err := features.New(features.Encoder{Names: []string{"age", "city=Oslo"}, Scale: []float64{1, 1}, Intercept: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := policyfile.New(&policyfile.File{Actions: []string{"a", "b,\"c"}, Floor: .1, RewardMax: 1, Components: []policyfile.Component{
		{Weight: 1, Kind: policyfile.Softmax, Encoder: e, Weights: policyfile.Matrix{{.1, .2, .3}, {0, 0, 0}}}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "served.jsonl")
	l, err := server.OpenLog(path, server.LogOptions{Fsync: server.FsyncNever})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := server.New(p, l, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range bodies {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/decide", strings.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		if s.ServeHTTP(w, r); w.Code != 200 {
			t.Fatalf("%s: %s", body, w.Body)
		}
	}
	return path
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// unsealed is a log as servers wrote it before its lines had checksums.
func unsealed(log string) string {
	return regexp.MustCompile(`,"crc32c":"[0-9a-f]{8}"`).ReplaceAllString(log, "")
}

func joined(t *testing.T, log, rewards string, o Options) (rows, Summary, error) {
	t.Helper()
	l, err := Open([]string{log}, o.Duplicates, nil)
	if err != nil {
		return nil, Summary{}, err
	}
	r, err := ReadRewards(rewards, o.Duplicates)
	if err != nil {
		return nil, Summary{}, err
	}
	var out rows
	s, err := l.Join(r, out.write, o)
	return out, s, err
}

func TestJoin_PutsRewardsToDecisionsAndCountsTheRest(t *testing.T) {
	log := servedLog(t, `{"context":{"age":3,"city":"Oslo"},"decision_id":"d1"}`, `{"context":{"age":true,"x":null,"vip":false,"y":""},"decision_id":"d2"}`, `{"context":[5,1],"decision_id":"d3"}`)
	for _, rewards := range []string{
		write(t, "r.csv", "reward,who,decision_id\n1,x,d3\n,x,d2\n0.25,y,d1\n0,z,d9\n"),
		write(t, "r.jsonl", `{"decision_id":"d3","reward":1}`+"\n"+`{"decision_id":"d2","reward":null}`+"\n"+`{"reward":0.25,"decision_id":"d1"}`+"\n"+`{"decision_id":"d9","reward":0}`),
	} {
		out, s, err := joined(t, log, rewards, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Decisions != 3 || s.Joined != 2 || s.Missing != 1 || s.Orphans != 1 || s.MeanReward != .625 || len(s.Policies) != 1 || s.Policies[0].Rows != 3 || s.NoChance != 0 {
			t.Errorf("%+v", s)
		}
		if len(out) != 2 || out[0].ID != "d1" || out[0].Cost != -.25 || out[1].ID != "d3" || out[1].Cost != -1 || out[0].Time.IsZero() ||
			fmt.Sprint(out[0].Context) != "[{age 3} {city=Oslo 1}]" || fmt.Sprint(out[1].Context) != "[{age 5} {city=Oslo 1}]" ||
			out[0].Propensity != out[0].Propensities[out[0].Action] || out[0].Weight != 1 || out[0].Policy != s.Policies[0].Policy || out[0].Policy == "" {
			t.Errorf("%+v", out)
		}
		if out[0].Unrewarded != 1 || out[1].Unrewarded != 0 { // d2, between them
			t.Errorf("missing rewards: %d and %d", out[0].Unrewarded, out[1].Unrewarded)
		}
		zero := 0.0
		out, s, err = joined(t, log, rewards, Options{Missing: &zero, Min: 0, Max: 2})
		if err != nil || len(out) != 3 || s.Joined != 3 || s.Missing != 1 || out[1].Cost != 0 || out[2].Cost != -.5 || fmt.Sprint(out[1].Context) != "[{age 1} {vip=false 1}]" {
			t.Errorf("%+v, %+v, %v", out, s, err)
		}
	}
}

// A log of two policies is joined for one of them.
// The rewards end in the middle of a number, which reads as another one.
func TestJoin_SaysThatRewardsMayBeCut(t *testing.T) {
	log := servedLog(t, `{"context":{"age":1},"decision_id":"d1"}`, `{"context":{"age":2},"decision_id":"d2"}`)
	for text, want := range map[string]string{"d1,0.25\nd2,0.7": "row 2, the last, does not end in a newline", "d1,0.25\nd2,0.7\n": ""} {
		_, s, err := joined(t, log, write(t, "r.csv", "decision_id,reward\n"+text), Options{})
		if said := strings.Join(s.Notes, "\n"); err != nil || !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("%q: %q, want %q, %v", text, said, want, err)
		}
	}
}

func TestJoin_TakesOnePolicyOfTwo(t *testing.T) {
	b, err := os.ReadFile(servedLog(t, `{"context":{"age":1},"decision_id":"x"}`, `{"context":{"age":2},"decision_id":"y"}`))
	if err != nil {
		t.Fatal(err)
	}
	first, second, _ := strings.Cut(unsealed(string(b)), "\n")
	second = regexp.MustCompile(`"policy_hash":"[^"]*"`).ReplaceAllString(second, `"policy_hash":"abcdef"`)
	l, err := Open([]string{write(t, "served.jsonl", first+"\n"+second)}, Refuse, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ReadRewards(write(t, "r.csv", "decision_id,reward\nx,1\ny,0.25\n"), Refuse)
	if err != nil {
		t.Fatal(err)
	}
	var got rows
	s, err := l.Join(r, got.write, Options{Policy: "abc"})
	if err != nil || len(got) != 1 || got[0].ID != "y" || s.Others != 1 || s.Joined != 1 || s.MeanReward != .25 || len(s.Policies) != 1 {
		t.Errorf("%+v of %+v, %v", got, s, err)
	}
}

func TestJoin_TakesTheFirstOrTheLastOfDuplicates(t *testing.T) {
	twice, err := os.ReadFile(servedLog(t, `{"context":{"age":3},"decision_id":"d"}`, `{"context":{"age":4},"decision_id":"e"}`))
	if err != nil {
		t.Fatal(err)
	}
	log := write(t, "log", strings.Replace(unsealed(string(twice)), `"e"`, `"d"`, 1))
	rewards := write(t, "r.csv", "decision_id,reward\nd,0\nd,1\n")
	for _, c := range []struct {
		d         Duplicates
		age, cost float64
	}{{First, 3, 0}, {Last, 4, -1}} {
		out, s, err := joined(t, log, rewards, Options{Duplicates: c.d})
		if err != nil || len(out) != 1 || s.Left != 2 || out[0].Context[0].Number != c.age || out[0].Cost != c.cost {
			t.Errorf("%s: %+v, %+v, %v", c.d, out, s, err)
		}
	}
	if _, err := Open([]string{log}, "", nil); err == nil || !strings.Contains(err.Error(), `line 2: decision_id "d" was on line 1`) {
		t.Error(err)
	}
	if _, err := ReadRewards(rewards, ""); err == nil || !strings.Contains(err.Error(), `row 2: decision_id "d" has a reward in row 1`) {
		t.Error(err)
	}
	if _, err := Open([]string{log}, "all", nil); err == nil {
		t.Error("duplicates all")
	}
}

func TestJoin_RefusesBadFiles(t *testing.T) {
	good := servedLog(t, `{"context":{"age":3},"decision_id":"d"}`)
	b, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	text := unsealed(string(b))
	if l, err := Open([]string{write(t, "torn", text+text[:40])}, "", nil); err != nil || l.torn != 40 {
		t.Errorf("a torn line: %v", err)
	}
	swap := func(from, to string) string {
		if !strings.Contains(text, from) {
			t.Fatalf("no %q in %s", from, text)
		}
		return strings.Replace(text, from, to, 1)
	}
	for _, c := range []struct{ text, want string }{
		{"", "no decisions"},
		{"x\n" + text, "line 1"},
		{text + "{}\n", "line 2: no decision_id"},
		{swap(`"decision_id"`, `"id"`), `unknown field "id"`},
		{strings.ReplaceAll(text, `"a"`, `"z"`) + text, "line 2: its actions"},
		{swap(`"actions":["a",`, `"actions":[`), "1 actions and 2 propensities"},
		{swap(`"propensities":[`, `"propensities":[1.5,`), "2 actions and 3"},
		{swap(`"propensity":`, `"propensity":1`), "propensity is"},
		{swap(`"action":"`, `"action":"zz`), "line 1: action \"zz"},
		{swap("}\n", "}{}\n"), "after top-level value"},
	} {
		if _, err := Open([]string{write(t, "log", c.text)}, "", nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.200s: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := Open([]string{"nowhere"}, "", nil); err == nil {
		t.Error("a file that is not there is read")
	}
	for _, c := range []struct{ name, text, want string }{
		{"r.txt", "", "no kind of file"},
		{"r.csv", "", "empty"},
		{"r.csv", "id,reward\n", "decision_id and reward"},
		{"r.csv", "decision_id,reward,reward\nd,1,0\n", "twice"},
		{"r.csv", "decision_id,reward,decision_id\nd,1,e\n", "twice"},
		{"r.csv", "decision_id,reward\nd,x\n", `row 1, column reward: "x" is no number`},
		{"r.csv", "decision_id,reward\nd,25%\n", `row 1, column reward: "25%" is no number: numbers have points, and no commas`},
		{"r.csv", "decision_id,reward\nd,1\ndecision_id,reward\n", "row 2: this is the header again"},
		{"r.csv", "decision_id;reward\nd;1\n", "want decision_id and reward, with a comma between them"},
		{"r.csv", "decision_id,reward\nd,NaN\n", "row 1: reward NaN"},
		{"r.csv", "decision_id,reward\nd,1,2\n", "the header has 2"},
		{"r.csv", "decision_id,reward\n,1\n", "row 1: no decision_id"},
		{"r.csv", "decision_id,reward\nd,1.5\n", "row 1: reward 1.5 is outside [0, 1]"},
		{"r.jsonl", "{\"decision_id\":\"d\",\"reward\":\"1\"}\n", `line 1, field reward: "1" is no number`},
		{"r.jsonl", "{\"decision_id\":[1],\"reward\":1}\n", "line 1, field decision_id: [1] is no text"},
		{"r.jsonl", "{\"decision_id\":\"d\",\"reward\":1,\"who\":2}\n", `line 1: unknown field "who"`},
		{"r.jsonl", "{\"decision_id\":\"d\",\"reward\":1}\n{\"decision_id\":", "line 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := joined(t, good, write(t, c.name, c.text), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %q: %v, want %q", c.name, c.text, err, c.want)
			}
		})
	}
	two := 2.0
	if _, _, err := joined(t, good, write(t, "r.csv", "decision_id,reward\n"), Options{Missing: &two}); err == nil || !strings.Contains(err.Error(), "setting missing-reward") {
		t.Error(err)
	}
	if _, _, err := joined(t, good, write(t, "r.csv", "decision_id,reward\n"), Options{Min: 2, Max: 1}); err == nil {
		t.Error("an empty range is taken")
	}
}

// Several files are one log, whatever their order; lines that are equal count once, zeros and
// bad lines do not stop it.
func TestJoin_ReadsSeveralFilesAsOneLog(t *testing.T) {
	b, err := os.ReadFile(servedLog(t, `{"context":{"age":1},"decision_id":"a"}`, `{"context":{"age":2},"decision_id":"b"}`, `{"context":{"age":3},"decision_id":"c"}`, `{"context":{"age":4},"decision_id":"d"}`))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(string(b), "\n")
	var packed, dense bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, rows[0])
	z.Close()
	d, _ := zstd.NewWriter(&dense)
	fmt.Fprint(d, rows[1])
	d.Close()
	old, middle := write(t, "served.jsonl.2.gz", packed.String()), write(t, "served.jsonl.1.zst", dense.String())
	now := write(t, "served.jsonl", strings.Repeat("\x00", 1<<17)+rows[2]+strings.Replace(rows[3], "4", "5", 1)+rows[1]+"\x00"+rows[3]+"\x00\x00")
	rewards := write(t, "r.csv", "decision_id,reward\na,1\nb,1\nc,1\nd,0\n")
	if l, err := Open([]string{now, middle, old}, Refuse, nil); err == nil || !strings.Contains(err.Error(), "served.jsonl: line 2: the line is damaged") || !strings.Contains(err.Error(), "setting skip-bad") {
		t.Errorf("%v, %v", l, err)
	}
	var bad strings.Builder
	l, err := Open([]string{now, middle, old}, Refuse, &bad)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := ReadRewards(rewards, Refuse)
	if err != nil {
		t.Fatal(err)
	}
	// What becomes of the files meanwhile does not matter.
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	var got []string
	s, err := l.Join(r, func(d *logs.Decision) error { got = append(got, d.ID); return nil }, Options{})
	if err != nil || fmt.Sprint(got) != "[a b c d]" || s.Joined != 4 || s.Copies != 1 || s.Bad != 1 || s.Zeros != 1<<17+3 || s.Torn != 0 || bad.String() != strings.Replace(rows[3], "4", "5", 1) {
		t.Errorf("%q, %+v, %v, left out %q", got, s, err, bad.String())
	}
	// Unless they are written over.
	if err := os.Truncate(now, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Join(r, func(*logs.Decision) error { return nil }, Options{}); err == nil || !strings.Contains(err.Error(), "the file was changed") {
		t.Error(err)
	}
	if _, err := Open([]string{now, now}, Refuse, nil); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Error(err)
	}
}

// A flipped bit never gives another row.
func TestFlippedBits_NeverGiveAnotherRow(t *testing.T) {
	b, err := os.ReadFile(servedLog(t, `{"context":{"age":1},"decision_id":"a"}`, `{"context":{"age":2},"decision_id":"b"}`))
	if err != nil {
		t.Fatal(err)
	}
	rewards := write(t, "r.csv", "decision_id,reward\na,1\nb,1\n")
	read := func(path string) (rows, int) {
		var bad strings.Builder
		l, err := Open([]string{path}, Refuse, &bad)
		if err != nil {
			return nil, 0
		}
		defer l.Close()
		r, err := ReadRewards(rewards, Refuse)
		if err != nil {
			t.Fatal(err)
		}
		var got rows
		if _, err := l.Join(r, got.write, Options{}); err != nil {
			t.Fatal(err)
		}
		return got, l.Bad
	}
	path := write(t, "log", string(b))
	want, _ := read(path)
	known := map[string]string{}
	for _, d := range want {
		d.Row = 0
		known[d.ID] = fmt.Sprint(d)
	}
	for bit := 0; bit < 8*len(b); bit += 7 {
		b[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, bad := read(path)
		if len(got) == len(want) || len(got) > 0 && bad == 0 && bit/8 < len(b)-1 {
			t.Errorf("bit %d: %d rows, %d bad lines", bit, len(got), bad)
		}
		for _, d := range got {
			if d.Row = 0; fmt.Sprint(d) != known[d.ID] {
				t.Errorf("bit %d: %v", bit, d)
			}
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
}

// Whatever the files, joining them gives rows or an error that names one of them.
func FuzzJoin(f *testing.F) {
	served, err := os.ReadFile(servedLog(f, `{"context":{"age":1}}`, `{"context":{"age":2,"city=Oslo":1},"decision_id":"x"}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(served, []byte("decision_id,reward\nx,1\ny,\n"), false)
	f.Add(served, []byte(`{"decision_id":"x","reward":0.5}`+"\n"+`{"decision_id":"y","reward":null}`), true)
	f.Add(served[:len(served)-20], []byte("reward,other,decision_id\n1,,x\n0,,x\n"), false)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, served, rewards []byte, lines bool) {
		log, table := filepath.Join(dir, "served.jsonl"), filepath.Join(dir, "rewards.csv")
		if lines {
			table = filepath.Join(dir, "rewards.jsonl")
		}
		for path, text := range map[string][]byte{log: served, table: rewards} {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range []Duplicates{Refuse, First, Last} {
			named := func(err error) {
				if !strings.HasPrefix(err.Error(), dir) {
					t.Errorf("an error that names no file: %v", err)
				}
			}
			r, err := ReadRewards(table, d)
			if err != nil {
				named(err)
				continue
			}
			l, err := Open([]string{log}, d, nil)
			if err != nil {
				named(err)
				continue
			}
			missing := 0.0
			var got rows
			s, err := l.Join(r, got.write, Options{Missing: &missing})
			if err != nil {
				named(err)
				continue
			}
			if len(got) != s.Decisions || s.Decisions == 0 {
				t.Errorf("%d rows of %d decisions", len(got), s.Decisions)
			}
			for i := range got {
				if v := got[i].Cost; !(v >= -1 && v <= 0) {
					t.Errorf("row %d: cost %v", i, v)
				}
			}
		}
	})
}
