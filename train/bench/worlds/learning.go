package worlds

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"opl/graph/kernel/workers"
	"opl/policies/features"
	"opl/train/logs"
)

// Learner learns a policy from a log. Policy writes π(·|x) [K] to dst; a nil Policy says that nothing
// was learned, and the logging policy goes on playing.
type Learner struct {
	Name  string
	Learn func(ctx context.Context, log *logs.Log, seed uint64) (Learned, error)
}

// Learned holds a policy that was learned, and what is guaranteed of it.
type Learned struct {
	Policy     func(dst []float64, x []features.Value) error
	Guaranteed float64 // lower bound on the reward; NaN: none
	Gain       float64 // lower bound on the gain over the logging policy; NaN: none
	How        string  // the learner that was chosen, say
}

// Options says what is measured. The zero value is useful.
type Options struct {
	Worlds   []World // nil: all
	Rows     []int   // n of logs; nil: 1,000 and 4,000
	Seeds    int     // logs of a world and n; 0: 10
	Seed     uint64  // of the first
	Test     int     // contexts that policies are judged on; 0: 10,000
	Learners []Learner
	// Peer, if not empty, is a command that gets the names of two CSV files as arguments, the log and the
	// contexts with the mean rewards of actions, and prints a JSON object {method: {"reward": number}}.
	Peer    []string
	Threads int
	Done    func(world string, n int, seed uint64, of map[string]float64) // after each log, nil: nobody is told
}

// Cell holds what a learner earned on logs of one world and number of rows.
type Cell struct {
	World      string    `json:"world"`
	Rows       int       `json:"rows"`
	Learner    string    `json:"learner"`
	Rewards    []float64 `json:"rewards"`    // true reward by seed
	Guaranteed []float64 `json:"guaranteed"` // by seed, where something is
	Gains      []float64 `json:"gains"`      // lower bounds of the gain by seed
	Violations int       `json:"violations"` // seeds whose policy earns less than was guaranteed of reward or gain
	How        []string  `json:"how,omitempty"`
}

// The names of what cells hold beside learners.
const (
	LoggingPolicy = "logging"
	BestPolicy    = "best"
)

// Measure draws logs, learns from each by every learner, and returns what the policies truly earn. Cells come
// world by world and n by n, the logging policy's and the best policy's last.
func Measure(ctx context.Context, o Options) ([]Cell, error) {
	if o.Worlds == nil {
		o.Worlds = All()
	}
	if o.Rows == nil {
		o.Rows = []int{1000, 4000}
	}
	o.Seeds, o.Test = cmp.Or(o.Seeds, 10), cmp.Or(o.Test, 10_000)
	var cells []Cell
	for _, w := range o.Worlds {
		for _, n := range o.Rows {
			if w.Visits > 0 {
				n = min(n, w.Visits/2)
			}
			results, errs := make([]map[string]outcome, o.Seeds), make([]error, o.Seeds)
			workers.Do(max(1, o.Threads), o.Seeds, func(_, s int) {
				if ctx.Err() == nil {
					results[s], errs[s] = trial(ctx, w, n, o.Seed+uint64(s), o)
				}
			})
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for s, err := range errs {
				if err != nil {
					return nil, fmt.Errorf("world %s, %d rows, seed %d: %w", w.Name, n, o.Seed+uint64(s), err)
				}
			}
			cells = append(cells, gather(w.Name, n, results)...)
		}
	}
	return cells, nil
}

// outcome is what a learner's policy is worth on one log.
type outcome struct {
	place                    int // of the learner in the table
	reward, guaranteed, gain float64
	how                      string
}

func trial(ctx context.Context, w World, n int, seed uint64, o Options) (map[string]outcome, error) {
	decisions, test := w.Draw(n, o.Test, seed)
	logging, best := Values(test)
	log, err := w.Collect(decisions)
	if err != nil {
		return nil, err
	}
	none := math.NaN()
	of := map[string]outcome{LoggingPolicy: {1 << 20, logging, none, none, ""},
		BestPolicy: {1<<20 + 1, best, none, none, ""}}
	for i, l := range o.Learners {
		got, err := l.Learn(ctx, log, seed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.Name, err)
		}
		r := outcome{i, logging, got.Guaranteed, got.Gain, got.How}
		if got.Policy != nil {
			if r.reward, err = value(got.Policy, test, w.K); err != nil {
				return nil, fmt.Errorf("%s: %w", l.Name, err)
			}
		}
		of[l.Name] = r
	}
	if len(o.Peer) > 0 && w.Numbers == nil {
		rewards, err := peers(ctx, o.Peer, w, decisions, test)
		if err != nil {
			return nil, err
		}
		for i, name := range slices.Sorted(maps.Keys(rewards)) {
			of[name] = outcome{1000 + i, rewards[name], none, none, ""}
		}
	}
	if o.Done != nil {
		all := map[string]float64{}
		for name, r := range of {
			all[name] = r.reward
		}
		o.Done(w.Name, n, seed, all)
	}
	return of, nil
}

// value is the true reward of a policy.
func value(policy func([]float64, []features.Value) error, test []Visit, k int) (v float64, err error) {
	pi := make([]float64, k)
	for _, visit := range test {
		if err := policy(pi, visit.Context); err != nil {
			return 0, err
		}
		v += features.Dot(pi, visit.Mean) / float64(len(test))
	}
	return v, nil
}

func gather(world string, n int, results []map[string]outcome) []Cell {
	var cells []Cell
	names := slices.SortedFunc(maps.Keys(results[0]), func(a, b string) int {
		return results[0][a].place - results[0][b].place
	})
	for _, name := range names {
		c := Cell{World: world, Rows: n, Learner: name}
		for _, r := range results {
			one := r[name]
			c.Rewards = append(c.Rewards, one.reward)
			if one.guaranteed == one.guaranteed {
				c.Guaranteed = append(c.Guaranteed, one.guaranteed)
				c.Gains = append(c.Gains, one.gain)
				if one.guaranteed > one.reward || one.gain > one.reward-r[LoggingPolicy].reward {
					c.Violations++
				}
			}
			if one.how != "" {
				c.How = append(c.How, one.how)
			}
		}
		cells = append(cells, c)
	}
	return cells
}

// peers writes the log and the truth for another program, and reads what its policies earn.
func peers(ctx context.Context, command []string, w World, log []logs.Decision,
	test []Visit) (map[string]float64, error) {
	dir, err := os.MkdirTemp("", "opl-worlds-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	columns := columnsOf(log, test)
	var rows [][]string
	for _, d := range log {
		row := []string{w.Actions()[d.Action], number(-d.Cost), number(d.Propensity)}
		rows = append(rows, append(row, cells(d.Context, columns)...))
	}
	a, b := filepath.Join(dir, "log.csv"), filepath.Join(dir, "truth.csv")
	head := append([]string{"action", "reward", "propensity"}, prefixed("x_", columns)...)
	if err := write(a, head, rows); err != nil {
		return nil, err
	}
	rows = nil
	for _, v := range test {
		row := cells(v.Context, columns)
		for _, m := range v.Mean {
			row = append(row, number(m))
		}
		rows = append(rows, row)
	}
	if err := write(b, append(prefixed("x_", columns), prefixed("mean_", w.Actions())...), rows); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, command[0], append(slices.Clone(command[1:]), a, b)...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	var of map[string]struct{ Reward float64 }
	if err := json.Unmarshal(text, &of); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	rewards := map[string]float64{}
	for name, r := range of {
		rewards[name] = r.Reward
	}
	return rewards, nil
}

// columnsOf are the columns of contexts, sorted; a category's is what stands before "=".
func columnsOf(log []logs.Decision, test []Visit) []string {
	seen := map[string]bool{}
	add := func(x []features.Value) {
		for _, v := range x {
			name, _, _ := strings.Cut(v.Name, "=")
			seen[name] = true
		}
	}
	for _, d := range log {
		add(d.Context)
	}
	for _, v := range test {
		add(v.Context)
	}
	return slices.Sorted(maps.Keys(seen))
}

// cells are the values of a context by column, "" where there is none.
func cells(x []features.Value, columns []string) []string {
	row := make([]string, len(columns))
	for _, v := range x {
		name, level, isCategory := strings.Cut(v.Name, "=")
		if !isCategory {
			level = number(v.Number)
		}
		at, _ := slices.BinarySearch(columns, name)
		row[at] = level
	}
	return row
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func prefixed(by string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = by + name
	}
	return out
}

func write(path string, head []string, rows [][]string) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.WriteAll(append([][]string{head}, rows...)); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}
