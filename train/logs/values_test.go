package logs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"opl/train/inspect"
	"opl/train/logs"
)

// A log whose propensities, rewards and names are written in other forms is that with the schema's, to the bit where the
// form allows it, and from the cache; forms that do not fit are told with the setting that would.
func TestOtherForms_GiveTheSameLog(t *testing.T) {
	dir := t.TempDir()
	read := func(text, name string, o logs.Options) (*logs.Log, error) {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		l, err := logs.Open(context.Background(), path, o)
		if l != nil {
			t.Cleanup(func() { l.Close() })
		}
		return l, err
	}
	plain, err := read("x_age,action,reward,propensity\n3,a,1,.5\n4,b,0,.25\n5,a,1,.5\n", "plain.csv", logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	worth := map[string]float64{"yes": 1, "no": 0, "2": 1, "true": 0}
	nested := map[string]string{"x_age": "user.age", "action": "decision.arm", "propensity": "decision.p.logged", "reward": "won"}
	for _, c := range []struct {
		name, text string
		o          logs.Options
	}{
		{"percent.csv", "x_age,action,reward,propensity\n3,a,1,50\n4,b,0,25\n5,a,1,50\n", logs.Options{Forms: logs.Forms{PropensityForm: "percent"}}},
		{"inverse.csv", "x_age,action,reward,propensity\n3,a,1,2\n4,b,0,4\n5,a,1,2\n", logs.Options{Forms: logs.Forms{PropensityForm: "inverse"}}},
		{"words.csv", "x_age,action,reward,propensity\n3,a,yes,.5\n4,b,no,.25\n5,a,2,.5\n", logs.Options{Forms: logs.Forms{RewardMap: worth}}},
		{"words.jsonl", `{"x_age":3,"action":"a","reward":"yes","propensity":0.5}
{"x_age":4,"action":"b","reward":true,"propensity":0.25}
{"x_age":5,"action":"a","reward":2,"propensity":0.5}
`, logs.Options{Forms: logs.Forms{RewardMap: worth}}},
		{"nested.jsonl", `{"user":{"age":3},"decision":{"arm":"a","p":{"logged":0.5,"other":7}},"won":1}
{"decision":{"p":{"logged":0.25},"arm":"b"},"user":{"age":4,"name":"Ada"},"won":0}
{"user":{"age":5},"decision":{"arm":"a","p":{"logged":0.5}},"won":1}
`, logs.Options{Columns: nested}},
	} {
		for range 2 {
			l, err := read(c.text, c.name, c.o)
			if err != nil || l.Hash() != plain.Hash() {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if _, err := read(c.text, c.name, logs.Options{}); err == nil { // nor is the cache that of another reading
			t.Errorf("%s is read without its options", c.name)
		}
	}
	l, err := read("x_age,action,reward,p_a,p_b\n3,a,1,-0.2876820724517809,-1.3862943611198906\n4,b,0,-0.2876820724517809,-1.3862943611198906\n",
		"log.csv", logs.Options{Forms: logs.Forms{PropensityForm: "log"}})
	if err != nil || !logs.Near(l.Propensity[0], .75, 1e-12) || !logs.Near(l.Propensity[1], .25, 1e-12) {
		t.Errorf("log: %v", err)
	}
	for text, want := range map[string]string{
		"action,reward,propensity\na,1,50\nb,0,25\n":   "setting propensity-form inverse, or percent",
		"action,reward,propensity\na,1,-1\nb,0,-2\n":   "setting propensity-form log",
		"action,reward,propensity\na,yes,.5\nb,0,.5\n": `column reward: "yes" is not a number: setting reward-map`,
	} {
		if _, err := read(text, strings.Fields(text)[0][:20]+want[len(want)-4:]+".csv", logs.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := read("", "plain.csv", logs.Options{Forms: logs.Forms{PropensityForm: "odds"}}); err == nil || !strings.Contains(err.Error(), "want log, percent or inverse") {
		t.Error(err)
	}
}

// Words for no value are none in a column of numbers, wherever the first stands, and categories in a column of
// categories.
func TestMissingWords_AreMissingOnlyAmongNumbers(t *testing.T) {
	dir := t.TempDir()
	write := func(ending string, row func(i int, age, code string) string, head string) string {
		words := []string{"NA", "n/a", "NaN", "null", "None", ""}
		b := strings.Builder{}
		b.WriteString(head)
		for i := range 240 {
			age, code := strconv.Itoa(20+i%50), []string{"7", "B", "none", "9"}[i%4]
			if i%4 == 0 { // a quarter of all, the first value among them
				age = words[i/4%len(words)]
			}
			b.WriteString(row(i, age, code))
		}
		path := filepath.Join(dir, "log."+ending)
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	csv := write("csv", func(i int, age, code string) string { return fmt.Sprintf("%s,%s,%d,1,.5\n", age, code, i%2) },
		"x_age,x_code,action,reward,propensity\n")
	jsonl := write("jsonl", func(i int, age, code string) string {
		if _, err := strconv.Atoi(age); err != nil {
			age = strconv.Quote(age)
		}
		return fmt.Sprintf(`{"x_age":%s,"x_code":%q,"action":"%d","reward":1,"propensity":0.5}`+"\n", age, code, i%2)
	}, "")
	for _, path := range []string{csv, jsonl} {
		l, err := logs.Open(context.Background(), path, logs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		names := slices.Sorted(slices.Values(l.Names()))
		if want := []string{"x_age", "x_code=7", "x_code=9", "x_code=B", "x_code=none"}; !slices.Equal(names, want) {
			t.Errorf("%s: names %q, want %q", path, names, want)
		}
		for _, c := range inspect.Inspect(l).Columns {
			if c.Name == "x_age" && (c.Type != "number" || c.Missing != 60) || c.Name == "x_code" && (c.Categories != 4 || c.Missing != 0) {
				t.Errorf("%s: read as %+v", path, c)
			}
		}
	}
	// A column that is a category only later is one from its first row.
	path := filepath.Join(dir, "late.csv")
	if err := os.WriteFile(path, []byte("x_kind,action,reward,propensity\nnone,a,1,.5\nred,b,1,.5\nblue,b,0,.5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	l, err := logs.Open(context.Background(), path, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if names := l.Names(); !slices.Contains(names, "x_kind=none") {
		t.Errorf("names %q", names)
	}
}

// A number that begins with 0 is told of, wherever it is, and one of a decimal or of names is not.
func TestNotes_OfNumbersThatBeginWithZero(t *testing.T) {
	for _, c := range []struct {
		odd, categories string
		noted           bool
	}{{"01067", "", true}, {"0.5", "", false}, {"0", "", false}, {"01067", "x_zip", false}} {
		var b strings.Builder
		b.WriteString("action,reward,propensity,x_zip\n")
		for i := range 4000 {
			zip := "20095"
			if i == 3000 {
				zip = c.odd
			}
			fmt.Fprintf(&b, "%c,1,.5,%s\n", 'a'+i%2, zip)
		}
		path := filepath.Join(t.TempDir(), "log.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		o := logs.Options{NoCache: true}
		if c.categories != "" {
			o.Categories = []string{c.categories}
		}
		log, err := logs.Open(t.Context(), path, o)
		if err != nil {
			t.Fatal(err)
		}
		if noted := strings.Contains(strings.Join(log.Notes, " "), `begin with 0, as "01067"`); noted != c.noted {
			t.Errorf("%+v: %q", c, log.Notes)
		}
		log.Close()
	}
}
