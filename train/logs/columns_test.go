package logs_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opl/train/logs"
)

// A log whose columns have other names is that with the schema's, in all formats that have columns; what is not there, or stands for
// two, is told by its name, with the nearest of the file.
func TestRenamedColumns_GiveTheSameLog(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	open := func(path string, columns, before map[string]string) (*logs.Log, error) {
		l, err := logs.Open(context.Background(), path, logs.Options{Columns: columns, ColumnsBefore: before})
		if l != nil {
			t.Cleanup(func() { l.Close() })
		}
		return l, err
	}
	plain, err := open(write("plain.csv", "x_age,x_city,action,reward,propensity\n3,Bonn,a,1,.5\n4,Ulm,b,0,.25\n5,Ulm,a,1,.5\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string]string{"x_age": "age", "x_city": "city name", "action": "variant", "reward": "clicked", "propensity": "p"}
	named := write("named.csv", "age,city name,variant,clicked,p,reward\n3,Bonn,a,1,.5,7\n4,Ulm,b,0,.25,7\n5,Ulm,a,1,.5,7\n")
	parquet := filepath.Join(dir, "own.parquet")
	lines := write("named.jsonl", `{"age":3,"city name":"Bonn","variant":"a","clicked":1,"p":0.5,"reward":7}
{"variant":"b","city name":"Ulm","age":4,"clicked":0,"p":0.25}
{"age":5,"city name":"Ulm","variant":"a","clicked":true,"p":0.5}
`)
	for _, path := range []string{named, lines} {
		for range 2 { // the second is from the cache
			l, err := open(path, columns, nil)
			if err != nil {
				t.Fatal(err)
			}
			if l.Hash() != plain.Hash() || l.Len() != 3 {
				t.Errorf("%s: hash %s of %d rows, want %s", path, l.Hash(), l.Len(), plain.Hash())
			}
		}
		// The names of a policy file read the same.
		if l, err := open(path, nil, columns); err != nil || l.Hash() != plain.Hash() {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := open(path, map[string]string{"action": "varient", "reward": "clicked"}, nil); err == nil || !strings.Contains(err.Error(), "setting columns action=varient: there is no column varient: did you mean variant?") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if l, err := open(plain.Path(), nil, columns); err != nil || l.Hash() != plain.Hash() {
		t.Errorf("the schema's names: %v", err)
	}
	if _, err := open(plain.Path(), columns, nil); err == nil || !strings.Contains(err.Error(), "no column") {
		t.Errorf("said, and not there: %v", err)
	}
	w, err := logs.Create(parquet, logs.WriterOptions{Actions: plain.Actions, Names: plain.Names()})
	if err == nil {
		var d logs.Decision
		for i := range plain.Len() {
			plain.Decision(i, &d)
			if e := w.Write(&d); e != nil {
				t.Fatal(e)
			}
		}
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(parquet, map[string]string{"reward": "rewards"}, nil); err == nil || !strings.Contains(err.Error(), "no column rewards: did you mean reward?") {
		t.Errorf("parquet: %v", err)
	}
	if l, err := open(parquet, map[string]string{"cost": "reward", "x_years": "x_age"}, nil); err == nil || l != nil || !strings.Contains(err.Error(), "reward") {
		t.Errorf("a reward as a cost: %v", err)
	}
	last := write("last.jsonl", `{"action":"a","reward":1,"propensity":0.5}
{"action":"b","reward":1,"propensity":0.5,"x_age":3}
`)
	if _, err := open(last, map[string]string{"x_old": "age"}, nil); err == nil || !strings.Contains(err.Error(), "there is no column age") {
		t.Errorf("in no line: %v", err)
	}
	for want, of := range map[string]map[string]string{
		"no column \"actoin\" is read":                  {"actoin": "a"},
		"did you mean action?":                          {"actoin": "variant"},
		"want the name of a column":                     {"action": ""},
		"column p cannot be both propensity and reward": {"reward": "p", "propensity": "p"},
		"no column \"x_\"":                              {"x_": "p"},
	} {
		if _, err := open(named, of, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", of, err, want)
		}
	}
	if _, err := open(named, nil, map[string]string{"x_age": "age", "action": "variant", "reward": "clicked", "propensity": "p"}); err == nil || !strings.Contains(err.Error(), "columns clicked and reward are the same") {
		t.Errorf("both are there: %v", err)
	}
	if _, err := open(write("a.vw", "0:-1:.5 | x:1\n"), map[string]string{"action": "a"}, nil); err == nil || !strings.Contains(err.Error(), "setting columns is not for format vw") {
		t.Errorf("vw: %v", err)
	}
}

// What spreadsheets write: semicolons, tabs or bars, Windows line ends, True and False, dates as in the US or in Europe.
func TestCSV_ReadsWhatSpreadsheetsWrite(t *testing.T) {
	dir := t.TempDir()
	open := func(name, text string, o logs.Options) (*logs.Log, error) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		l, err := logs.Open(context.Background(), path, o)
		if l != nil {
			t.Cleanup(func() { l.Close() })
		}
		return l, err
	}
	want, err := open("want.csv", "action,reward,propensity,x_a,timestamp\na,1,.5,\"1,5; |\",2026-02-03T00:00:00Z\nb,0,.5,b,2026-11-22T15:04:05Z\n", logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ us, eu string }{{"2/3/2026", "3.2.2026"}, {"02/03/2026 0:00", "03/02/2026 00:00"}, {"2/3/2026 12:00:00 AM", "3.2.2026 12:00 AM"}} {
		for _, d := range []string{",", ";", "\t", "|"} {
			for _, end := range []string{"\n", "\r\n"} {
				for dates, first := range map[string]string{"us": c.us, "eu": c.eu} {
					text := strings.NewReplacer("~", d, "\n", end).Replace("\"action\"~reward~propensity~x_a~timestamp\na~True~.5~\"1,5; |\"~" + first + "\nb~FALSE~.5~b~2026-11-22 15:04:05\n")
					for _, given := range []string{"", d} {
						l, err := open("l.csv", text, logs.Options{Forms: logs.Forms{Dates: dates, Delimiter: given}})
						if err != nil {
							t.Errorf("%q: %v", text, err)
						} else if l.Hash() != want.Hash() || !slices.Equal(l.Time, want.Time) {
							t.Errorf("%q is another log", text)
						}
					}
				}
			}
		}
	}
	const text = "action;reward;x_a,b\na;1;2\nb;0;3\n"
	if l, err := open("name.csv", text, logs.Options{Forms: logs.Forms{Delimiter: ";"}}); err != nil || l.Names()[0] != "x_a,b" {
		t.Errorf("a comma in a name: %v", err)
	}
	for wrong, o := range map[string]logs.Options{"there are action;reward;x_a": {}, "want one of": {Forms: logs.Forms{Delimiter: "::"}}, "want us or eu": {Forms: logs.Forms{Dates: "uk"}}} {
		if _, err := open("name.csv", text, o); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%+v: %v, want %q", o, err, wrong)
		}
	}
	if _, err := open("us.csv", "action,reward,timestamp\na,1,31/12/2026\n", logs.Options{Forms: logs.Forms{Dates: "us"}}); err == nil || !strings.Contains(err.Error(), "is no time") {
		t.Errorf("no such month: %v", err)
	}
	if _, err := open("l.jsonl", `{"action":"a","reward":1}`, logs.Options{Forms: logs.Forms{Delimiter: ";"}}); err == nil || !strings.Contains(err.Error(), "setting delimiter is for CSV") {
		t.Error(err)
	}
}
