package logs

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// A group has one spelling, however a program writes it, and in whatever format. Rows are told apart by what was read.
func TestOpen_SpellsGroupsInOneWay(t *testing.T) {
	spelled := []struct{ written, want string }{{"46", "46"}, {" 46\t", "46"}, {"46.0", "46"}, {"46.00 ", "46"}, {"46.", "46"}, {"4.6e1", "46"}, {"4.6E+01", "46"},
		{"046", "046"}, {"046.0", "046"}, {"46.5", "46.5"}, {"4.65e1", "4.65e1"}, {"46e1", "46e1"}, {"0e12", "0e12"}, {"1e300", "1e300"}, {"-4.0", "-4"}, {".0", ".0"},
		{"-.0", "-.0"}, {"12345678901234567890.0", "12345678901234567890"}, {"1e+06", "1000000"}, {"v1.0", "v1.0"}, {"e", "e"}, {"1.2.0", "1.2.0"}, {" ", ""}, {"", ""}}
	csv, lines := "action,reward,group\n", ""
	var want []string
	var decisions []Decision
	for i, s := range spelled {
		csv += fmt.Sprintf("%d,1,%s\n", i%2, s.written)
		lines += fmt.Sprintf("{\"action\":\"%d\",\"reward\":1,\"group\":%q}\n", i%2, s.written)
		want, decisions = append(want, s.want), append(decisions, Decision{Action: i % 2, Cost: -1, Group: s.written, Propensity: .5})
	}
	collected, err := Collect([]string{"0", "1"}, decisions)
	if err != nil {
		t.Fatal(err)
	}
	type text struct {
		Action string  `parquet:"action"`
		Reward float64 `parquet:"reward"`
		Group  string  `parquet:"group"`
	}
	type number[T any] struct {
		Action string  `parquet:"action"`
		Reward float64 `parquet:"reward"`
		Group  T       `parquet:"group"`
	}
	var texts []text
	for i, s := range spelled {
		texts = append(texts, text{fmt.Sprint(i % 2), 1, s.written})
	}
	dir := t.TempDir()
	in := func(name string, err error) *Log {
		if err != nil {
			t.Fatal(err)
		}
		return mustOpen(t, filepath.Join(dir, name), Options{})
	}
	numbers := "{\"action\":\"a\",\"reward\":1,\"group\":46.0}\n{\"action\":\"b\",\"reward\":1,\"group\":4.6e1}\n{\"action\":\"b\",\"reward\":1,\"group\":46.5}\n"
	for name, c := range map[string]struct {
		log  *Log
		want []string
	}{
		"CSV":              {mustOpen(t, write(t, "l.csv", csv), Options{}), want},
		"JSON Lines":       {mustOpen(t, write(t, "l.jsonl", lines), Options{}), want},
		"numbers of JSON":  {mustOpen(t, write(t, "n.jsonl", numbers), Options{}), []string{"46", "46", "46.5"}},
		"Parquet":          {in("t.parquet", parquet.WriteFile(filepath.Join(dir, "t.parquet"), texts)), want},
		"Parquet's floats": {in("f.parquet", parquet.WriteFile(filepath.Join(dir, "f.parquet"), []number[float64]{{"a", 1, 46}, {"b", 1, 46.5}})), []string{"46", "46.5"}},
		"Parquet's ints":   {in("i.parquet", parquet.WriteFile(filepath.Join(dir, "i.parquet"), []number[int64]{{"a", 1, 46}, {"b", 1, 7}})), []string{"46", "7"}},
		"decisions":        {collected, want},
	} {
		var got []string
		var d Decision
		for i := range c.log.Len() {
			c.log.Decision(i, &d)
			got = append(got, d.Group)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if c.log.Group[0] != c.log.Group[1] && c.want[1] == "46" {
			t.Errorf("%s: %q are two groups", name, got[:2])
		}
	}
	if keys := mustOpen(t, write(t, "l.csv", "action,reward,group\na,1,46\nb,1,46\na,1,46.0\n"), Options{}).Keys; keys[0] == keys[2] {
		t.Error("files of policies hold other hashes of rows")
	}
}
