package portable

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/numeric"
	"opl/policies/policyfile"
	"opl/testdata/long"
)

// hostile are categories whose names would break what does not quote them.
var hostile = []string{"O'Brien", `'); DROP TABLE t; --`, `back\slash`, "new\nline", "日本 😀", `quote"d`, "a=b", "/* x */", "%s", "${x}"}

const odd = `we"ird "); x` // the name of a column

// doses are numbers of which neighbouring bins are played together, and one has a probability of its own.
var doses = &numeric.Actions{Edges: []float64{-1000, -999.7, -999, 1e6, 1e6 + 1, 2e6}, Atoms: []float64{.1}, Window: 2}

// drawn is a policy of random trees over hostile names, and rows for it.
func drawn(t *testing.T, seed uint64, components int, floor float64, numbers *numeric.Actions) *policyfile.Policy {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	e := features.Encoder{Impute: seed%2 == 0, Intercept: true}
	add := func(name string, scale, center, width float64) {
		e.Names, e.Scale = append(e.Names, name), append(e.Scale, scale)
		e.Center, e.Width = append(e.Center, center), append(e.Width, width)
	}
	add("x_age", .055, 48.37, 0)
	add(odd, 1.3, 2.06, 8.24)
	add("amount", 1, 0, 0)
	for _, v := range hostile[:8] { // the others are not seen before
		add("city="+v, 1, 0, 0)
	}
	add("flag="+[]string{"true", "True", "TRUE"}[seed%3], 1, 0, 0) // clients write it in any of these ways
	add("flag=1000000", 1, 0, 0)
	if e.Impute {
		e.Missing = []string{odd}
	}
	encoder, err := features.New(e)
	if err != nil {
		t.Fatal(err)
	}
	f := &policyfile.File{Actions: []string{"mail", `c'all"\`, "none; --"}, Floor: floor, RewardMax: 1,
		History: policyfile.History{Known: true}, Numbers: numbers}
	if numbers != nil {
		f.Actions = numbers.Names()
	}
	k := len(f.Actions)
	outputs := []int{0, 1, k - 1}
	for range components {
		forest := &features.Forest{In: encoder.Dim(), Base: make([]float64, k)}
		forest.Base[1] = .1
		for _, o := range outputs {
			first := len(forest.Feature)
			grow(r, forest, encoder, 2+r.IntN(2))
			forest.Outputs = append(forest.Outputs, int32(o))
			forest.Sizes = append(forest.Sizes, int32(len(forest.Feature)-first))
		}
		f.Components = append(f.Components, policyfile.Component{Weight: 1 / float64(components), Kind: policyfile.ArgMax,
			Encoder: encoder, Layers: []features.Layer{{Trees: forest}}, Weights: identity(k)})
	}
	p, err := policyfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func identity(k int) policyfile.Matrix {
	m := make(policyfile.Matrix, k)
	for a := range m {
		m[a] = make([]float64, k)
		m[a][a] = 1
	}
	return m
}

// grow adds a random tree.
func grow(r *rand.Rand, f *features.Forest, e *features.Encoder, depth int) {
	at := len(f.Feature)
	f.Feature, f.Value, f.Right = append(f.Feature, -1), append(f.Value, r.NormFloat64()), append(f.Right, 0)
	if depth == 0 || r.IntN(6) == 0 {
		return
	}
	switch kind := r.IntN(7); {
	case kind == 6: // a category whose name is a number
		f.Feature[at], f.Value[at] = 12, .5
	case kind < 3: // a number
		f.Feature[at] = int32(kind)
	case kind == 3: // a category, or a flag, as a number
		f.Feature[at], f.Value[at] = int32(3+r.IntN(e.Dim()-3)), .5
	default:
		set := []int32{}
		for j := int32(3); j < 11; j++ {
			if r.IntN(3) == 0 {
				set = append(set, j)
			}
		}
		if len(set) == 0 && e.Missing != nil {
			set = []int32{int32(len(e.Names))}
		} else if len(set) == 0 {
			set = []int32{4}
		}
		f.Sets = append(f.Sets, set)
		f.Feature[at], f.Value[at] = int32(-1-len(f.Sets)), 0
	}
	grow(r, f, e, depth-1)
	f.Right[at] = int32(len(f.Feature) - at)
	grow(r, f, e, depth-1)
}

// context draws a context as it is logged; nil is a missing value.
func context(r *rand.Rand) map[string]any {
	x := map[string]any{"x_age": float64(18 + r.IntN(60)), odd: math.Exp(3 * r.NormFloat64()), "amount": r.NormFloat64()}
	for name := range x {
		if r.IntN(5) == 0 {
			x[name] = nil
		}
	}
	x["city"], x["flag"] = nil, nil
	if i := r.IntN(len(hostile) + 1); i < len(hostile) {
		x["city"] = hostile[i]
	}
	if i := r.IntN(4); i > 0 {
		x["flag"] = []any{[]string{"true", "True", "TRUE"}[r.IntN(3)], "false", 1e6}[i-1]
	}
	return x
}

// values are what the policy file reads of a context.
func values(x map[string]any) (v []features.Value) {
	for _, name := range []string{"x_age", odd, "amount", "city", "flag"} {
		switch u := x[name].(type) {
		case float64:
			if name == "flag" {
				name += "=1000000"
				u = 1
			}
			v = append(v, features.Value{Name: name, Number: u})
		case string:
			v = append(v, features.Value{Name: name + "=" + u, Number: 1})
		}
	}
	return v
}

type policyCase struct {
	name string
	*policyfile.Policy
	tree *Tree
}

func cases(t *testing.T) (all []policyCase) {
	for seed := range uint64(8) {
		for _, c := range []struct {
			components int
			floor      float64
			numbers    *numeric.Actions
		}{{1, 0, nil}, {1, .05, nil}, {2, .1, nil}, {2, 0, nil}, {1, 0, doses}, {2, .1, doses}} {
			p := drawn(t, seed, c.components, c.floor, c.numbers)
			tree, err := New(p)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, policyCase{fmt.Sprintf("seed %d, %d components, floor %v", seed, c.components, c.floor), p, tree})
		}
	}
	return all
}

// chosen is the action for a uniform draw, and its propensity, by the policy file; of numbers the number, its density
// and its propensity, nil for none.
func (c policyCase) chosen(t *testing.T, x map[string]any, u float64) answer {
	t.Helper()
	all := make([]float64, c.Len())
	if err := c.Propensities(all, values(x)); err != nil {
		t.Fatal(err)
	}
	var sum, before float64
	last := 0
	for a, v := range all {
		if v > 0 {
			if sum, before, last = sum+v, sum, a; u < sum {
				break
			}
		}
	}
	of := c.File().Numbers
	switch {
	case of == nil:
		return answer{c.Name(last), all[last]}
	case last < of.Bins():
		number, density := of.Draw(last, all[last], (u-before)/all[last])
		return answer{number, density, nil}
	}
	return answer{of.Center(last), nil, all[last]}
}

// sample is a row of the test, in JSON for programs of other languages.
type sample struct {
	X map[string]any `json:"x"`
	U float64        `json:"u"`
}

type answer []any

// is reports that an answer is another but for rounding; none is 0 in Go.
func (a answer) is(b answer) bool {
	return slices.EqualFunc(a, b, func(x, y any) bool {
		v, one := cmp.Or(x, any(0.)).(float64)
		w, other := cmp.Or(y, any(0.)).(float64)
		return x == y || one && other && math.Abs(v-w) <= 1e-12*max(1, math.Abs(w))
	})
}

// TestExports_AnswerAsThePolicyFile runs what is exported, on 10⁵ rows: Go by the go tool, Python and SQL in SQLite
// by python3 where there is one.
func TestExports_AnswerAsThePolicyFile(t *testing.T) {
	long.Test(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("no python3: Python and SQL are not run")
	}
	r := rand.New(rand.NewPCG(1, 1))
	all := cases(t)
	for i, c := range all {
		n := 100_000 / len(all)
		rows, want := make([]sample, n), make([]answer, n)
		for i := range rows {
			rows[i] = sample{context(r), r.Float64()}
			want[i] = c.chosen(t, rows[i].X, rows[i].U)
		}
		dir := t.TempDir()
		data, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "rows.json"), string(data))
		check := func(how string, out []byte, err error) {
			t.Helper()
			var got []answer
			if err == nil {
				err = json.Unmarshal(out, &got)
			}
			if err != nil || len(got) != n {
				t.Fatalf("%s: %s: %d answers, %v: %.2000s", c.name, how, len(got), err, out)
			}
			for i, g := range got {
				if !g.is(want[i]) {
					t.Fatalf("%s: %s: row %v: %+v, want %+v", c.name, how, rows[i], g, want[i])
				}
			}
		}
		if i%12 == 1 || i == 4 || i == 11 { // compiled
			check("go", goRun(t, dir, c.tree), nil)
		}
		if python == "" {
			continue
		}
		write(t, filepath.Join(dir, "policy.py"), text(t, c.tree, "python"))
		write(t, filepath.Join(dir, "run.py"), runPython)
		out, err := output(exec.Command(python, filepath.Join(dir, "run.py"), dir))
		check("python", out, err)
		write(t, filepath.Join(dir, "policy.sql"), text(t, c.tree, "sql"))
		write(t, filepath.Join(dir, "sql.py"), runSQL)
		out, err = output(exec.Command(python, filepath.Join(dir, "sql.py"), dir))
		check("sql", out, err)
	}
}

func output(c *exec.Cmd) ([]byte, error) {
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return out, err
}

const runPython = `import json, sys
sys.path.insert(0, sys.argv[1])
import policy
def context(x):  # what is missing is so in three ways
    return {k: (float("nan") if k == "amount" and v is None else float(v) if type(v) is int else v) for k, v in x.items() if v is not None or k != "city"}
out = [policy.choose(context(r["x"]), r["u"]) for r in json.load(open(sys.argv[1] + "/rows.json"))]
print(json.dumps(out))
`

const runSQL = `import json, sqlite3, sys
rows = json.load(open(sys.argv[1] + "/rows.json"))
columns = sorted(rows[0]["x"])
quote = lambda s: '"' + s.replace('"', '""') + '"'
db = sqlite3.connect(":memory:")
db.execute("create table t (n integer, u real, %s)" % ", ".join(quote(c) + (" text" if c in ("city", "flag") else " real") for c in columns))
db.executemany("insert into t values (%s)" % ", ".join("?" * (len(columns) + 2)),
    [[n, r["u"]] + [r["x"][c] for c in columns] for n, r in enumerate(rows)])
out = db.execute("select " + open(sys.argv[1] + "/policy.sql", newline="").read() + " from t order by n").fetchall()
print(json.dumps([r if len(r) > 1 else (r[0], 1) for r in out]))
`

const runGo = `package main

import (
	"encoding/json"
	"fmt"
	"os"

	"exported/policy"
)

func main() {
	var rows []struct {
		X map[string]any
		U float64
	}
	data, err := os.ReadFile("rows.json")
	if err == nil {
		err = json.Unmarshal(data, &rows)
	}
	if err != nil {
		panic(err)
	}
	var out [][]any
	for _, r := range rows {
		action, p := policy.Choose(r.X, r.U)
		out = append(out, []any{action, p})
	}
	json.NewEncoder(os.Stdout).Encode(out)
	// Numbers of every type are read, and true is 1.
	a := fmt.Sprint(policy.Propensities(map[string]any{"x_age": int64(30), "amount": true, "flag": uint32(1000000)}))
	if b := fmt.Sprint(policy.Propensities(map[string]any{"x_age": 30., "amount": 1., "flag": "1000000"})); a != b {
		panic(a + " and " + b)
	}
}
`

func goRun(t *testing.T, dir string, tree *Tree) []byte {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "policy"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.mod"), "module exported\n\ngo 1.21\n")
	main := runGo
	if tree.Numbers != nil {
		main = strings.ReplaceAll(main, "action, p", "action, density, p")
	}
	write(t, filepath.Join(dir, "main.go"), main)
	write(t, filepath.Join(dir, "policy", "policy.go"), text(t, tree, "go"))
	c := exec.Command("go", "run", ".")
	c.Dir = dir
	out, err := output(c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, path, s string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, tree *Tree, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := tree.Write(&b, format, `u"draw`); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), `"u""draw"`, `"u"`)
}

func TestWalk_SaysOfAColumnWhatIsKnownOfIt(t *testing.T) {
	leaf := &Node{Propensities: []float64{1, 0}}
	ask := func(c Condition, yes, no *Node) *Node { return &Node{Condition: c, Yes: yes, No: no} }
	for _, c := range []struct {
		tree *Node
		yes  []bool // the answers, in turn
		want string
	}{
		{ask(Condition{Column: "city", In: []string{"Oslo", "Rome"}}, ask(Condition{Column: "city", In: []string{"Oslo"}}, leaf,
			leaf), leaf), []bool{true, false}, "city is Rome"},
		{ask(Condition{Column: "city", In: []string{"Oslo"}}, leaf, ask(Condition{Column: "city", In: []string{"Rome"}}, leaf,
			leaf)), []bool{false, false}, "city is not Oslo or Rome"},
		{ask(Condition{Column: "city", In: []string{"Oslo"}}, leaf, ask(Condition{Column: "city", In: []string{"Rome"}}, leaf,
			leaf)), []bool{false, true}, "city is Rome"},
		{ask(Condition{Column: "age", AtMost: 1, OrMissing: true}, leaf, ask(Condition{Column: "age", AtMost: 2}, leaf, leaf)),
			[]bool{false, false}, "age > 2"},
		{ask(Condition{Column: "age", AtMost: 1}, leaf, ask(Condition{Column: "age", AtMost: 2}, leaf, leaf)),
			[]bool{false, false}, "age > 2 or missing"},
		{ask(Condition{Column: "age", AtMost: 3}, ask(Condition{Column: "age", AtMost: 2}, leaf, leaf), leaf),
			[]bool{true, false}, "age <= 3, age > 2"},
	} {
		at := -1
		_, way := c.tree.Walk(func(Condition) bool { at++; return c.yes[at] })
		if got := strings.Join(way, ", "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Bins that are hardly wider than the distance of two numbers have a line of SQL, too, which stays within them.
func TestSQL_NumbersStayWithinNarrowBins(t *testing.T) {
	tree := &Tree{Numbers: &numeric.Actions{Edges: []float64{1e16, 1e16 + 2, 1e16 + 6}}}
	for a := range 2 {
		if got, want := tree.sqlNumber(step{a, 0, .5, .5}, "u"), []string{"1e+16 + (u - 0) * 0", "1.0000000000000002e+16 + (u - 0) * "}[a]; !strings.HasPrefix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// What runs beside the log's own table asks for the names that are there.
func TestNew_NamesColumnsAsTheLogDid(t *testing.T) {
	f := *drawn(t, 3, 2, .1, nil).File()
	f.Columns = map[string]string{"x_age": "alter", "amount": "x_age", "action": "arm"}
	p, err := policyfile.New(&f)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Within(p, mostLeaves)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	tree.Root.each(func(n *Node) { got = append(got, n.Condition.Column) })
	plain.Root.each(func(n *Node) { want = append(want, cmp.Or(f.Columns[n.Condition.Column], n.Condition.Column)) })
	if !slices.Equal(got, want) || !slices.Contains(got, "alter") {
		t.Errorf("%q, want %q", got, want)
	}
}

// A column of draws that contexts have, too, would be no draw, whether the tree reads it or not.
func TestSQL_RefusesDrawsFromAColumnOfContexts(t *testing.T) {
	tree, err := New(drawn(t, 3, 2, .1, nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, draw := range []string{"X_AGE", "City"} {
			if err := tree.Write(io.Discard, "sql", draw); err == nil || !strings.Contains(err.Error(), "have a column") {
				t.Errorf("%s: %v", draw, err)
			}
		}
		tree.Root = &Node{Propensities: []float64{.5, .3, .2}} // reads nothing
	}
	if err := tree.Write(io.Discard, "sql", "u"); err != nil {
		t.Error(err)
	}
}

// numpy's truth values are no bool of Python.
func TestPython_TakesTruthValuesOfNumpy(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	tree, err := New(drawn(t, 3, 2, .1, nil))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "policy.py"), text(t, tree, "python"))
	if out, err := output(exec.Command(python, "-c", `import sys
sys.path.insert(0, sys.argv[1])
import policy
class bool_:
    def __init__(self, v): self.v = v
    def __bool__(self): return self.v
for of in (bool_, bool, type("bool", (bool_,), {})):
    assert (policy._name(of(1 > 0)), policy._name(of(1 < 0))) == ("true", "false"), of`, dir)); err != nil {
		t.Errorf("%s %v", out, err)
	}
}

func TestWithin_RefusesTreesOfMoreLeaves(t *testing.T) {
	p := drawn(t, 3, 2, .1, nil)
	tree, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := Within(p, mostLeaves); err != nil || !reflect.DeepEqual(same, tree) {
		t.Errorf("within %d leaves: %v, or another tree than New's", mostLeaves, err)
	}
	if _, err := Within(p, tree.Root.Leaves()-1); !errors.Is(err, ErrNoTree) {
		t.Errorf("a tree of %d leaves is within %d: %v", tree.Root.Leaves(), tree.Root.Leaves()-1, err)
	}
}
