package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// outcomeRows are rows with outcomes that may be missing, long enough for lines to be read ahead.
const outcomeRows = 3000

// safeOf and spendOf are the outcomes of row i; NaN: missing.
func safeOf(i int) float64 {
	if i%3 == 0 {
		return math.NaN()
	}
	return float64(i % 2)
}

func spendOf(i int) float64 { return float64(i%100) / 4 }

// outcomeLog writes the rows in a format by a plain loop.
func outcomeLog(t *testing.T, name string) string {
	var b bytes.Buffer
	path := filepath.Join(t.TempDir(), name)
	switch {
	case strings.HasPrefix(filepath.Ext(strings.TrimSuffix(name, ".gz")), ".csv"):
		b.WriteString("decision_id,x_a,action,reward,propensity,reward_safe,cost_spend,reward_note\n")
		for i := range outcomeRows {
			safe := ""
			if v := safeOf(i); v == v {
				safe = []string{"0", "1"}[int(v)]
				if i%5 == 0 {
					safe = []string{"False", "True"}[int(v)]
				}
			} else if i%2 == 0 {
				safe = "NaN"
			}
			fmt.Fprintf(&b, "d%d,%d,%s,1,0.5,%s,%v,fine\n", i, i%7, []string{"red", "blue"}[i%2], safe, spendOf(i))
		}
	case filepath.Ext(name) == ".jsonl":
		for i := range outcomeRows {
			fmt.Fprintf(&b, `{"decision_id":"d%d","x_a":%d,"action":%q,"reward":1,"propensity":0.5`, i, i%7,
				[]string{"red", "blue"}[i%2])
			if v := safeOf(i); v == v && i%5 == 0 {
				fmt.Fprintf(&b, `,"reward_safe":%v`, v == 1)
			} else if v == v {
				fmt.Fprintf(&b, `,"reward_safe":%v`, v)
			} else if i%2 == 0 {
				b.WriteString(`,"reward_safe":null`)
			}
			fmt.Fprintf(&b, `,"cost_spend":%v,"reward_note":{"of":"the day"}}`+"\n", spendOf(i))
		}
	default:
		type line struct {
			ID         string   `parquet:"decision_id"`
			A          float64  `parquet:"x_a"`
			Action     string   `parquet:"action"`
			Reward     float64  `parquet:"reward"`
			Propensity float64  `parquet:"propensity"`
			Safe       *float64 `parquet:"reward_safe,optional"`
			Spend      float64  `parquet:"cost_spend"`
			Note       []string `parquet:"reward_note,list"`
		}
		w := parquet.NewGenericWriter[line](&b)
		for i := range outcomeRows {
			l := line{fmt.Sprintf("d%d", i), float64(i % 7), []string{"red", "blue"}[i%2], 1, 0.5, nil, spendOf(i),
				[]string{"of", "the day"}}
			if v := safeOf(i); v == v || i%2 == 0 {
				l.Safe = &v
			}
			if _, err := w.Write([]line{l}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if strings.HasSuffix(name, ".gz") {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write(b.Bytes())
		w.Close()
		b = packed
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every format gives the outcomes of the same rows, read anew and from the cache.
func TestOutcomes_AreReadFromEveryFormat(t *testing.T) {
	for _, name := range []string{"log.csv", "log.csv.gz", "log.jsonl", "log.parquet"} {
		path := outcomeLog(t, name)
		for _, how := range []string{"read", "cached"} {
			l, err := Open(context.Background(), path, Options{Ranges: map[string]Units{"spend": {0, 25}}})
			if err != nil {
				t.Fatalf("%s, %s: %v", name, how, err)
			}
			safe, err := l.Beside("safe")
			if err != nil {
				t.Fatalf("%s, %s: %v", name, how, err)
			}
			spend, err := l.Beside("spend")
			if err != nil {
				t.Fatalf("%s, %s: %v", name, how, err)
			}
			if !safe.Assumed || spend.Assumed || spend.Missing != nil || safe.Lacking != outcomeRows/3 ||
				spend.Units != (Units{-25, 0}) {
				t.Errorf("%s, %s: %+v %+v", name, how, safe.Of.Range, spend.Units)
			}
			some := l.Subset([]int{4, 3, 1})
			other, err := some.Beside("safe")
			if err != nil {
				t.Fatal(err)
			}
			if !other.Missing[1] || other.Cost[0] != safe.Cost[4] || other.Cost[2] != safe.Cost[1] {
				t.Errorf("%s, %s: a subset has %v", name, how, other.Cost)
			}
			for i := range outcomeRows {
				v := safeOf(i)
				if safe.Missing[i] != (v != v) || v == v && safe.Cost[i] != -v || v != v && safe.Cost[i] != 0 {
					t.Fatalf("%s, %s: row %d: %v, want %v", name, how, i, safe.Cost[i], -v)
				}
				if want := spendOf(i)/25 - 1; spend.Cost[i] != want {
					t.Fatalf("%s, %s: row %d: %v, want %v", name, how, i, spend.Cost[i], want)
				}
			}
			if err := safe.Check(); err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
			}
			if _, err := l.Beside("note"); err == nil || name != "log.parquet" &&
				!strings.Contains(err.Error(), "column reward_note is not of numbers: ") {
				t.Errorf("%s, %s: %v", name, how, err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What cannot be an outcome is refused, with the reason; a column that nobody asks for is in nobody's way.
func TestOutcomes_RefuseColumnsThatCannotBeOne(t *testing.T) {
	const head = "action,reward,propensity,reward_safe,cost_safe,reward_big,cost_odd,reward_\n"
	path := filepath.Join(t.TempDir(), "log.csv")
	rows := "a,1,0.5,1,0,7,inf,x\nb,0,0.5,0,0,2,1,y\n"
	if err := os.WriteFile(path, []byte(head+rows), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		o          Options
	}{
		{"safe", "there are columns reward_safe and cost_safe: rename one", Options{}},
		{"big", "row 1: column reward_big is 7: say what it can be by setting range big=LOW:HIGH", Options{}},
		{"bug", "no column reward_bug or cost_bug: did you mean big?", Options{}},
		{"big", "row 1: column reward_big is 7, outside of its range from 0 to 5",
			Options{Ranges: map[string]Units{"big": {0, 5}}}},
		{"odd", "row 1: column cost_odd is +Inf, outside of its range from 0 to 5",
			Options{Ranges: map[string]Units{"odd": {0, 5}}}},
		{"big", "setting range big=5:0: want two numbers", Options{Ranges: map[string]Units{"big": {5, 0}}}},
		{"big", "want two numbers", Options{Ranges: map[string]Units{"big": {math.Inf(-1), 0}}}},
		{"big", "want two numbers", Options{Ranges: map[string]Units{"big": {math.NaN(), 0}}}},
		{"big", "setting range no: ", Options{Ranges: map[string]Units{"no": {0, 1}}}},
		{"big", "setting missing-at-random no: ", Options{AtRandom: []string{"no"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.NoCache = true
			l, err := Open(context.Background(), path, c.o)
			if err == nil {
				_, err = l.Beside(c.name)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	l, err := Open(context.Background(), path, Options{Columns: map[string]string{"reward_other": "reward_safe"}})
	if err != nil {
		t.Fatal(err)
	}
	if o, err := l.Beside("other"); err != nil || o.Cost[0] != -1 || o.Cost[1] != 0 {
		t.Errorf("renamed: %v", err)
	}
}
