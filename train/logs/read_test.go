package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"opl/policies/features"
)

// write puts a file into a folder of the test's own.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustOpen(t testing.TB, path string, o Options) *Log {
	t.Helper()
	l, err := Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// contextOf shows the context of row i.
func contextOf(l *Log, i int) string {
	var d Decision
	l.Decision(i, &d)
	var s []string
	for _, v := range d.Context {
		s = append(s, fmt.Sprintf("%s:%v", v.Name, v.Number))
	}
	return strings.Join(s, " ")
}

// The files are made up, in the form of the Open Bandit Dataset.
func TestOpen_ReadsTheFormOfTheOpenBanditDataset(t *testing.T) {
	for _, name := range []string{"random", "bts"} {
		b, err := os.ReadFile("testdata/obd-form-" + name + ".csv")
		if err != nil {
			t.Fatal(err)
		}
		path := write(t, "log.csv", string(b))
		l := mustOpen(t, path, Options{Preset: "obd", Actions: numbers(34)})
		if l.Len() != bytes.Count(b, []byte("\n"))-1 || len(l.Actions) != 34 || l.Propensity == nil || l.Derived() != (name == "random") || l.HasIDs() {
			t.Fatalf("%s: %d rows, %d actions", name, l.Len(), len(l.Actions))
		}
		x := contextOf(l, 0)
		for _, want := range []string{"position=", "user_feature_0=dd9db0bce79a85b640b91f8c199524bc:1", "user-item_affinity_33:"} {
			if !strings.Contains(x, want) {
				t.Errorf("%s: no %s in %s", name, want, x)
			}
		}
		if l.Time[0]/1e9/86400 != 18224 {
			t.Errorf("%s: time %v", name, l.Time[0])
		}
		uniform, err := Open(context.Background(), path, Options{Preset: "obd", Actions: numbers(34), LoggingPolicy: "uniform"})
		if name == "bts" {
			if err == nil || !strings.Contains(err.Error(), "another policy logged this") {
				t.Errorf("bts as uniform: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if p := uniform.Propensities; len(p) != 34*l.Len() || p[5] != 1./34 {
			t.Errorf("propensities %v", p[:5])
		}
		if err := uniform.Close(); err != nil {
			t.Error(err)
		}
	}
}

func numbers(k int) (s []string) {
	for a := range k {
		s = append(s, fmt.Sprint(a))
	}
	return s
}

// What is wrong is said, with its place, whatever it is.
func TestOpen_SaysWhatIsWrongAndWhere(t *testing.T) {
	const head = "action,reward,propensity,x_a\n"
	const ok = "0,1,0.5,2\n1,0,0.5,3\n"
	for _, c := range []struct{ name, file, text, want string }{
		{"ragged", "l.csv", head + ok + "1,0,0.5\n", "row 3, 3 fields, the header has 4"},
		{"duplicate column", "l.csv", "action,action,reward\n0,1,1\n", `column "action" twice`},
		{"no action", "l.csv", "acton,reward,x_a\n0,1,1\n", "no column action; there are acton, reward, x_a: did you mean action by acton?"},
		{"blank in a name", "l.csv", "action, reward\n0,1\n", `there are action, " reward": did you mean reward by " reward"?`},
		{"no header", "l.csv", ok, `header: "0" is a number: the first line must name the columns`},
		{"carriage returns", "l.csv", strings.ReplaceAll(head+ok, "\n", "\r"), "a carriage return within the column"},
		{"the header again", "l.csv", head + ok + head + ok, "row 3, this is the header again"},
		{"the header again far below", "l.csv", head + strings.Repeat(ok, 9000) + head + ok, "row 18001, this is the header again"},
		{"no reward", "l.csv", "action,x_a\n0,1\n", "no column reward or cost"},
		{"what was served", "l.jsonl", `{"context":{"a":1},"action":"a","propensity":0.5,"policy_hash":"b","crc32c":"c"}` + "\n", "this is what opl serve logged: opl join adds its rewards"},
		{"reward and cost", "l.csv", "action,reward,cost\n0,1,1\n", "exactly one"},
		{"obd", "l.csv", ",item_id,click\n0,1,1\n", "setting preset obd"},
		{"empty", "l.csv", "", "the file is empty"},
		{"blank", "l.csv", "\n\n", "no header"},
		{"header only", "l.csv", head, "no rows"},
		{"semicolons", "l.csv", "action;reward\n0;1,5\n", `row 1, column reward: "1,5" is not a number`},
		{"commas before semicolons", "l.csv", "action,reward,x_a;b\n0;1;1\n", "1 fields, the header has 3"},
		{"a boolean as a propensity", "l.csv", head + "0,True,True,1\n", `column propensity: "True" is not a number`},
		{"a word as a reward", "l.csv", head + "0,tRue,1,1\n", `column reward: "tRue" is not a number`},
		{"dates unsaid", "l.csv", "action,reward,timestamp\n0,1,12/31/2026\n", "setting dates us reads 12/31/2026"},
		{"not a number", "l.csv", head + "0,yes,0.5,1\n", `row 1, column reward: "yes" is not a number`},
		{"hexadecimal", "l.csv", head + "0,0x1p-2,0.5,1\n", "is not a number"},
		{"underscore", "l.csv", head + "0,1,0_5,1\n", `row 1, column propensity: "0_5" is not a number`},
		{"nan", "l.csv", head + ok + "0,NaN,0.5,1\n", "row 3, column reward: NaN is not finite"},
		{"inf", "l.csv", head + "0,1,0.5,inf\n", "row 1, column x_a: +Inf is not finite"},
		{"overflow", "l.csv", head + "0,1,0.5,1e999\n", "not finite"},
		{"reward above", "l.csv", head + ok + "0,5,0.5,1\n", "row 3, column reward: reward 5 is outside [0, 1]: setting reward-min and setting reward-max"},
		{"cost above", "l.csv", "action,cost\n0,-1\n1,1\n", "row 2, column cost: cost 1 is outside [-1, 0]"},
		{"p zero", "l.csv", head + "0,1,0,1\n", "row 1, column propensity: 0 is outside (0, 1]"},
		{"p negative", "l.csv", head + "0,1,-0.1,1\n", "outside (0, 1]: is it log p?"},
		{"p above", "l.csv", head + "0,1,1.5,1\n", "outside (0, 1]: is it 1/p, or a percentage?"},
		{"p above after others", "l.csv", head + ok + "0,1,50,1\n", "row 3, column propensity: 50 is outside (0, 1]: is it 1/p, or a percentage, where rows before"},
		{"p empty", "l.csv", head + "0,1,,1\n", "column propensity: empty"},
		{"action empty", "l.csv", head + ",1,0.5,1\n", "column action: empty"},
		{"one action", "l.csv", head + "3,1,0.5,1\n3,0,0.5,2\n", "3 is the only action"},
		{"decimal commas", "l.csv", "action;reward;propensity\n0;1;0,5\n", "row 1, column propensity: \"0,5\" is not a number: numbers have points"},
		{"decimal commas of rewards", "l.csv", "action;reward;propensity\n0;0,5;1\n", "row 1, column reward: \"0,5\" is not a number: numbers have points"},
		{"a long name", "l.csv", strings.Repeat("a", 1<<20) + ",b\n1,2\n", strings.Repeat("a", 60) + "…, b: setting columns"},
		{"sum", "l.csv", "action,reward,p_0,p_1\n0,1,0.5,0.6\n", "row 1, column propensities: the probabilities sum to 1.1, not 1"},
		{"contradiction", "l.csv", "action,reward,propensity,p_0,p_1\n0,1,0.5,0.5,0.5\n1,1,0.4,0.5,0.5\n", "row 2, column propensity: 0.4, but 0.5"},
		{"p of logged 0", "l.csv", "action,reward,p_0,p_1\n0,1,0,1\n1,1,0,1\n", "row 1, column propensities: that of the logged action 0 is 0"},
		{"p negative of another", "l.csv", "action,reward,p_0,p_1\n0,1,1.1,-0.1\n", "outside [0, 1]"},
		{"action outside", "l.csv", "action,reward,p_0,p_1\n0,1,0.5,0.5\n7,1,0.5,0.5\n", `row 2, column action: "7" is none of the 2 actions`},
		{"names and list", "l.csv", "action,reward,propensities\nred,1,\"[0.5,0.5]\"\n", "setting actions must give the names"},
		{"name among numbers", "l.csv", "action,reward,p_0,p_1\n0,1,0.5,0.5\n1,1,0.5,0.5\n-1,1,0.5,0.5\n", `row 3, column action: "-1" is none of the 2 actions 0 to 1`},
		{"weight", "l.csv", "action,reward,weight\n0,1,-1\n", "column weight"},
		{"time", "l.csv", "action,reward,timestamp\n0,1,soon\n", `column timestamp: "soon" is no time`},
		{"number spoiled", "l.csv", "action,reward,x_a\n" + strings.Repeat("0,1,1.5\n1,1,2\n", 10) + "0,0,tall\n", `row 21, column x_a: "tall" is not a number`},
		{"open quote", "l.csv", head + "0,1,0.5,\"2\n1,1,1,1\n", "row 1, a quote is not closed"},
		{"inner quote", "l.csv", head + "0,1,0.5,2\"\"\n", "a quote within the field"},
		{"after quote", "l.csv", head + "0,1,0.5,\"2\"3\n", "text after the closing quote"},
		{"utf-8", "l.csv", head + "0,1,0.5,\xff\n", "row 1, the text is not UTF-8: save it as such"},
		{"utf-16", "l.csv", "\xff\xfea\x00c\x00", "l.csv: this is text in UTF-16: save it as UTF-8"},
		{"a workbook", "l.csv", "PK\x03\x04\xff\x00\n", "save the sheet as CSV"},
		{"packed", "l.csv", "\x1f\x8b\xff\x00\n", "its name must end in .gz"},
		{"a note to Excel", "l.csv", "sep=;\naction;reward;propensity\n", "the first line is a note to Excel: delete it"},
		{"percent of rewards", "l.csv", "action,reward,propensity\n0,5%,1\n", "row 1, column reward: \"5%\" is not a number: numbers have points, and no"},
		{"zero byte", "l.csv", head + "0,1,0.5,\x00\n", "a byte is zero"},
		{"binary", "l.csv", "\x7fELF\x02\x01\x01\x00\x00\x00\xff\xfe", "header:"},
		{"huge field", "l.csv", head + "0,1,0.5," + strings.Repeat("9", maxRow) + "\n", "row 1, a line is longer"},
		{"context and x_", "l.csv", "action,reward,context,x_a\n0,1,[1],2\n", "columns context and x_a"},
		{"sparse twice", "l.csv", "action,reward,context\n0,1,3:1 3:2\n", "the context has 3 twice"},
		{"sparse broken", "l.csv", "action,reward,context\n0,1,3=1\n", "is not index:value"},
		{"list broken", "l.csv", "action,reward,context\n0,1,\"[1,\"\n", "column context: broken JSON"},
		{"list of PostgreSQL", "l.csv", "action,reward,offered\na,1,\"{a,b}\"\n", `row 1, column offered: want a JSON list, such as ["a","b"]`},
		{"gzip", "l.csv.gz", "no gzip at all", "not a gzip file"},
		{"zstd", "l.csv.zst", "no zstd at all", "damaged"},
		{"parquet", "l.parquet", "no parquet at all", "not a Parquet file"},
		{"parquet's list", "l.parquet", "PAR1\x29\xfc\xff\xff\xff\xff\x07\x07\x00\x00\x00PAR1", "its footer is damaged"},
		{"parquet's footer", "l.parquet", "PAR1\x00\x00\x00\xf0PAR1", "a footer of 4026531840 bytes in a file of 12"},
		{"no format", "log.dat", "a", "use setting input-format"},
		{"json broken", "l.jsonl", `{"action":0,"reward":1` + "\n", "row 1, broken JSON"},
		{"json no object", "l.jsonl", "[1]\n", "row 1, begins with \"[1]\": want JSON Lines"},
		{"json laid out", "l.jsonl", "{\n \"action\": 0\n}\n", "row 1, begins with \"{\": want JSON Lines"},
		{"json no object later", "l.jsonl", `{"action":0,"reward":1}` + "\n7\n", "row 2, not an object"},
		{"list lengths", "l.jsonl", `{"action":0,"reward":1,"context":[1,2]}` + "\n" + `{"action":0,"reward":1,"context":[]}` + "\n" + `{"action":0,"reward":1,"context":[3]}` + "\n", "row 3, column context: 1 numbers, while the rows before have 2"},
		{"list lengths in a cell", "l.csv", "action,reward,context\n0,1,[1]\n1,1,\"[1,2]\"\n", "row 2, column context: 2 numbers, while the rows before have 1"},

		{"json rest", "l.jsonl", `{"action":0,"reward":1} {}` + "\n", "text after the end"},
		{"json twice", "l.jsonl", `{"action":0,"action":1,"reward":1}` + "\n", "duplicate"},
		{"json text", "l.jsonl", `{"action":0,"reward":"1"}` + "\n", `column reward: "1" is a text, not a number`},
		{"json both", "l.jsonl", `{"action":0,"reward":1,"cost":-1}` + "\n", "exactly one"},
		{"json other", "l.jsonl", `{"action":0,"reward":1}` + "\n" + `{"action":0,"cost":-1}` + "\n", "row 2, column cost: rows before have reward"},
		{"json missing", "l.jsonl", `{"action":0,"reward":1,"propensity":1}` + "\n" + `{"action":1,"reward":1}` + "\n", "row 2, column propensity: missing"},
		{"json given", "l.jsonl", `{"action":0,"reward":1}` + "\n" + `{"action":1,"reward":1,"weight":1}` + "\n", "row 2, column weight: given"},
		{"json null", "l.jsonl", `{"action":null,"reward":1}` + "\n", "column action: missing"},
		{"json list", "l.jsonl", `{"action":[0],"reward":1}` + "\n", "column action: \"[0]\" is a list: the actions shown in a list are column slots"},
		{"json lengths", "l.jsonl", `{"action":0,"reward":1,"propensities":[0.5,0.5]}` + "\n" + `{"action":0,"reward":1,"propensities":[1]}` + "\n", "row 2, column propensities: 1 of them"},
		{"json deep", "l.jsonl", `{"action":0,"reward":1,"context":` + strings.Repeat(`{"a":`, 99) + "1" + strings.Repeat("}", 100) + "\n", "nested deeper"},
		{"vw no bar", "l.vw", "1:0:0.5 a b\n", "row 1, no |"},
		{"vw no label", "l.vw", "1:0:0.5 | a\n2:0:0.5 | a\n| a b\n", "row 3, column label: no action has a cost"},
		{"vw none labelled", "l.vw", "shared | a\n| b\n| c\n\n", "row 1, column label: none of the 2 actions has a cost"},
		{"vw two labelled", "l.vw", "| a\n0:0:0.5 | b\n\n0:0:0.5 | b\n0:0:0.5 | c\n", "row 2, column label: two actions have a cost"},
		{"vw no actions", "l.vw", "shared | a\n\nshared | a\n", "row 1, column label: no action is offered"},
		{"vw shared twice", "l.vw", "shared | a\n0:0:0.5 | b\nshared | a\n", "row 1, column label: line 3 of the example is shared"},
		{"vw shared late", "l.vw", "1:0:0.5 | b\n2:0:0.5 | b\nshared | a\n", "row 3, column label: a line shared among lines of a decision each"},
		{"vw ccb", "l.vw", "ccb shared | a\nccb action | b\nccb slot 0:0:1 | c\n", "is the only one ever offered"},
		{"vw slates", "l.vw", "slates shared -0.8 | a\nslates action 0 | b\n", "row 1, column label: 0 slots, or no cost"},
		{"vw adf value", "l.vw", "shared | a\n0:0:0.5 | b:nan\n| c\n", "row 1, column features: NaN is not finite"},
		{"vw adf cost", "l.vw", "shared | a\n0:5:0.5 | b\n| c\n", "row 1, column label: cost 5 is outside"},
		{"vw adf p", "l.vw", "shared | a\n0:0:2 | b\n| c\n", "row 1, column propensity: 2 is outside"},
		{"vw adf no bar", "l.vw", "shared | a\n0:0:0.5 | b\nc\n", "row 1, no |"},
		{"vw two", "l.vw", "1:0:0.5 2:0:0.5 | a\n", "two actions have a cost"},
		{"vw zero", "l.vw", "0:0:0.5 | a\n", "actions are numbers from 1"},
		{"vw name", "l.vw", "1:0:0.5 | :2\n", "column context: a value without a name"},
		{"category", "l.jsonl", "{\"action\":0,\"reward\":1,\"context\":{\"k=a\":\"b\"}}\n", "column context: the values of \"k=a\" are names"},
		{"category", "l.csv", "action,reward,x_k=a\n0,1,b\n", "column x_k=a: the values of \"x_k=a\" are names"},
		{"name", "l.jsonl", "{\"action\":0,\"reward\":1,\"context\":{\"\":1}}\n", "column context: a value without a name"},
		{"vw value", "l.vw", "1:0:0.5 | a:b\n", "the value of \"a:b\""},
		{"vw many", "l.vw", "16777215:0:0.5 | a\n1:0:0.5 | a\n", "actions are numbered up to 16777215 in 2 rows"},
		{"vw many others", "l.vw", "16777215 1:0:0.5 | a\n1:0:0.5 | a\n", "actions are numbered up to 16777215 in 2 rows"},
		{"dsjson many", "l.dsjson", `{"_label_cost":0,"_label_probability":0.5,"_label_Action":16777215,"a":[16777215],"c":{}}` + "\n", "actions are numbered up to 16777215"},
		{"dsjson twice", "l.dsjson", `{"_label_cost":0,"_label_probability":1,"a":[1,2,2],"p":[1,0,0],"c":{}}` + "\n", "column a: action 2 twice"},
		{"dsjson twice, no p", "l.dsjson", `{"_label_cost":0,"_label_probability":1,"a":[1,2,1],"c":{}}` + "\n", "column a: action 1 twice"},
		{"vw sum", "l.vw", "1:0:0.5 | a:1e308 a:1e308\n", "the values of a add up to more"},
		{"vw cost", "l.vw", "1:3:0.5 | a\n", "cost 3 is outside [-1, 0]"},
		{"ds action", "l.dsjson", `{"_label_cost":-1,"_label_probability":0.5,"c":{}}`, "which action was taken"},
		{"ds slates", "l.dsjson", `{"_outcomes":[{"_a":[0]}],"c":{"_slots":[]}}`, "column _outcomes: 1 of them for 0 of c._slots"},
		{"ds disagree", "l.dsjson", `{"_label_cost":-1,"_label_probability":0.5,"_label_Action":2,"a":[1,2],"p":[0.5,0.5],"c":{"_multi":[{"b":1},{"b":2}]}}`, "_label_Action: 2, but"},
		{"offered none", "l.jsonl", `{"action":"a","reward":1,"offered":[]}` + "\n", "row 1, column offered: no action is offered"},
		{"offered twice", "l.jsonl", `{"action":"a","reward":1,"offered":["a","b","a"]}` + "\n", "row 1, column offered: action a is offered twice"},
		{"not offered", "l.jsonl", `{"action":"c","reward":1,"offered":["a","b"]}` + "\n", `row 1, column action: "c" was not offered: the row has a, b`},
		{"offered once", "l.jsonl", `{"action":"a","reward":1,"offered":["a"]}` + "\n", "a is the only one ever offered"},
		{"offered later", "l.jsonl", `{"action":"a","reward":1}` + "\n" + `{"action":"a","reward":1,"offered":["a","b"]}` + "\n", "row 2, column offered: given, while"},
		{"offered missing", "l.jsonl", `{"action":"a","reward":1,"offered":["a","b"]}` + "\n" + `{"action":"a","reward":1}` + "\n", "row 2, column offered: missing, while"},
		{"offered null", "l.jsonl", `{"action":"a","reward":1,"offered":["a",null]}` + "\n", "column offered: \"null\" is no id"},
		{"offered fraction", "l.jsonl", `{"action":1.5,"reward":1,"offered":[1.5,2]}` + "\n", `column offered: "1.5" is no id`},
		{"offered objects", "l.jsonl", `{"action":"a","reward":1,"offered":[{"id":"a"}]}` + "\n", "actions with features are column actions"},
		{"actions of ids", "l.jsonl", `{"action":"a","reward":1,"actions":["a","b"]}` + "\n", "a list of ids is column offered"},
		{"both", "l.jsonl", `{"action":"a","reward":1,"actions":[{"id":"a"},{"id":"b"}],"offered":["a","b"]}` + "\n", "the row has column actions as well"},
		{"number and text", "l.jsonl", `{"action":"1","reward":1,"offered":[1,2]}` + "\n", `row 1, column action: the id "1" is a text, and others, of the row or the rows before, are numbers`},
		{"text and number", "l.jsonl", `{"action":"1","reward":1,"offered":["1","2"]}` + "\n" + `{"action":1,"reward":1,"offered":["1","2"]}` + "\n", "row 2, column action: the id 1 is a number"},
		{"types in a set", "l.jsonl", `{"action":"1","reward":1,"offered":["1",1]}` + "\n", "row 1, column offered: the id 1 is a number"},
		{"one number", "l.jsonl", `{"action":1,"reward":1,"offered":[1,1.0]}` + "\n", "row 1, column offered: action 1 is offered twice"},
		{"ids and none", "l.jsonl", `{"action":"a","reward":1,"actions":[{"id":"a","z":1},{"z":2}]}` + "\n", "column actions: 1 of 2 actions have an id"},
		{"no features", "l.jsonl", `{"action":"a","reward":1,"actions":[{"id":"a","z":1},{"id":"b"}]}` + "\n", "column actions: action b has no features, and others have"},
		{"features later", "l.jsonl", `{"action":"a","reward":1,"actions":[{"id":"a"},{"id":"b"}]}` + "\n" + `{"action":"a","reward":1,"actions":[{"id":"a","z":1}]}` + "\n", "row 2, column actions: features of actions must be there in all rows or in none"},
		{"nothing known of any action", "l.vw", "|\n0:-1:0.5 |\n", "neither ids nor features"},
		{"nothing known", "l.jsonl", `{"action":"1","reward":1,"actions":[{},{}]}` + "\n", "neither ids nor features"},
		{"nan", "l.jsonl", `{"action":"a","reward":1,"actions":[{"id":"a","z":1e999},{"id":"b","z":1}]}` + "\n", "row 1, column actions: +Inf is not finite"},
		{"two ids", "l.jsonl", `{"action":"a","reward":1,"actions":[{"id":"a","id":"b","z":1}]}` + "\n", "duplicate"},
		{"feature twice", "l.jsonl", `{"action":"a","reward":1,"actions":[{"id":"a","z":{"y":1},"z.y":1}]}` + "\n", "the action has z.y twice"},
		{"lengths of a set", "l.jsonl", `{"action":"a","reward":1,"offered":["a","b"],"propensities":[1]}` + "\n", "row 1, column propensities: 1 of them for 2 actions offered"},
		{"sum of a set", "l.jsonl", `{"action":"a","reward":1,"offered":["a","b"],"propensities":[0.5,0.6]}` + "\n", "row 1, column propensities: the probabilities sum to 1.1"},
		{"object of a set", "l.jsonl", `{"action":"a","reward":1,"offered":["a","b"],"propensities":{"a":0.5,"b":0.5}}` + "\n", "they must be a list, in the order of column offered"},
		{"disagreement in a set", "l.jsonl", `{"action":"a","reward":1,"offered":["a","b"],"propensities":[0.5,0.5],"propensity":0.6}` + "\n", "row 1, column propensity: 0.6, but 0.5"},
		{"never in a set", "l.jsonl", `{"action":"a","reward":1,"offered":["a","b"],"propensities":[0,1]}` + "\n", "that of the logged action a is 0"},
		{"cost as context", "l.csv", "action,reward,propensity,cost\na,1,0.5,3\n", "is read by setting columns x_cost=cost"},
		{"p_ as context", "l.csv", "action,reward,propensity,p_x\na,1,0.5,3\nb,1,.5,4\n", "is read by setting columns x_p_x=p_x"},
		{"percent", "l.csv", "action,reward,propensity\na,1,33.3%\n", "by setting propensity-form percent"},
		{"empty reward", "l.csv", "action,reward,propensity\na,,.5\n", "by setting reward-map =0"},
		{"set and p_", "l.csv", "action,reward,offered,p_a,p_b\na,1,\"[\"\"a\"\",\"\"b\"\"]\",0.5,0.5\n", "exactly one of them may be there"},
		{"set no list", "l.csv", "action,reward,offered\na,1,a b\n", `column offered: "a b" is not a list`},
		{"ds _multi", "l.dsjson", `{"_label_cost":-1,"_label_probability":0.5,"a":[3,1],"c":{"_multi":[{"b":1},{"b":2}]}}` + "\n" + `{"_label_cost":-1,"_label_probability":0.5,"a":[1],"c":{"_multi":[{"b":1},{"b":3}]}}`, "row 1, column a: 3 is none of the 2 actions"},
		{"ds empty _multi", "l.dsjson", `{"_label_cost":-1,"_label_probability":0.5,"a":[1],"c":{"_multi":[{"b":1},{"b":2}]}}` + "\n" + `{"_label_cost":-1,"_label_probability":0.5,"a":[1],"c":{"_multi":[]}}`, "row 2, column c._multi: no actions"},
		{"ds p of a set", "l.dsjson", `{"_label_cost":-1,"_label_probability":0.5,"a":[1],"c":{"_multi":[{"b":1},{"b":2}]}}` + "\n" + `{"_label_cost":-1,"_label_probability":0.5,"a":[1,2],"p":[0.5,0.5],"c":{"_multi":[{"b":1},{"b":2},{"b":3}]}}`, "row 2, column p: 2 probabilities for 2 of 3 actions"},
		{"ds no labels", "l.dsjson", `{"EventId":"late","RewardValue":1}` + "\n" + `{"EventId":"later"}`, "none of its 2 lines is a decision with a label"},
		{"ds pdrop", "l.dsjson", `{"_label_cost":-1,"pdrop":1,"a":[1],"c":{}}`, "column pdrop: 1 is outside [0, 1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, c.file, c.text)
			l, err := Open(context.Background(), path, Options{})
			if err == nil {
				t.Fatalf("no error; %d rows", errors.Join(l.Close(), nil))
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			if !strings.Contains(err.Error(), filepath.Base(path)) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error without the file, or of many lines: %v", err)
			}
			if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// A file that is cut off is an error in every packing, never a shorter log.
func TestOpen_RefusesATruncatedFile(t *testing.T) {
	for _, ending := range []string{"csv.gz", "csv.zst", "parquet"} {
		path := filepath.Join(t.TempDir(), "l."+ending)
		writeAs(t, path, strings.TrimSuffix(strings.TrimSuffix(ending, ".gz"), ".zst"), newWorld(3, 3, 1), 3000)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, keep := range []int{len(b) - 1, len(b) - 9, len(b) / 2, 20} {
			cut := write(t, "l."+ending, string(b[:keep]))
			if l, err := Open(context.Background(), cut, Options{}); err == nil {
				t.Errorf("%s: %d of %d bytes are a log of %d rows", ending, keep, len(b), l.Len())
			}
		}
	}
}

// What is odd but right is read, and what it means is noted.
func TestOpen_ReadsWhatIsOddAndNotesIt(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		o                Options
		actions          string
		first            string // context
		note             string
	}{
		{"from 1", "l.csv", "action,reward\n1,1\n2,0\n3,1\n", Options{}, "1 2 3", "", "counted from 1"},
		{"from 0", "l.csv", "action,reward\n1,1\n0,0\n3,1\n", Options{}, "0 1 2 3", "", "1 of the 4 actions were never logged"},
		{"from 1 by list", "l.csv", "action,reward,p_0,p_1,p_2\n1,1,.2,.3,.5\n3,0,.2,.3,.5\n", Options{}, "1 2 3", "", "counted from 1"},
		{"from 1 by match", "l.csv", "action,reward,propensity,p_0,p_1,p_2\n1,1,.2,.2,.3,.5\n2,0,.3,.2,.3,.5\n", Options{}, "1 2 3", "", "counted from 1"},
		{"from 0 by match", "l.csv", "action,reward,propensity,p_0,p_1,p_2\n1,1,.3,.2,.3,.5\n2,0,.5,.2,.3,.5\n", Options{}, "0 1 2", "", "0 to 2"},
		{"names", "l.csv", "action,reward\nred,1\nblue,0\n", Options{}, "blue red", "", ""},
		{"name among numbers", "l.csv", "action,reward\n0,1\n1,0\n1 ,0\n", Options{}, "0 1 1 ", "", `"1 ", first in row 3, is no number`},
		{"identifiers", "l.csv", "action,reward\n1007,1\n500,0\n", Options{}, "500 1007", "", "taken for names"},
		{"floats", "l.csv", "action,reward\n1.0,1\n0.0,0\n1,0\n", Options{}, "0 1", "", ""},
		{"named propensities", "l.csv", "action,reward,p_red,p_blue\nred,1,0.25,0.75\n", Options{}, "blue red", "", ""},
		{"given", "l.csv", "action,reward\nred,1\n", Options{Actions: []string{"red", "green"}}, "red green", "", ""},
		{"weight of some", "l.dsjson", `{"_label_cost":-1,"_label_probability":0.5,"a":[1],"c":{}}` + "\n" + `{"_label_cost":-1,"_label_probability":0.5,"a":[2],"c":{},"pdrop":0.75}` + "\n" +
			`{"_label_cost":-1,"_label_probability":0.5,"a":[2],"c":{}}`, Options{}, "1 2", "", ""},
		{"numbers of names", "l.csv", "action,reward\n1,1\n0,1\n", Options{Actions: []string{"red", "green"}}, "red green", "", ""},
		{"categories", "l.csv", "action,reward,x_c,x_n\n0,1,red,1\n1,1,,2\n", Options{}, "0 1", "x_c=red:1 x_n:1", "column x_c, 1 rows: no value"},
		{"late category", "l.csv", "action,reward,x_c\n0,1,7\n1,1,red\n", Options{}, "0 1", "x_c=7:1", ""},
		{"categories by option", "l.csv", "action,reward,x_c\n0,1,07\n1,1,1\n", Options{Categories: []string{"x_c"}}, "0 1", "x_c=07:1", ""},
		{"quoted", "l.csv", "action,reward,x_c\r\n0,1,\"a,\"\"b\"\"\nc\"\r\n1,1,d\r\n", Options{}, "0 1", "x_c=a,\"b\"\nc:1", ""},
		{"byte order mark", "l.csv", "\ufeffaction,reward\n0,1\n1,1", Options{}, "0 1", "", ""},
		{"ignored", "l.csv", "action,reward,propensty\n0,1,1\n1,1,1\n", Options{}, "0 1", "", "did you mean propensity by propensty?"},
		{"ignored for a blank", "l.csv", "action,reward,propensity \n0,1,1\n1,1,1\n", Options{}, "0 1", "", `did you mean propensity by "propensity "?`},
		{"context list", "l.csv", "action,reward,context\n0,1,\"[1,2.5]\"\n1,1,\"[3,4]\"\n", Options{}, "0 1", "0:1 1:2.5", ""},
		{"context sparse", "l.csv", "action,reward,context\n0,1,7:1 3:-2\n1,1,\n", Options{}, "0 1", "7:1 3:-2", ""},
		{"json", "l.jsonl", `{"action":"b","reward":true,"context":{"age":3,"who":{"sex":"f","tags":["x","y"]},"new":true,"none":null}}` + "\n\n" + `{"action":"a","reward":0,"context":{}}`, Options{}, "a b",
			"age:3 who.sex=f:1 who.tags.0=x:1 who.tags.1=y:1 new=true:1", ""},
		{"json sparse", "l.jsonl", `{"action":1,"reward":0,"context":["3:1","9:2"]}` + "\n" + `{"action":0,"reward":0,"context":["1:1"]}`, Options{}, "0 1", "3:1 9:2", ""},
		{"json columns", "l.jsonl", `{"action":1,"reward":0,"x_a":1,"x_b":"c"}` + "\n" + `{"action":0,"reward":0,"x_b":"d"}`, Options{}, "0 1", "x_a:1 x_b=c:1", ""},
		{"json named propensities", "l.jsonl", `{"action":"b","reward":0,"propensities":{"b":0.25,"a":0.75}}`, Options{}, "a b", "", ""},
		{"rounded", "l.csv", "action,reward,p_0,p_1,p_2\n0,1,.333,.333,.333\n", Options{}, "0 1 2", "", "rounded"},
		{"support", "l.csv", "action,reward,p_0,p_1,p_2\n0,1,.5,.5,0\n", Options{}, "0 1 2", "", "propensity 0"},
		{"vw", "l.vw", "1 2:-1:0.4 3 'first |user age:2 male |:0.5 x x:3 |\n3:0:0.5 'second|\n", Options{}, "1 2 3", "user^age:2 user^male:1 x:2", ""},
		{"dsjson", "l.dsjson", `{"_label_cost":-1,"_label_probability":0.7,"_label_Action":2,"_labelIndex":1,"EventId":"e","Timestamp":"2020-01-02T03:04:05.6Z","a":[2,1],"p":[0.7,0.3],"c":{"u":{"age":3,"_x":1},"_multi":[{"b":1},{"b":2}]},"pdrop":0.5}` + "\n" +
			`{"EventId":"late","RewardValue":1}` + "\n" +
			`{"_label_cost":0,"_label_probability":0.7,"_labelIndex":0,"EventId":"e","Timestamp":"2020-01-02T03:04:05.6Z","a":[1,2],"p":[0.7,0.3],"c":{"u":{"age":3,"_x":1},"_multi":[{"b":2},{"b":1}]},"pdrop":0.5}`, Options{}, "b=1 b=2", "u.age:3", "left out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := mustOpen(t, write(t, c.file, c.text), c.o)
			if got := strings.Join(l.Actions, " "); got != c.actions {
				t.Errorf("actions %s, want %s", got, c.actions)
			}
			if got := contextOf(l, 0); got != c.first {
				t.Errorf("context %s, want %s", got, c.first)
			}
			notes := l.Notes
			if !strings.Contains(strings.Join(notes, "; "), c.note) {
				t.Errorf("notes %q, want %s", notes, c.note)
			}
			for i, p := range l.Propensity {
				if k := len(l.Actions); l.Propensities != nil && l.Propensities[i*k+int(l.Action[i])] != p {
					t.Errorf("row %d: propensity %v", i, p)
				}
			}
			if w := []float64{1, 4, 1}; c.name == "weight of some" && !slices.Equal(l.Weight, w) {
				t.Errorf("weights %v, want %v", l.Weight, w)
			}
			if c.name == "dsjson" && (l.Action[0] != 1 || l.Action[1] != 1 || l.Row(1) != 3 || l.Propensities[2] != 0.3 || l.Weight[0] != 2) {
				t.Errorf("actions %v, propensities %v, weight %v", l.Action, l.Propensities, l.Weight)
			}
		})
	}
}

// Times of all kinds are the same time.
func TestOpen_ReadsTimesOfAllKinds(t *testing.T) {
	for _, s := range []string{"2019-11-24T00:00:02.5Z", "2019-11-24 00:00:02.500000+00:00", "2019-11-24T01:00:02.5+01:00", "2019-11-24 00:00:02.5", "1574553602.5", "1574553602500", "1574553602500000", "1574553602500000000"} {
		l := mustOpen(t, write(t, "l.csv", "action,cost,timestamp\n0,-1,"+s+"\n1,0,"+s+"\n"), Options{})
		if got := l.Time[0]; got != 1574553602500000000 {
			t.Errorf("%s: %d", s, got)
		}
	}
}

// Rewards of any range become costs.
func TestOpen_TurnsRewardsIntoCosts(t *testing.T) {
	o := Options{RewardMin: -1, RewardMax: 3}
	l := mustOpen(t, write(t, "l.csv", "action,reward\n0,-1\n1,3\n1,1\n"), o)
	if !slices.Equal(l.Cost, []float64{0, -1, -0.5}) || math.Signbit(l.Cost[0]) {
		t.Errorf("costs %v", l.Cost)
	}
	if l.RewardMin != -1 || l.RewardMax != 3 {
		t.Errorf("the log's range is %v to %v", l.RewardMin, l.RewardMax)
	}
	l = mustOpen(t, write(t, "l.csv", "action,cost\n0,1\n1,-3\n1,-1\n"), o)
	if !slices.Equal(l.Cost, []float64{0, -1, -0.5}) {
		t.Errorf("costs %v", l.Cost)
	}
	if _, err := Open(context.Background(), write(t, "l.csv", "action,cost\n0,1\n"), Options{RewardMin: 2, RewardMax: 1}); err == nil || !strings.Contains(err.Error(), "setting reward-min 2 is not below") {
		t.Error(err)
	}
}

// Bad rows go into a file with their reasons; the others are read as if alone.
func TestBadRows_GoIntoAFileWithReasons(t *testing.T) {
	text := "action,reward,propensity,p_0,p_1\n0,1,0.5,0.5,0.5\n1,9,0.5,0.5,0.5\n1,1,0.4,0.5,0.5\n1,1\n7,1,0.5,0.5,0.5\n1,0,0.25,0.75,0.25\nred,1,0.5,0.5,0.5\n"
	path := write(t, "l.csv", text)
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	for range 2 { // the second time from the cache
		l := mustOpen(t, path, Options{BadRows: bad})
		if l.Len() != 2 || l.Skipped != 5 || l.Row(1) != 6 || l.Propensity[1] != 0.25 {
			t.Fatalf("%d rows, %d skipped, rows %v", l.Len(), l.Skipped, l.fileRows)
		}
		b, err := os.ReadFile(bad)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{`{"row":2,"reason":"column reward: reward 9 is outside`, `{"row":3,"reason":"column propensity: 0.4, but 0.5`, `{"row":4,"reason":"2 fields`, `{"row":5,"reason":"column action: \"7\" is none`, `{"row":7,"reason":"column action: \"red\" is none`} {
			if line := strings.Split(string(b), "\n")[i]; !strings.HasPrefix(line, want) {
				t.Errorf("line %d: %s", i, line)
			}
		}
		if !strings.Contains(string(b), `"raw":"1,9,0.5,0.5,0.5"`) {
			t.Errorf("%s", b)
		}
	}
	if _, err := Open(context.Background(), path, Options{}); err == nil {
		t.Error("the cache with bad rows left out served one who did not ask for it")
	}
	if _, err := Open(context.Background(), write(t, "l.csv", "action,reward\n0,7\n"), Options{BadRows: bad}); err == nil || !strings.Contains(err.Error(), "all 1 rows are bad") {
		t.Error(err)
	}
	if b, err := os.ReadFile(bad); err != nil || !strings.Contains(string(b), `"raw":"0,7"`) {
		t.Errorf("where all rows are bad they are not in the file that the error names: %s %v", b, err)
	}
}

// A row that is broken takes no good one with it: neither an open quote nor a line that is
// too long.
func TestBadRows_TakeNoGoodOneWithThem(t *testing.T) {
	const head = "decision_id,action,reward,x_c\n"
	var rows []string
	for i := range 40 {
		rows = append(rows, fmt.Sprintf("d%d,%d,1,\"a,\nb\"\n", i, i%2))
	}
	for name, c := range map[string]struct {
		row  int // that is replaced
		text string
		bad  []string
	}{
		"open quote":    {3, "d3,1,1,\"a\n", []string{`{"row":4,"reason":"text after the closing quote of`}},
		"open quotes":   {3, "d3,1,1,\"a\nx3,1,1,\"b\n", []string{`{"row":4,`, `{"row":5,`}},
		"at the end":    {39, "d3,1,1,\"a\n", []string{`{"row":40,"reason":"a quote is not closed","raw":"d3,1,1,\"a"}`}},
		"of two lines":  {3, "d3,1,\"a\nb\"\n", []string{`{"row":4,"reason":"3 fields, the header has 4","raw":"d3,1,\"a"}`, `{"row":5,"reason":`}},
		"too long":      {3, "d3,1,1," + strings.Repeat("9", maxRow) + "\n", []string{`{"row":4,"reason":"a line is longer`}},
		"quote too far": {3, "d3,1,1,\"" + strings.Repeat(strings.Repeat("9", 999)+"\n", maxRow/1000+1) + "\n", nil},
		"after a quote": {3, "d3,1,1,\"\n" + strings.Repeat("9", maxRow) + "\n", []string{`{"row":4,"reason":"a line is longer`}},
	} {
		t.Run(name, func(t *testing.T) {
			lines := slices.Clone(rows)
			lines[c.row] = c.text
			bad := filepath.Join(t.TempDir(), "bad.jsonl")
			l := mustOpen(t, write(t, "l.csv", head+strings.Join(lines, "")), Options{BadRows: bad})
			if l.Len() != len(rows)-1 {
				t.Errorf("%d of %d good rows", l.Len(), len(rows)-1)
			}
			b, err := os.ReadFile(bad)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range c.bad {
				if got := strings.Split(string(b), "\n")[i]; !strings.HasPrefix(got, line) || len(got) > 2000 {
					t.Errorf("%.300s\nwant %s", got, line)
				}
			}
			if c.bad != nil && l.Skipped != len(c.bad) {
				t.Errorf("%d bad rows, want %d: %.300s", l.Skipped, len(c.bad), b)
			}
		})
	}
}

// A cache is used while the file is the same, and only then; a damaged one is made again.
func TestCache_ServesWhileTheFileIsTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.csv")
	writeAs(t, path, "csv", newWorld(3, 3, 1), 50)
	cache := filepath.Join(filepath.Dir(path), ".l.csv.opl-cache")
	first := mustOpen(t, path, Options{})
	made, err := os.ReadFile(cache)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(cache)
	mustOpen(t, path, Options{})
	if after, err := os.Stat(cache); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Error("the cache was made again")
	}
	for at := 0; at < len(made); at += 151 {
		broken := slices.Clone(made)
		broken[at] ^= 4
		if err := os.WriteFile(cache+".new", broken, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(cache+".new", cache); err != nil {
			t.Fatal(err)
		}
		if l := mustOpen(t, path, Options{}); l.Hash() != first.Hash() || l.Len() != 50 {
			t.Fatalf("byte %d changed: another log", at)
		}
		if again, err := os.ReadFile(cache); err != nil || !bytes.Equal(again, made) {
			t.Fatalf("byte %d changed: the cache was not made again", at)
		}
	}
	for _, keep := range []int{0, 7, 100, len(made) - 1} {
		if err := os.WriteFile(cache+".new", made[:keep], 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(cache+".new", cache); err != nil {
			t.Fatal(err)
		}
		if l := mustOpen(t, path, Options{}); l.Hash() != first.Hash() {
			t.Fatalf("cut to %d: another log", keep)
		}
	}
	// The same size and time, another content.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-2] ^= 1
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if l := mustOpen(t, path, Options{}); l.Hash() == first.Hash() {
		t.Error("a stale cache was used")
	}
	// Another time, the same content.
	before, _ = os.Stat(cache)
	if err := os.Chtimes(path, info.ModTime().Add(9e9), info.ModTime().Add(9e9)); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path, Options{})
	if after, err := os.Stat(cache); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Error("the cache was made again though the content is the same")
	}
}

// Where the folder does not take a cache, it goes elsewhere; where it was asked for and
// cannot be, that is an error.
func TestCache_GoesElsewhereWhereTheFolderRefuses(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	path := write(t, "l.csv", "action,reward\n0,1\n1,1\n")
	// A folder in the cache's place, which nothing can replace, even for root.
	if err := os.MkdirAll(filepath.Join(filepath.Dir(path), ".l.csv.opl-cache", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if l := mustOpen(t, path, Options{}); l.Len() != 2 {
		t.Error(l.Len())
	}
	if found, err := filepath.Glob(filepath.Join(home, "opl", "*.opl-cache")); err != nil || len(found) != 1 {
		t.Errorf("in the user's cache folder: %v %v", found, err)
	}
	t.Setenv("XDG_CACHE_HOME", path) // no folder
	if l := mustOpen(t, path, Options{}); l.Len() != 2 {
		t.Error(l.Len())
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := Open(context.Background(), path, Options{Cache: filepath.Join(path, "c")}); err == nil || !strings.Contains(err.Error(), "there is no such folder") {
		t.Error(err)
	}
}

// What is to be written must not be written over the log, nor over a file of something
// else, and what is no file is refused with a reason.
func TestOpen_WritesOverNoOtherFile(t *testing.T) {
	const text = "action,reward\n0,1\n1,7\n1,1\n"
	path := write(t, "l.csv", text)
	dir := filepath.Dir(path)
	other := write(t, "notes.txt", "notes")
	if err := os.Symlink(path, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		o    Options
		want string
	}{
		{path, Options{BadRows: path}, "setting skip-bad " + path + " would write over the log"},
		{path, Options{BadRows: filepath.Join(dir, "link")}, "would write over the log"},
		{path, Options{Cache: path}, "setting cache " + path + " would write over the log"},
		{path, Options{BadRows: dir}, "is a folder"},
		{path, Options{BadRows: filepath.Join(dir, "none", "bad")}, "there is no such folder"},
		{path, Options{BadRows: filepath.Join(dir, "b"), Cache: filepath.Join(dir, ".", "b")}, "are one file"},
		{path, Options{Cache: other, BadRows: filepath.Join(dir, "b")}, "no cache: remove it"},
		{dir, Options{BadRows: path}, "would write over the log"},
		{dir, Options{Cache: other}, "want a folder, for several files"},
		{os.DevNull, Options{Format: "csv"}, "read more than once"},
		{"-", Options{Format: "csv"}, "standard input: it is empty"},
	} {
		if _, err := Open(context.Background(), c.path, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.path, err, c.want)
		}
	}
	for file, want := range map[string]string{path: text, other: "notes"} {
		t.Run(file, func(t *testing.T) {
			if b, err := os.ReadFile(file); err != nil || string(b) != want {
				t.Errorf("%q %v", b, err)
			}
		})
	}
	// A cache of its own is made, and made again.
	cache := filepath.Join(dir, "own")
	for range 2 {
		mustOpen(t, path, Options{Cache: cache, BadRows: filepath.Join(dir, "b")})
		if err := os.WriteFile(path, []byte(text+"0,0\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Reading stops when it is told to.
func TestOpen_StopsWhenCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.csv")
	writeAs(t, path, "csv", newWorld(1, 2, 1), 2000)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Open(ctx, path, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A policy given as the logging policy fills all propensities, and must agree with those
// that were logged.
func TestLoggingPolicy_FillsAllPropensities(t *testing.T) {
	path := write(t, "l.csv", "action,reward,propensity,x_a\n0,1,0.25,1\n1,0,0.1,9\n")
	policy := func(x []features.Value, _ []Offer, dst []float64) error {
		dst[0] = 0.25
		if x[0].Number == 9 {
			dst[0] = 0.9
		}
		dst[1] = 1 - dst[0]
		return nil
	}
	l := mustOpen(t, path, Options{Logging: policy})
	if !slices.Equal(l.Propensities, []float64{0.25, 0.75, 0.9, 1 - l.Propensities[2]}) {
		t.Error(l.Propensities)
	}
	path = write(t, "l.csv", "action,reward,propensity,x_a\n0,1,0.25,1\n1,0,0.2,9\n")
	if _, err := Open(context.Background(), path, Options{Logging: policy}); err == nil || !strings.Contains(err.Error(), "row 2, column propensity: 0.2 was logged") {
		t.Error(err)
	}
}

// Estimated propensities are near the true ones, and are known to be estimates.
func TestEstimate_ComesNearTruePropensities(t *testing.T) {
	w := newWorld(3, 3, 5)
	rows := draw(w, 4000)
	truth := make([][]float64, len(rows))
	for i := range rows {
		truth[i] = rows[i].Propensities
		rows[i].Propensities, rows[i].Propensity = nil, 0
	}
	path := filepath.Join(t.TempDir(), "l.csv")
	save(t, path, WriterOptions{Actions: w.actions, Names: w.names}, rows)
	l := mustOpen(t, path, Options{Estimate: true})
	if !l.Estimated {
		t.Error("not marked as estimated")
	}
	var off, far float64
	for i, pi := range truth {
		var sum float64
		for a, p := range pi {
			q := l.Propensities[i*3+a]
			off += math.Abs(q - p)
			far += math.Abs(1./3 - p)
			sum += q
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("row %d sums to %v", i, sum)
		}
	}
	if n := float64(3 * len(rows)); off/n > 0.03 || far/n < 0.1 {
		t.Errorf("mean error %v, of the uniform policy %v", off/n, far/n)
	}
	if bare := mustOpen(t, path, Options{}); bare.Estimated || bare.Propensity != nil {
		t.Error("estimated without being asked")
	}
	_, err := mustOpen(t, path, Options{}).Encode(nil)
	if err == nil || !strings.Contains(err.Error(), "setting estimate-propensity") {
		t.Error(err)
	}
}

// An encoder has the vocabulary and the scalings of its rows alone.
func TestFitEncoder_ReadsItsRowsAlone(t *testing.T) {
	l := mustOpen(t, write(t, "l.csv", "action,reward,propensity,x_c,x_n\n0,1,1,red,2\n1,1,1,blue,-4\n1,1,1,green,100\n"), Options{})
	rows := []int{0, 1}
	e, err := l.FitEncoder(rows, Scaling{Intercept: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(e.Names, []string{"x_c=red", "x_n", "x_c=blue"}) || !slices.Equal(e.Scale, []float64{1, 0.25, 1}) {
		t.Errorf("%q %v", e.Names, e.Scale)
	}
	b, err := l.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	x, x32 := make([]float64, 4), make([]float32, 4)
	b.X.Row64(2, x)
	b.X.Row32(0, x32)
	if !slices.Equal(x, []float64{0, 25, 0, 1}) || !slices.Equal(x32, []float32{1, 0.5, 0, 1}) || b.X.Norm(2) != math.Sqrt(626) {
		t.Errorf("%v %v %v", x, x32, b.X.Norm(2))
	}
	if e, err = l.FitEncoder(rows, Scaling{Kind: "standard"}); err != nil || !slices.Equal(e.Center, []float64{0, -1, 0}) || !slices.Equal(e.Scale, []float64{1, 1. / 3, 1}) {
		t.Errorf("%v %v %v", e.Center, e.Scale, err)
	}
	sub, err := l.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	if sub = sub.Subset([]int{2, 0}); sub.Keys[1] != l.Keys[0] || sub.Action[0] != 1 || sub.Context(0) != 2 || sub.Check() != nil {
		t.Errorf("%+v: %v", sub, sub.Check())
	}
	if _, err := l.FitEncoder(nil, Scaling{Kind: "other"}); err == nil {
		t.Error("scaling other")
	}
}

// gz packs a text.
func gz(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A cache beside a packed log, and the same hash as unpacked.
func TestCache_LiesBesideAPackedLog(t *testing.T) {
	text := "action,reward\n0,1\n1,1\n"
	if a, b := mustOpen(t, write(t, "l.csv", text), Options{}), mustOpen(t, write(t, "l.csv.gz", gz(t, text)), Options{}); a.Hash() != b.Hash() {
		t.Error("hashes differ")
	}
}

// A null among the numbers of a Parquet list is an error: without it the numbers after
// it would change places. A list that is null or empty is none.
func TestParquet_RefusesANullAmongNumbers(t *testing.T) {
	type row struct {
		Action  int32      `parquet:"action"`
		Reward  float64    `parquet:"reward"`
		Context []*float64 `parquet:"context,optional,list"`
	}
	one := 1.0
	rows := []row{{0, 1, []*float64{&one, &one}}, {1, 0, nil}, {1, 0, []*float64{}}}
	path := filepath.Join(t.TempDir(), "l.parquet")
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
	l := mustOpen(t, path, Options{})
	if l.Len() != 3 || contextOf(l, 0) != "0:1 1:1" || contextOf(l, 2) != "" {
		t.Errorf("%d rows, contexts %q, %q", l.Len(), contextOf(l, 0), contextOf(l, 2))
	}
	path = filepath.Join(t.TempDir(), "l.parquet")
	if err := parquet.WriteFile(path, append(rows, row{0, 1, []*float64{nil, &one}})); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), path, Options{}); err == nil || !strings.Contains(err.Error(), "row 4, column context: null among the numbers") {
		t.Error(err)
	}
}

// A category that is a whole number has the same name whether a file has integers or, for what is missing, floats.
func TestParquet_NamesCategoriesThatAreWholeNumbersByTheirDigits(t *testing.T) {
	type row struct {
		Action int32   `parquet:"action"`
		Reward float64 `parquet:"reward"`
		Store  float64 `parquet:"x_store"`
	}
	path := filepath.Join(t.TempDir(), "l.parquet")
	if err := parquet.WriteFile(path, []row{{0, 1, 1234567}, {1, 0, 1.5}, {1, 0, 1e300}}); err != nil {
		t.Fatal(err)
	}
	l := mustOpen(t, path, Options{Categories: []string{"x_store"}})
	if got := contextOf(l, 0) + contextOf(l, 1) + contextOf(l, 2); got != "x_store=1234567:1x_store=1.5:1x_store=1e+300:1" {
		t.Error(got)
	}
}

// Rows without a propensity are filled row by row, in every format, by models that have not seen them; what is logged stays,
// and says how good the estimates are.
func TestEstimate_FillsGapsAndKeepsWhatIsLogged(t *testing.T) {
	w := newWorld(3, 3, 5)
	rows := draw(w, 4000)
	truth := slices.Clone(rows)
	for _, c := range []struct {
		name  string
		lacks func(i int, d *Decision)
		all   bool // propensities of all actions are there in the end
	}{
		{"logged", func(i int, d *Decision) {
			if d.Propensities = nil; i%3 == 0 {
				d.Propensity = 0
			}
		}, false},
		{"all", func(i int, d *Decision) {
			if i%3 == 1 {
				d.Propensity, d.Propensities = 0, nil
			}
		}, true},
		{"all but the logged one", func(i int, d *Decision) {
			if i%3 == 1 {
				d.Propensities = nil
			}
		}, true},
	} {
		lines := []string{}
		for i := range rows {
			d := truth[i]
			c.lacks(i, &d)
			line := fmt.Sprintf(`{"decision_id":%q,"action":%q,"cost":%v`, d.ID, w.actions[d.Action], d.Cost)
			if d.Propensity > 0 {
				line += fmt.Sprintf(`,"propensity":%v`, d.Propensity)
			}
			if d.Propensities != nil {
				line += fmt.Sprintf(`,"propensities":{%q:%v,%q:%v,%q:%v}`, w.actions[0], d.Propensities[0], w.actions[1], d.Propensities[1], w.actions[2], d.Propensities[2])
			}
			line += `,"context":{`
			for j, v := range d.Context {
				if j > 0 {
					line += ","
				}
				line += fmt.Sprintf("%q:%v", v.Name, v.Number)
			}
			lines = append(lines, line+"}}")
		}
		path := write(t, "l.jsonl", strings.Join(lines, "\n"))
		if c.name == "all" { // as columns with empty cells, the first row's too
			lines = []string{"decision_id,action,cost,p_" + strings.Join(w.actions, ",p_") + ",x_" + strings.Join(w.names, ",x_")}
			for i := range rows {
				d := truth[(i+1)%len(rows)]
				if c.lacks(i+1, &d); d.Propensities == nil {
					d.Propensities = []float64{math.NaN(), math.NaN(), math.NaN()}
				}
				line := fmt.Sprintf("%s,%s,%v", d.ID, w.actions[d.Action], d.Cost)
				for _, p := range d.Propensities {
					line += strings.Replace(fmt.Sprintf(",%v", p), "NaN", "", 1)
				}
				x := make([]float64, len(w.names))
				for _, v := range d.Context {
					x[slices.Index(w.names, v.Name)] = v.Number
				}
				for _, v := range x {
					line += fmt.Sprintf(",%v", v)
				}
				lines = append(lines, line)
			}
			l := mustOpen(t, write(t, "l.csv", strings.Join(lines, "\n")), Options{Estimate: true, Actions: w.actions})
			if l.Check() != nil || l.Estimates.Rows < 1300 || l.Estimates.Error > .02 {
				t.Errorf("as CSV: %v, %+v", l.Check(), *l.Estimates)
			}
		}
		if _, err := Open(context.Background(), path, Options{}); err == nil || !strings.Contains(err.Error(), "propensit") {
			t.Errorf("%s: read without being asked to estimate: %v", c.name, err)
		}
		l := mustOpen(t, path, Options{Estimate: true, Actions: w.actions})
		if err := l.Check(); err != nil {
			t.Fatal(c.name, err)
		}
		if !l.Estimated || l.Estimates == nil || (l.Propensities != nil) != c.all {
			t.Fatalf("%s: %+v, all: %v", c.name, l.Estimates, l.Propensities != nil)
		}
		var off, far float64
		gaps := 0
		for i := range truth {
			d := truth[i]
			c.lacks(i, &d)
			for a, p := range truth[i].Propensities {
				switch {
				case d.Propensity > 0 && a == d.Action && math.Abs(l.Propensity[i]-d.Propensity) > 1e-9:
					t.Fatalf("%s: row %d: the logged %v became %v", c.name, i, d.Propensity, l.Propensity[i])
				case d.Propensities != nil && math.Abs(l.Propensities[3*i+a]-p) > 1e-9:
					t.Fatalf("%s: row %d: a logged propensity became another", c.name, i)
				case c.all && d.Propensities == nil || !c.all && d.Propensity == 0 && a == d.Action:
					q := l.Propensity[i]
					if c.all {
						q = l.Propensities[3*i+a]
					}
					off, far = off+math.Abs(q-p), far+math.Abs(1./3-p)
					gaps++
				}
			}
		}
		if n := float64(gaps); off/n > 0.03 || far/n < 0.1 {
			t.Errorf("%s: mean error %v, of the uniform policy %v", c.name, off/n, far/n)
		}
		e := l.Estimates
		want := 0
		for i := range truth {
			d := truth[i]
			if c.lacks(i, &d); d.Propensity == 0 || c.all && d.Propensities == nil {
				want++
			}
		}
		if e.Rows != want || e.Known > 0 && !(e.Within > 1 && e.Within < 1.5) || e.Error > .02 || math.Abs(e.Z) > 4 {
			t.Errorf("%s: %+v, want %d rows", c.name, *e, want)
		}
	}
}

// Where the rows without a propensity were drawn by another policy, the calibration shows it.
func TestEstimate_ShowsAnotherPolicyInItsCalibration(t *testing.T) {
	w := newWorld(3, 3, 5)
	rows := draw(w, 3000)
	var b strings.Builder
	b.WriteString("action,reward,propensity,x_a\n")
	for i, d := range rows {
		p, a := fmt.Sprint(d.Propensity), d.Action
		if i%4 == 0 {
			p, a = "", 0
		}
		fmt.Fprintf(&b, "%s,%v,%s,%d\n", w.actions[a], -d.Cost, p, i%7)
	}
	l := mustOpen(t, write(t, "l.csv", b.String()), Options{Estimate: true})
	if e := l.Estimates; math.Abs(e.Z) < 10 || e.Error < .1 || !strings.Contains(e.String(), "750 propensities are estimates") {
		t.Errorf("%+v", *l.Estimates)
	}
}

// rewrite changes a file.
func rewrite(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A value that a row does not have is none of its values, and no 0, in every format.
func TestMissing_IsNotZero(t *testing.T) {
	type row struct {
		Action int      `parquet:"action"`
		Reward int      `parquet:"reward"`
		X      *float64 `parquet:"x_a,optional"`
		Y      float64  `parquet:"x_b"`
	}
	zero, one := 0.0, 1.0
	dir := t.TempDir()
	parquetOf(t, filepath.Join(dir, "l.parquet"), []row{{0, 1, &zero, 5}, {1, 0, nil, 0}, {1, 0, &one, 0}, {0, 1, nil, 5}})
	rewrite(t, filepath.Join(dir, "l.csv"), "action,reward,x_a,x_b\n0,1,0,5\n1,0,,0\n1,0,1,0\n0,1,,5\n")
	rewrite(t, filepath.Join(dir, "l.jsonl"), `{"action":0,"reward":1,"x_a":0,"x_b":5}
{"action":1,"reward":0,"x_a":null,"x_b":0}
{"action":1,"reward":0,"x_a":1,"x_b":0}
{"action":0,"reward":1,"x_b":5}
`)
	for _, ending := range []string{"csv", "jsonl", "parquet"} {
		l := mustOpen(t, filepath.Join(dir, "l."+ending), Options{})
		got := ""
		for i := range l.Len() {
			names, values := l.Values(i)
			for j, name := range names {
				got += fmt.Sprintf("%s=%v ", l.Names()[name], values[j])
			}
			got += ";"
		}
		if want := "x_a=0 x_b=5 ;x_b=0 ;x_a=1 x_b=0 ;x_b=5 ;"; got != want {
			t.Errorf("%s: %s, want %s", ending, got, want)
		}
	}
}

// A file that is cut in its last value reads as another value: it is said, and doubted where all other values are longer.
// A brace or a quote shows that the value is whole.
func TestOpen_SaysThatTheLastRowHasNoEnd(t *testing.T) {
	for _, c := range []struct{ name, text, note, doubt string }{
		{"a.csv", "action,propensity,reward\n0,.5,0.25\n1,.5,1\n0,.5,0.5\n", "", ""},
		{"b.csv", "action,propensity,reward\n0,.5,0.25\n1,.5,1\n0,.5,0.5", "row 3, the last, does not end in a newline", ""},
		{"c.csv", "action,propensity,reward\n0,.5,0.25\n1,.5,0.50\n0,.5,0.7", "", "row 3, the last, does not end in a newline"},
		{"d.csv", "action,propensity,reward\n0,.5,0.25\n1,.5,0.50\n0,.5,\"0.7\"", "", ""},
		{"e.jsonl", `{"action":0,"propensity":0.5,"reward":0}` + "\n" + `{"action":1,"propensity":0.5,"reward":1}`, "", ""},
		{"f.vw", "1:0:0.5 | a:1\n2:-1:0.5 | a:1.2", "row 2, the last, does not end in a newline", ""},
		{"g.vw", "shared | a:1\n1:-1:0.5 | b:1\n | b:2\n\nshared | a:2\n1:-1:0.5 | b:1\n | b:3",
			"row 2, the last, does not end in a newline", ""},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		o := Options{}
		if strings.HasSuffix(c.name, "vw") {
			o.Preset = "vw"
		}
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		l := mustOpen(t, path, o)
		for _, x := range []struct {
			said []string
			want string
		}{{l.Notes, c.note}, {l.Cut, c.doubt}} {
			if all := strings.Join(x.said, "\n"); strings.Contains(all, "does not end in a newline") != (x.want != "") ||
				!strings.Contains(all, x.want) {
				t.Errorf("%s: %q, want %q", c.name, all, x.want)
			}
		}
	}
}

// What reads like a number that is too large may be a name: the first digits of a hash, in the first row of a column of names.
func TestOpen_TakesNamesThatReadLikeInfiniteNumbers(t *testing.T) {
	for _, name := range []string{"1e553", "inf"} {
		for _, before := range []string{"", "7,a,1,0.5\n"} {
			l := mustOpen(t, write(t, "l.csv", "x_hash,action,reward,propensity\n"+before+name+",a,1,0.5\nab12,b,0,0.5\nc0de,a,1,0.5\n"), Options{})
			if got, want := contextOf(l, l.Len()-3), "x_hash="+name+":1"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}

// A log with an action that a policy does not know says what is missing.
func TestOpen_SaysThatActionsMustBeNamed(t *testing.T) {
	_, err := Open(t.Context(), write(t, "l.csv", "action,reward,propensity\na,1,0.5\nc,0,0.5\n"), Options{Actions: []string{"a", "b"}})
	if err == nil || !strings.Contains(err.Error(), `row 2, column action: "c" is none of the 2 actions a to b: setting actions must name all`) {
		t.Error(err)
	}
}
