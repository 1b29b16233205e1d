package logs

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
)

// decisionsOf are the rows of a log.
func decisionsOf(l *Log) []Decision {
	rows := make([]Decision, l.Len())
	for i := range rows {
		l.Decision(i, &rows[i])
		rows[i].Propensities = slices.Clone(rows[i].Propensities)
	}
	return rows
}

// sameLog compares the columns of two logs.
func sameLog(t *testing.T, got, want *Log) {
	t.Helper()
	for _, c := range []struct {
		name      string
		got, want any
	}{{"actions", got.Actions, want.Actions}, {"action", got.Action, want.Action}, {"cost", got.Cost, want.Cost}, {"propensity", got.Propensity, want.Propensity},
		{"propensities", got.Propensities, want.Propensities}, {"weight", got.Weight, want.Weight}, {"time", got.Time, want.Time}, {"group", got.Group, want.Group},
		{"logger", got.Logger, want.Logger}, {"policies", got.Policies, want.Policies}, {"keys", got.Keys, want.Keys}, {"names", got.Names(), want.Names()},
		{"hash", got.Hash(), want.Hash()}, {"ids", got.HasIDs(), want.HasIDs()}, {"contexts", got.ContextHashes(), want.ContextHashes()}, {"loggers", got.Loggers(), want.Loggers()}} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// A log that was collected is that of the file with the same decisions.
func TestCollect_GivesTheLogOfAFile(t *testing.T) {
	w := newWorld(3, 4, 2)
	rows := draw(w, 40)
	for i := range rows {
		rows[i].Policy = []string{"", "first", "second"}[min(2, i/10)]
		rows[i].Group = strings.Repeat("g", i%3)
	}
	named := filepath.Join(t.TempDir(), "l.csv")
	rows[0].Policy = "zeroth"
	for i := range rows {
		if rows[i].Group == "" {
			rows[i].Group = "h"
		}
	}
	save(t, named, WriterOptions{Actions: w.actions, Names: w.names}, rows)
	for name, path := range map[string]string{
		"written":    named,
		"no ids":     write(t, "l.csv", "action,reward,propensity,x_c,x_n\n0,1,.5,red,2\n1,.5,.25,blue,-4\n1,.5,.25,blue,-4\n"),
		"groups":     write(t, "l.csv", "action,reward,group,policy,weight\nb,1,,,2\na,.5,g,p,0\na,.5,h,q,1\na,.5,g,p,1\n"),
		"sparse":     write(t, "l.jsonl", `{"action":"b","reward":1,"context":{"a":2}}`+"\n"+`{"action":"a","reward":1,"context":{"c":"x","a":7}}`+"\n"+`{"action":"b","reward":0,"context":{}}`),
		"no context": write(t, "l.csv", "action,reward\n0,1\n1,0\n"),
	} {
		t.Run(name, func(t *testing.T) {
			file := mustOpen(t, path, Options{})
			l, err := Collect(file.Actions, decisionsOf(file))
			if err != nil {
				t.Fatal(err)
			}
			sameLog(t, l, file)
			if rows := decisionsOf(l); alike(rows, 1) {
				grouped := slices.ContainsFunc(rows, func(d Decision) bool { return d.Group != "" })
				all, err := Gather(t.Context(), t.TempDir(), file.Actions, grouped, func() (d *Decision) {
					if len(rows) > 0 {
						d, rows = &rows[0], rows[1:]
					}
					return d
				})
				if err != nil {
					t.Fatal(err)
				}
				defer all.Close()
				sameLog(t, all, file)
			}
			if err := l.Check(); err != nil || l.Path() != "" {
				t.Errorf("%q: %v", l.Path(), err)
			}
			if !reflect.DeepEqual(decisionsOf(l), decisionsOf(file)) {
				t.Error("decisions differ")
			}
			scaling := Scaling{Kind: "standard", Intercept: true}
			e, err := l.FitEncoder(nil, scaling)
			if err != nil {
				t.Fatal(err)
			}
			other, err := file.FitEncoder(nil, scaling)
			if err != nil || !reflect.DeepEqual(e, other) {
				t.Errorf("%+v\n%+v %v", e, other, err)
			}
			if l.Propensity == nil {
				return
			}
			encoded, err := l.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			if err := encoded.Learnable(); err != nil {
				t.Error(err)
			}
			if l.Learnable() == nil {
				t.Error("contexts that are not encoded can be learned from")
			}
		})
	}
}

// A decision that is wrong is an error with its row.
func TestCollect_NamesTheRowThatIsWrong(t *testing.T) {
	for want, change := range map[string]func(d *Decision){
		"row 2, column action: 3 is outside 0 to 2":            func(d *Decision) { d.Action = 3 },
		"row 2, column cost: 0.5 is outside [-1, 0]":           func(d *Decision) { d.Cost = .5 },
		"row 2, column propensity: 2 is outside":               func(d *Decision) { d.Propensity = 2 },
		"row 2, column propensities: the probabilities sum to": func(d *Decision) { d.Propensities[1] = 1 },
		"row 2, column propensities: 1 of them":                func(d *Decision) { d.Propensities = d.Propensities[:1] },
		"row 2, column decision_id: missing":                   func(d *Decision) { d.ID = "" },
		"row 2, column weight: -1 is negative":                 func(d *Decision) { d.Weight = -1 },
		"row 2, column context: +Inf is not finite":            func(d *Decision) { d.Context[0].Number = 1 / (d.Cost - d.Cost) },
		"row 2, column context: the context has x_0 twice":     func(d *Decision) { d.Context[1].Name = "x_0" },
		"row 2, column context: a value without a name":        func(d *Decision) { d.Context[1].Name = "" },
		"row 2, column propensity: 0.9, but":                   func(d *Decision) { d.Propensity = .9 },
		"row 2, column propensity: missing, while the rows ":   func(d *Decision) { d.Propensity = 0 },
		"row 2 is a slot of a list":                            func(d *Decision) { d.Slate, d.Slot = "s", 1 },
	} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(2, 3, 1)
			rows := draw(w, 3)
			change(&rows[1])
			if _, err := Collect(w.actions, rows); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	if _, err := Collect([]string{"a", "b"}, nil); err == nil || !strings.Contains(err.Error(), "no rows") {
		t.Error(err)
	}
	if _, err := Collect([]string{"a"}, []Decision{{}}); err == nil || !strings.Contains(err.Error(), "1 actions") {
		t.Error(err)
	}
	if _, err := Collect([]string{"a", "a"}, []Decision{{}}); err == nil || !strings.Contains(err.Error(), "a twice") {
		t.Error(err)
	}
}

// Rows are told apart alike wherever they are: by ids, by content with the place among
// equals, by the vectors of a log without names.
func TestIdentity_TellsRowsApartWhereverTheyAre(t *testing.T) {
	ids := mustOpen(t, write(t, "l.csv", "decision_id,action,reward,x\na,0,1,1\nb,1,1,1\na,0,1,1\n"), Options{})
	how, keys := ids.Identity()
	if how != ByID || keys[0] != keys[2] || keys[0] == keys[1] {
		t.Error(how, keys)
	}
	content := mustOpen(t, write(t, "l.csv", "action,reward,x_a\n0,1,1\n1,1,1\n0,1,1\n"), Options{})
	how, keys = content.Identity()
	if how != ByContent || keys[0] == keys[2] || content.Keys[0] != content.Keys[2] {
		t.Error(how, keys)
	}
	vectors := &Log{Actions: Numbered(2), Action: []int32{0, 1, 0}, Cost: []float64{-1, -1, -1}, X: Rows64{Width: 1, Data: []float64{1, 2, 1}}}
	moved := &Log{Actions: Numbered(2), Action: []int32{1, 0, 0}, Cost: []float64{-1, -1, -1}, X: Rows64{Width: 1, Data: []float64{2, 1, 1}}}
	_, a := vectors.Identity()
	_, b := moved.Identity()
	if slices.Sort(a); !slices.Equal(a, func() []uint64 { slices.Sort(b); return b }()) || len(slices.Compact(a)) != 3 {
		t.Errorf("%v, %v", a, b)
	}
	for _, l := range []*Log{ids, content, vectors} {
		all := l.Hashes([]int{0, 1, 2})
		s := l.Subset([]int{2, 1})
		if got := s.Hashes([]int{0, 1}); !slices.Equal(got, []uint64{all[2], all[1]}) {
			t.Errorf("of a subset %v, of the log %v", got, all)
		}
		if got := s.Subset([]int{1}).Hashes([]int{0}); got[0] != all[1] {
			t.Errorf("of a subset's %v, of the log %v", got, all)
		}
		if s.Hash() == l.Hash() || l.Hash() != l.Subset([]int{0, 1, 2}).Hash() && l.store == nil {
			t.Errorf("hashes %s, %s", s.Hash(), l.Hash())
		}
	}
}

// Without names there is an error, not a panic.
func TestLog_OfVectorsAloneIsLearnable(t *testing.T) {
	l := &Log{Actions: Numbered(2), Action: []int32{0, 1}, Cost: []float64{0, -1}, Propensity: []float64{.5, .5}, X: Rows64{Width: 1, Data: []float64{1, 2}}}
	if err := l.Learnable(); err != nil {
		t.Error(err)
	}
	e := &features.Encoder{}
	_, fit := l.FitEncoder(nil, Scaling{})
	_, known := l.Known(e)
	_, encode := l.Encode(e)
	for _, err := range []error{fit, known, encode} {
		if err == nil || !strings.Contains(err.Error(), "without names") {
			t.Error(err)
		}
	}
	var d Decision
	if l.Decision(1, &d); d.Action != 1 || d.Row != 2 || l.Names() != nil || l.HasIDs() || l.Close() != nil {
		t.Errorf("%+v", d)
	}
	bare := &Log{Actions: Numbered(2), Action: []int32{0, 1}, Cost: []float64{0, -1}}
	if err := bare.Check(); err != nil || bare.Dim() != 0 || len(bare.Hash()) != 16 || bare.ContextHashes() != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(l *Log){
		"no contexts":              func(l *Log) { l.X = nil },
		"no propensities":          func(l *Log) { l.Propensity = nil },
		"weights differ":           func(l *Log) { l.Weight = []float64{1, 2} },
		"row 1: the propensity of": func(l *Log) { l.Propensities, l.Propensity = []float64{1, 0, 0, 1}, []float64{1, 1} },
	} {
		t.Run(want, func(t *testing.T) {
			other := *l
			if change(&other); other.Check() != nil || other.Learnable() == nil || !strings.Contains(other.Learnable().Error(), want) {
				t.Errorf("%v, %v, want %s", other.Check(), other.Learnable(), want)
			}
		})
	}
}

func TestDistribution_RefusesNumbersThatAreNoProbabilities(t *testing.T) {
	for _, c := range []struct {
		pi   []float64
		want string
	}{{[]float64{.5, .5}, ""}, {[]float64{.333, .333, .333}, ""}, {[]float64{.5, .6}, "the probabilities sum to 1.1"}, {[]float64{1.5, -.5}, "1.5 of action a is outside"}, {[]float64{0, 0}, "sum to 0"}} {
		_, err := Distribution(c.pi, []string{"a", "b", "c"}, Rounding)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.pi, err, c.want)
		}
	}
}

// The policies that logged rows come from every format that has them.
func TestLoggers_AreReadFromEveryFormat(t *testing.T) {
	w := newWorld(1, 2, 1)
	rows := draw(w, 6)
	for i := range rows {
		rows[i].Policy = []string{"b", "", "a"}[i/2]
	}
	for _, ending := range []string{"csv", "jsonl", "parquet"} {
		path := filepath.Join(t.TempDir(), "l."+ending)
		save(t, path, WriterOptions{Actions: w.actions}, rows)
		for range 2 { // from the file and from the cache
			l := mustOpen(t, path, Options{})
			if !reflect.DeepEqual(l.Loggers(), []Logger{{"b", 2}, {"a", 2}}) || !slices.Equal(l.Logger, []int32{0, 0, -1, -1, 1, 1}) {
				t.Errorf("%s: %v, %v", ending, l.Loggers(), l.Logger)
			}
			if s := l.Subset([]int{5, 0, 4}); !reflect.DeepEqual(s.Loggers(), []Logger{{"a", 2}, {"b", 1}}) {
				t.Errorf("%s: %v", ending, s.Loggers())
			}
		}
	}
}

func TestOpen_GroupWithoutANameIsNone(t *testing.T) {
	l, err := Open(t.Context(), write(t, "l.csv", "action,reward,group\nb,1,\na,.5,g\na,0,\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !slices.Equal(l.Group, []int32{-1, 1, -1}) {
		t.Error(l.Group)
	}
}

// Decisions without a reward that were left out are counted as those of a file are: nothing may be certified then.
func TestCollect_CountsWhatWasLeftOut(t *testing.T) {
	d := []Decision{{Propensity: .5, Unrewarded: 2}, {Action: 1, Propensity: .5, Cost: -1, Unrewarded: 3}}
	l, err := Collect([]string{"a", "b"}, d)
	if err != nil || l.Unrewarded != 5 {
		t.Errorf("%v, %v", l, err)
	}
	d[1].Unrewarded = -1
	if _, err := Collect([]string{"a", "b"}, d); err == nil || !strings.Contains(err.Error(), "row 2") {
		t.Error(err)
	}
}
