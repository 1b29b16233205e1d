package ope

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"gonum.org/v1/gonum/floats"

	"opl/policies/policyfile"
	"opl/train/logs"
	"opl/train/provenance"
)

// Target is a policy whose value is asked for, by its probabilities in the rows of
// a log. It must be fixed independently of the log for a guarantee to hold.
type Target struct {
	Name string // what results call it
	// Row writes π(·|x_i), of the actions that the row offers, to dst [Options]; nil: only the
	// logged action's is known.
	Row func(dst []float64, i int) error
	// Logged is π(a_i|x_i) [n], needed where Row is nil.
	Logged []float64
	// Origin says where the target comes from; without it nothing is guaranteed.
	Origin provenance.Origin
	Policy *policyfile.Policy // of a policy file; nil: it is none
	lists  *listed            // that its rows are; nil: rows are decisions of their own
	scores bool               // of a policy file, by WriteScores: only that says which rows had a part in it
	word   string             // what is believed of probabilities by row
	even   bool               // it is Uniform, of the actions that the log has
}

// among is the target in some rows of its log.
func (t Target) among(rows []int) Target {
	out := t
	out.lists = t.lists.among(rows)
	if t.Row != nil {
		out.Row = func(dst []float64, i int) error { return t.Row(dst, rows[i]) }
		return out
	}
	out.Logged = logs.Pick(t.Logged, rows)
	return out
}

// Uniform makes the target that takes every action alike, or every one that a row offers: the
// yardstick that needs no file.
func Uniform() Target {
	return Target{Name: "uniform", even: true, Origin: provenance.FixedBefore(), Row: func(dst []float64, _ int) error {
		for a := range dst {
			dst[a] = 1 / float64(len(dst))
		}
		return nil
	}}
}

// Matrix makes the target of probabilities pi [n×k] by row, for callers that computed them.
func Matrix(name string, pi []float64, k int) Target {
	return Target{Name: name, Row: func(dst []float64, i int) error { copy(dst[:k], pi[i*k:]); return nil }}
}

// ReadTarget reads a target's probabilities. Its rows are one of
//
//	action, probability                     the same policy in every context; other actions have 0
//	p_0 … p_{K−1}                           by row of the log, of actions that are numbers, or in an order that was given
//	one field for each action, by its name  the same
//	p_NAME, one for each action             the same
//	probabilities or propensities           the same, as a list
//	probability                             of the logged action alone, by row of the log
//
// Of a log whose rows offer sets, and of one of a catalogue but for the first form, they are a list
// probabilities, of what the row offers in its order, or probability. Those by row belong to the
// row of the same decision_id if both have one, which must then be there for every row of the log,
// and otherwise to the rows in order, of which there must be as many. Probabilities of all actions
// must sum to 1 within 1e-6. Without them there is no direct method, and no doubly robust one.
func ReadTarget(name string, r *logs.Rows, l *logs.Log) (Target, error) {
	t, err := readTarget(r, l)
	t.Name = name
	return t, cmp.Or(r.Err(), err)
}

func readTarget(r *logs.Rows, l *logs.Log) (t Target, err error) {
	if !r.Next() {
		return Target{}, fmt.Errorf("%s: no rows", r.Where())
	}
	scores, k := r.Has("logged_action"), l.K()
	if r.Has("action") && r.Has("probability") && !l.Sets() {
		pi, err := byAction(r, l.Actions)
		return Target{scores: scores, Row: func(dst []float64, _ int) error { copy(dst[:k], pi); return nil }}, err
	}
	pi, width, byID, err := probabilities.read(r, l)
	t = Target{scores: scores, word: "its probabilities by row are believed to be of a policy that no row of " +
		"this log taught; " +
		"of one that they did, nothing that is guaranteed here holds"}
	if !byID {
		t.word += "; as rows have no decision_id in both files, they are taken in their order"
	}
	if err != nil {
		return t, err
	}
	if width != 1 {
		t.Row = func(dst []float64, i int) error { copy(dst, pi[i]); return nil }
		return t, nil
	}
	t.Logged = make([]float64, len(pi))
	for i, p := range pi {
		t.Logged[i] = p[0]
	}
	return t, nil
}

// matrix is what a file has of each row and action, and what it calls it.
type matrix struct {
	what, prefix string   // "p_" of columns for each action
	lists        []string // columns that are lists of all
	logged       string   // that of the logged action alone; "": that says too little
	sound        func(r *logs.Rows, l *logs.Log, row []float64, at, width int) error
}

var probabilities = matrix{"probabilities", "p_", []string{"probabilities", "propensities"}, "probability", sound}

// read reads the numbers of each row of the log, width of them, see form. byID: rows are known by their decision_id.
func (m matrix) read(r *logs.Rows, l *logs.Log) (rows [][]float64, width int, byID bool, err error) {
	read, width, err := form(r, l, m)
	if err != nil {
		return nil, 0, false, err
	}
	place, err := placed(r, l)
	if err == nil {
		rows, err = byRow(r, l, read, width, place, m)
	}
	return rows, width, place != nil, err
}

// form finds how a row has its numbers: read writes so many, one of the logged action alone,
// or k; 0: they are a list of what the row offers.
func form(r *logs.Rows, l *logs.Log, m matrix) (read func(dst []float64) error, width int, err error) {
	switch {
	case l.Choices == nil:
		return fields(r, l.Actions, m)
	case r.Has(m.lists[0]):
		return nil, 0, nil
	case m.logged != "" && r.Has(m.logged):
		return func(dst []float64) (err error) { dst[0], err = r.Number(m.logged); return err }, 1, nil
	}
	return nil, 0, fmt.Errorf("%s: no %s of what rows offer; want a list %s, "+
		"in the order of the row's actions%s", r.Where(), m.what, m.lists[0], map[bool]string{true: ", or " + m.logged +
		", of the logged action"}[m.logged != ""])
}

// placed gives the rows of decisions, by the hash of their ID; nil: rows are taken in their order.
func placed(r *logs.Rows, l *logs.Log) (map[uint64]int, error) {
	if !l.HasIDs() || !r.Has("decision_id") {
		return nil, nil
	}
	place := make(map[uint64]int, l.Len())
	var d logs.Decision
	for i := range l.Len() {
		l.Decision(i, &d)
		place[xxhash.Sum64String(d.ID)] = i
	}
	if n := l.Len(); len(place) != n {
		return nil, fmt.Errorf("%s: cannot join by decision_id, as %d rows of the log repeat one", r.Where(),
			n-len(place))
	}
	return place, nil
}

// byRow reads the numbers of each row of the log.
func byRow(r *logs.Rows, l *logs.Log, read func(dst []float64) error, width int, place map[uint64]int,
	m matrix) ([][]float64, error) {
	n, count := l.Len(), 0
	pi, all := make([][]float64, n), make([]float64, n*width)
	for i, more := 0, true; more; i, more = i+1, r.Next() {
		at := i
		if place != nil {
			id, err := r.Text("decision_id")
			if err != nil {
				return nil, err
			}
			var ok bool
			if at, ok = place[xxhash.Sum64String(id)]; !ok {
				continue // a decision that the log does not have
			}
		} else if i >= n {
			return nil, fmt.Errorf("%s: the log has only %d rows", r.Where(), n)
		}
		if pi[at] != nil {
			return nil, fmt.Errorf("%s: this decision_id came before", r.Where())
		}
		row, err := all[at*width:(at+1)*width], error(nil)
		if width > 0 {
			err = read(row)
		} else if row, err = r.List(m.lists[0]); err == nil && len(row) != l.Options(at) {
			err = fmt.Errorf("%s: %d %s for %d actions offered", r.Where(), len(row), m.what, l.Options(at))
		}
		if err != nil {
			return nil, err
		}
		if err := m.sound(r, l, row, at, width); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Where(), err)
		}
		if pi[at] = row; width == 0 {
			pi[at] = slices.Clone(row)
		}
		count++
	}
	if count == n {
		return pi, nil
	}
	if place == nil {
		return nil, fmt.Errorf("%s: %d rows, but the log has %d rows", r.Where(), count, n)
	}
	var d logs.Decision
	l.Decision(slices.IndexFunc(pi, func(row []float64) bool { return row == nil }), &d)
	return nil, fmt.Errorf("%s: %d of the log's %d decisions are missing, the first is %q", r.Where(), n-count, n,
		d.ID)
}

// sound checks the probabilities of a row of the log, and that of the logged action beside them, as
// WriteScores has it.
func sound(r *logs.Rows, l *logs.Log, row []float64, at, width int) error {
	var names []string
	switch width {
	case 0:
	case 1:
		return probability(row[0])
	default:
		names = l.Actions
	}
	within, err := rounded(row, names)
	if err != nil || !r.Has("probability") {
		return err
	}
	p, err := r.Number("probability")
	if err != nil {
		return err
	}
	if q := row[l.Chosen(at)]; !logs.Near(p, q, within) {
		return fmt.Errorf("the logged action has probability %v, and at its place among all of them %v: these "+
			"are of another log, "+
			"or in another order of actions, which setting actions gives", p, q)
	}
	return nil
}

// rounded checks the probabilities of actions, and divides them by their sum if they were rounded, as those of a log.
// What is written beside them may differ from them by a share of within.
func rounded(pi []float64, names []string) (within float64, err error) {
	sum, err := logs.Distribution(pi, names, logs.Rounding)
	if err != nil || logs.Near(sum, 1, logs.Exact) {
		return logs.Exact, err
	}
	floats.Scale(1/sum, pi)
	return logs.Agreement, nil
}

// byAction reads a row an action.
func byAction(r *logs.Rows, actions []string) ([]float64, error) {
	pi, given := make([]float64, len(actions)), make([]bool, len(actions))
	for more := true; more; more = r.Next() {
		name, err := r.Text("action")
		if err != nil {
			return nil, err
		}
		p, err := r.Number("probability")
		if err != nil {
			return nil, err
		}
		a := slices.Index(actions, name)
		switch {
		case a < 0 && p == 0:
		case a < 0:
			return nil, fmt.Errorf("%s: the log has no action %q", r.Where(), name)
		case given[a]:
			return nil, fmt.Errorf("%s: action %q comes twice", r.Where(), name)
		default:
			pi[a], given[a] = p, true
		}
	}
	if _, err := rounded(pi, actions); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Where(), err)
	}
	return pi, nil
}

// fields finds the numbers in a row, and how many they are: of all actions, or
// one of the logged action.
func fields(r *logs.Rows, actions []string, m matrix) (read func(dst []float64) error, width int, err error) {
	k := len(actions)
	for _, list := range m.lists {
		if r.Has(list) {
			return func(dst []float64) error {
				values, err := r.List(list)
				if err == nil && len(values) != k {
					err = fmt.Errorf("%s: %d %s for %d actions", r.Where(), len(values), list, k)
				}
				copy(dst, values)
				return err
			}, k, nil
		}
	}
	numbered, prefixed := make([]string, k), make([]string, k)
	for a, name := range actions {
		numbered[a], prefixed[a] = m.prefix+strconv.Itoa(a), m.prefix+name
	}
	for i, names := range [][]string{numbered, actions, prefixed, {m.logged}} {
		missing := slices.IndexFunc(names, func(name string) bool { return !r.Has(name) })
		switch extra := m.prefix + strconv.Itoa(k); {
		case missing == 0:
			continue
		case missing > 0:
			return nil, 0, fmt.Errorf("%s: there is a column %s but none %s; want one for each of the log's %d "+
				"actions", r.Where(), names[0], names[missing], k)
		case i == 0 && r.Has(extra):
			return nil, 0, fmt.Errorf("%s: there is a column %s, but the log has %d actions; setting actions "+
				"names those that no row took, too", r.Where(), extra, k)
		}
		// Names in their alphabetical order are in no order that somebody gave.
		if i == 0 && slices.IsSorted(actions) && slices.ContainsFunc(actions,
			func(s string) bool { _, err := strconv.Atoi(s); return err != nil }) {
			return nil, 0, fmt.Errorf("%s: columns %s to %s are by number, but the log's actions have names: call "+
				"them %s, or give setting actions in their order", r.Where(), names[0], names[k-1],
				strings.Join(prefixed[:min(k, 4)], ", "))
		}
		return func(dst []float64) error {
			for a, name := range names {
				if dst[a], err = r.Number(name); err != nil {
					return err
				}
			}
			return nil
		}, len(names), nil
	}
	also := ""
	if m.logged != "" {
		also = "action and " + m.logged + ", "
	}
	return nil, 0, fmt.Errorf("%s: no %s; want columns %s%s to %s, "+
		"%s, or for each action one named as it or %sNAME", r.Where(), m.what, also, numbered[0], numbered[k-1],
		m.lists[0], m.prefix)
}

// ReadModel reads a model of the reward: what it predicts of all actions, in the log's units, by row of the log as
// [ReadTarget] has it, in columns q_0 … q_{K−1}, q_NAME or NAME, or a list rewards. Nothing tells whether it has
// seen the log's rewards.
func ReadModel(r *logs.Rows, l *logs.Log) (Model, error) {
	u := l.Units()
	m := matrix{"predicted rewards", "q_", []string{"rewards"}, "", func(_ *logs.Rows, _ *logs.Log, row []float64, _,
		_ int) error {
		for a, v := range row {
			if v-v != 0 {
				return fmt.Errorf("a predicted reward is %v", v)
			}
			row[a] = (v - u.Low) / u.Span()
		}
		return nil
	}}
	if !r.Next() {
		return nil, cmp.Or(r.Err(), fmt.Errorf("%s: no rows", r.Where()))
	}
	q, _, _, err := m.read(r, l)
	if err = cmp.Or(r.Err(), err); err != nil {
		return nil, err
	}
	return func(dst []float64, i int) { copy(dst, q[i]) }, nil
}

func probability(p float64) error {
	if !(p >= 0 && p <= 1+1e-9) {
		return fmt.Errorf("probability %v is outside [0, 1]", p)
	}
	return nil
}

// Open makes the target that is named "uniform", by a policy file (.json), or by a file
// of probabilities as [ReadTarget] reads them, see [logs.OpenRows]. Its name is what
// stands before an =, or the file's without endings.
func Open(arg string, l *logs.Log) (Target, error) {
	name, path, named := strings.Cut(arg, "=")
	if !named {
		path = arg
		name, _, _ = strings.Cut(filepath.Base(path), ".")
	}
	if name == "" || path == "" {
		return Target{}, fmt.Errorf("target %q: want uniform, a file, or either as NAME=TARGET", arg)
	}
	switch ext := filepath.Ext(path); {
	case path == "uniform":
		t := Uniform()
		t.Name = name
		return t, nil
	case ext == ".json":
		p, err := policyfile.Load(path)
		if err != nil {
			return Target{}, err
		}
		return FromPolicy(name, p, l)
	}
	if _, err := os.Stat(path); err != nil && filepath.Ext(path) == "" {
		return Target{}, fmt.Errorf("target %s: neither uniform nor a file: %w", path, err)
	}
	rows, err := logs.OpenRows(path, logs.Options{})
	if err != nil {
		return Target{}, err
	}
	defer rows.Close()
	t, err := ReadTarget(name, rows, l)
	if !t.scores {
		t.Origin = provenance.FixedBefore() // the word of who gives the file
	}
	return t, err
}

// unread is what the policy of a file reads and the log does not have, see provenance.Unread.
func (t Target) unread(l *logs.Log) string {
	if t.Policy == nil {
		return ""
	}
	return provenance.Unread(t.Policy.File(), l)
}

// unknown is what the log has and the policy of a file does not know, see provenance.Unknown.
func (t Target) unknown(l *logs.Log) string {
	if t.Policy == nil {
		return ""
	}
	return provenance.Unknown(t.Policy, l)
}

// undrawn says that rows of the log decide which actions uniform plays, where more than 1 % of the actions may have no
// row. Actions that are drawn rarely are then those that were drawn by luck, and their weights flatter uniform.
func (t Target) undrawn(l *logs.Log) string {
	if !t.even {
		return ""
	}
	rows := make([]int, l.K())
	for _, a := range l.Action {
		rows[a]++
	}
	if n := l.Undrawn(rows); 100*n > l.K() {
		return fmt.Sprintf("it plays the %d actions that rows of this log have, and about %d more may never have been drawn: "+
			"give all actions by setting actions", l.K(), n)
	}
	return ""
}

// FromPolicy returns the target of a policy file, computed row by row from the log, which must stay
// open; it is for one goroutine. The policy's actions must be among the log's; the others have
// probability 0. One whose actions have features plays what the rows offer; of a catalogue with
// logged propensities alone, its probabilities of the logged actions are computed at once. Some of
// the names in the log's contexts must be the policy's. Nothing is guaranteed of a policy that this
// log taught.
func FromPolicy(name string, p *policyfile.Policy, l *logs.Log) (Target, error) {
	if l.Names() == nil {
		return Target{}, fmt.Errorf("policy %s: the log has no named values, which a policy file reads", name)
	}
	f := p.File()
	if err := provenance.Fits(f, l); err != nil {
		return Target{}, fmt.Errorf("policy %s: %w", name, err)
	}
	if _, err := l.Known(p.Inputs()); err != nil {
		return Target{}, err
	}
	t := Target{Name: name, Policy: p, Origin: provenance.FromFile(f)}
	if f.HasItems() && !l.Sets() && l.LoggedOnly() {
		var err error
		t.Logged, err = provenance.Logged(p, l, logs.Every(l.Len()), runtime.GOMAXPROCS(0))
		return t, err
	}
	plays, err := provenance.Plays(p, l)
	if t.Row = plays; err != nil || f.HasItems() {
		return t, err
	}
	row := make([]float64, p.Len())
	if of := f.Numbers; of != nil && l.Numbers != nil && l.Numbers.Of.Refines(*of) {
		t.Row = func(dst []float64, i int) error {
			err := plays(row, i)
			of.Spread(dst, row, l.Numbers.Of)
			return err
		}
		return t, nil
	}
	to := make([]int, 0, l.K())
	for _, action := range p.Actions() {
		a := slices.Index(l.Actions, action)
		if a < 0 {
			return Target{}, fmt.Errorf("policy %s: the log has no action %q: give all actions by setting actions", name,
				action)
		}
		to = append(to, a)
	}
	t.Row = func(dst []float64, i int) error {
		if err := plays(row, i); err != nil {
			return fmt.Errorf("policy %s, %w", name, err)
		}
		clear(dst)
		for j, a := range to {
			dst[a] = row[j]
		}
		return nil
	}
	return t, nil
}
