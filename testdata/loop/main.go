// Command loop is a world to learn in: contexts of five numbers and a category, four
// actions, rewards of 0 or 1 whose probabilities it knows.
//
//	go run ./testdata/loop first --out first.csv                  # a log of the uniform policy
//	go run ./testdata/loop ask --rewards rewards.csv              # decisions by opl serve, and their rewards
//	go run ./testdata/loop value policy.json                      # what a policy truly earns
package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/train/logs"
)

var (
	actions = []string{"left", "right", "up", "down"}
	cities  = []string{"Oslo", "Rome", "Lima"}
)

// visit is a context and the probabilities of a reward of 1 of the four actions.
type visit struct {
	x      [5]float64
	city   string
	reward [4]float64
}

func next(r *rand.Rand) visit {
	v := visit{city: cities[r.IntN(len(cities))]}
	for j := range v.x {
		v.x[j] = r.NormFloat64()
	}
	for a := range v.reward {
		score := -0.5
		for j, x := range v.x {
			score += 1.2 * math.Sin(float64(3*a+7*j+1)) * x
		}
		if a < len(cities) && cities[a] == v.city {
			score += 1.5
		}
		v.reward[a] = 1 / (1 + math.Exp(-score))
	}
	return v
}

// values is the context of a visit as logs and policies have it.
func (v visit) values() []features.Value {
	var x []features.Value
	for j, u := range v.x {
		x = append(x, features.Value{Name: fmt.Sprintf("f%d", j), Number: u})
	}
	return append(x, features.Value{Name: "city=" + v.city, Number: 1})
}

func main() {
	root := &cobra.Command{Use: "loop", Short: "a world to learn in", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(firstCommand(), askCommand(), valueCommand(), shopCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "loop:", err)
		os.Exit(1)
	}
}

func firstCommand() *cobra.Command {
	var n int
	var seed uint64
	var out string
	c := &cobra.Command{Use: "first", Short: "write a log of the uniform policy", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			r := rand.New(rand.NewPCG(seed, 1))
			w, err := logs.Create(out, logs.WriterOptions{Actions: actions})
			if err != nil {
				return err
			}
			for i := range n {
				v := next(r)
				d := logs.Decision{ID: fmt.Sprintf("first-%d-%d", seed, i), Context: v.values(), Action: r.IntN(4), Propensity: .25,
					Propensities: []float64{.25, .25, .25, .25}, Weight: 1}
				if r.Float64() < v.reward[d.Action] {
					d.Cost = -1
				}
				if err := w.Write(&d); err != nil {
					return errors.Join(err, w.Abort())
				}
			}
			return w.Close()
		}}
	c.Flags().IntVar(&n, "n", 10000, "rows")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed")
	c.Flags().StringVar(&out, "out", "first.csv", "file to write: .csv, .jsonl or .parquet")
	return c
}

func askCommand() *cobra.Command {
	var n int
	var seed uint64
	var server, rewards string
	c := &cobra.Command{Use: "ask", Short: "ask a server for decisions and write their rewards", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			f, err := os.Create(rewards)
			if err != nil {
				return err
			}
			defer f.Close()
			w := csv.NewWriter(f)
			defer w.Flush() // what was earned before a failure is kept
			_ = w.Write([]string{"decision_id", "reward"})
			if seed == 0 {
				seed = rand.Uint64()
			}
			if err := await(server); err != nil {
				return err
			}
			r := rand.New(rand.NewPCG(seed, 2))
			var sum float64
			for range n {
				v := next(r)
				id, action, err := decide(server, map[string]any{"context": v.context()})
				if err != nil {
					return err
				}
				reward := 0
				if a := slices.Index(actions, action); a >= 0 && r.Float64() < v.reward[a] {
					reward = 1
				}
				sum += float64(reward)
				_ = w.Write([]string{id, strconv.Itoa(reward)})
			}
			w.Flush()
			fmt.Printf("%d decisions earned %.4f on average\n", n, sum/float64(n))
			return errors.Join(w.Error(), f.Close())
		}}
	c.Flags().IntVar(&n, "n", 10000, "decisions")
	c.Flags().Uint64Var(&seed, "seed", 0, "seed of contexts and rewards; 0: others each time")
	c.Flags().StringVar(&server, "server", "http://127.0.0.1:8080", "address of opl serve")
	c.Flags().StringVar(&rewards, "rewards", "rewards.csv", "file to write")
	return c
}

// await waits until the server is there, five seconds at most.
func await(server string) error {
	for last := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(server + "/healthz")
		if err == nil {
			return resp.Body.Close()
		}
		if time.Now().After(last) {
			return err
		}
	}
}

func valueCommand() *cobra.Command {
	var n int
	c := &cobra.Command{Use: "value POLICY", Short: "what a policy truly earns, by contexts without end", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := policyfile.Load(args[0])
			if err != nil {
				return err
			}
			r := rand.New(rand.NewPCG(1, 3))
			pi := make([]float64, len(p.Actions()))
			var sum, square float64
			for range n {
				v := next(r)
				if err := p.Propensities(pi, v.values()); err != nil {
					return err
				}
				var earned float64
				for i, name := range p.Actions() {
					if a := slices.Index(actions, name); a >= 0 {
						earned += pi[i] * v.reward[a]
					}
				}
				sum += earned
				square += earned * earned
			}
			mean := sum / float64(n)
			fmt.Printf("%s earns %.4f ± %.4f\n", args[0], mean, math.Sqrt((square/float64(n)-mean*mean)/float64(n)))
			return nil
		}}
	c.Flags().IntVar(&n, "n", 200000, "contexts")
	return c
}
