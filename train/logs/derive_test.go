package logs

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Of two actions the propensity of the other is 1 less the logged one's, unless more could have been drawn.
func TestPaired_AreLogsOfTwoActionsAlone(t *testing.T) {
	const head, rows = "action,reward,propensity\n", "a,1,.25\nb,0,.5\na,1,1\n"
	l := mustOpen(t, write(t, "l.csv", head+rows), Options{})
	if want := []float64{.25, .75, .5, .5, 1, 0}; !l.Paired() || !reflect.DeepEqual(l.Propensities, want) {
		t.Errorf("%v, want %v", l.Propensities, want)
	}
	var d Decision
	if l.Decision(0, &d); d.Propensities != nil || d.Propensity != .25 {
		t.Errorf("%+v is not what the file has", d)
	}
	if turned, err := l.WithActions([]string{"b", "a"}); err != nil || !turned.Paired() || turned.Pi0(0)[1] != .25 {
		t.Errorf("%v %v", turned, err)
	}
	for name, c := range map[string]struct {
		text string
		o    Options
	}{
		"three actions":      {head + rows + "c,0,.1\n", Options{}},
		"a third is listed":  {head + rows, Options{Actions: []string{"a", "b", "c"}}},
		"bad rows":           {head + rows + ",1,.5\n", Options{BadRows: t.TempDir() + "/bad.csv"}},
		"all are logged":     {"action,reward,p_a,p_b\na,1,.25,.75\nb,0,.5,.5\n", Options{}},
		"none is":            {"action,reward\na,1\nb,0\n", Options{}},
		"the policy is told": {head + "a,1,.5\nb,1,.5\n", Options{LoggingPolicy: "uniform"}},
	} {
		if l := mustOpen(t, write(t, "l.csv", c.text), c.o); l.Derived() {
			t.Errorf("%s: %v", name, l.Propensities)
		}
	}
}

// Where each action has one propensity, and these sum to 1, all rows have them; so have sets that are drawn from evenly.
func TestDerived_AreLogsDrawnAlikeInAllContexts(t *testing.T) {
	const sets = `{"offered":["a","c"],"action":"c","propensity":0.5,"reward":1}` + "\n" +
		`{"offered":["a","c"],"action":"a","propensity":0.5,"reward":0}` + "\n"
	const jsonl = `{"offered":["a","b","c","d"],"action":"b","propensity":0.25,"reward":1}` + "\n" +
		`{"offered":["a","c"],"action":"a","propensity":0.5,"reward":0}` + "\n"
	const head = "action,reward,propensity\n"
	for name, c := range map[string]struct {
		file, text string
		o          Options
		want       []float64
	}{
		"one an action": {"l.csv", head + "a,1,.5\nb,0,.3\nc,0,.2\na,1,.5\n", Options{},
			[]float64{.5, .3, .2, .5, .3, .2, .5, .3, .2, .5, .3, .2}},
		"uniform, one never drawn": {"l.csv", head + "a,1,.25\nb,0,.25\nc,0,.25\n",
			Options{Actions: []string{"a", "b", "c", "d"}}, nil},
		"an action that cannot be drawn": {"l.csv", head + "a,1,.5\nb,0,.5\n",
			Options{Actions: []string{"a", "b", "c"}}, nil},
		"one rarely drawn": {"l.csv", head + strings.Repeat("a,1,.5\n", 6) + "b,0,.5\n", Options{}, nil},
		"one drawn for a group": {"l.csv", "action,reward,propensity,group\n" + strings.Repeat("a,1,.5,1\n", 6) + "b,0,.5,2\n",
			Options{}, slices.Repeat([]float64{.5}, 14)},
		"bad rows":              {"l.csv", head + "a,1,.5\nb,0,.5\nb,,.5\n", Options{BadRows: t.TempDir() + "/bad.csv"}, nil},
		"even sets":             {"l.jsonl", sets, Options{}, []float64{.5, .5, .5, .5}},
		"sets, one never drawn": {"l.jsonl", jsonl, Options{}, nil},
		"an action is missing":  {"l.csv", head + "a,1,.5\nb,0,.3\nc,0,.1\n", Options{}, nil},
		"of two":                {"l.csv", head + "a,1,.5\nb,0,.3\na,1,.5\n", Options{}, nil},
		"one action has two":    {"l.csv", head + "a,1,.5\nb,0,.3\nc,0,.2\na,1,.4\n", Options{}, nil},
		"sets, not evenly":      {"l.jsonl", strings.Replace(sets, "0.5", "0.4", 1), Options{}, nil},
	} {
		l := mustOpen(t, write(t, c.file, c.text), c.o)
		if !reflect.DeepEqual(l.Propensities, c.want) || l.Derived() != (c.want != nil) || l.Paired() {
			t.Errorf("%s: %v, want %v", name, l.Propensities, c.want)
		}
		if err := l.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A least propensity that is said is at least that of no row, and one that K actions can have.
func TestOpen_RefusesALeastPropensityThatCannotBe(t *testing.T) {
	const text = "action,reward,propensity\na,1,.5\nb,0,.3\nc,0,.1\n"
	if l := mustOpen(t, write(t, "l.csv", text), Options{Least: .1}); l.Floor() != .1 || !l.LoggedOnly() {
		t.Errorf("floor %v", l.Floor())
	} else if wider, err := l.WithActions([]string{"a", "b", "c", "d"}); err != nil || wider.Floor() != 0 {
		t.Errorf("beside another action the floor is %v, %v", wider.Floor(), err)
	}
	for _, text := range []string{ // an action without rows; rows of a group are one draw
		"action,reward,propensity\n" + strings.Repeat("a,1,.7\n", 100),
		"action,reward,propensity,group\nb,1,.3,2\n" + strings.Repeat("a,1,.7,1\n", 100),
	} {
		if l := mustOpen(t, write(t, "l.csv", text), Options{Least: .3, Actions: []string{"a", "b"}}); l.Floor() != .3 {
			t.Errorf("floor %v", l.Floor())
		}
	}
	for want, c := range map[string]struct {
		text  string
		least float64
	}{
		"row 3, column propensity: 0.1 is below 0.2":         {text, .2},
		"row 1, column propensity: 0.9 leaves less than 0.3": {"action,reward,propensity\na,1,.9\nb,0,.3\n", .3},
		"1 of 101 draws are of action \"b\", and 0.3 in each row would be about 30: rows are missing": {
			"action,reward,propensity\nb,1,.3\n" + strings.Repeat("a,1,.7\n", 100), .3},
		"3 actions cannot have 0.4 each":                     {text, .4},
		"cannot have -1 each":                                {text, -1},
		"cannot have NaN each":                               {text, math.NaN()},
		"is for rows that offer the same named actions: log": {"offered,action,reward,propensity\n\"[\"\"a\"\",\"\"b\"\"]\",a,1,.4\n", .1},
	} {
		_, err := Open(t.Context(), write(t, "l.csv", c.text), Options{Least: c.least})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %s", err, want)
		}
	}
}
