package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"opl/policies/features"
	"opl/policies/policyfile"
)

// shop is a world of items: a visitor of five numbers and a city is shown some of the items that
// are sold in this round, each of four numbers and a brand. Half of a round's items are new.
type shop struct {
	items, round     int
	least, most      int     // items of an offer; 0: all of the round's
	ids              bool    // offers are ids of the catalogue, not items with their features
	sharp            float64 // of the logging policy
	seed             uint64
	propensityOfOnly bool
}

// item is one that is sold.
type item struct {
	id    string
	z     [4]float64
	brand string
}

var brands = []string{"acme", "bolt", "core"}

// sold are the items of the round: those of numbers (round−1)·items/2 on.
func (s *shop) sold() []item {
	all := make([]item, s.items)
	for i := range all {
		n := (s.round-1)*(s.items/2) + i
		r := rand.New(rand.NewPCG(uint64(n), 7))
		all[i] = item{id: fmt.Sprintf("item-%06d", n), brand: brands[r.IntN(len(brands))]}
		for j := range all[i].z {
			all[i].z[j] = r.NormFloat64()
		}
	}
	return all
}

// reward is the probability of a reward of 1.
func (v visit) buys(it *item) float64 {
	score := -1.0
	for j, x := range v.x[:4] {
		score += 0.9 * x * it.z[j]
	}
	score += 0.5*it.z[0] + 0.4*it.z[1]*v.x[4]
	if (it.brand == "acme") == (v.city == "Oslo") {
		score += 0.7
	}
	return 1 / (1 + math.Exp(-score))
}

// offer draws the places of the items that a visitor is shown.
func (s *shop) offer(r *rand.Rand) []int {
	if s.most == 0 {
		return nil
	}
	m := min(s.items, s.least+r.IntN(s.most-s.least+1))
	chosen, taken := make([]int, 0, m), map[int]bool{}
	for len(chosen) < m {
		if i := r.IntN(s.items); !taken[i] {
			chosen, taken[i] = append(chosen, i), true
		}
	}
	return chosen
}

// context is what a visit looks like in JSON.
func (v visit) context() map[string]any {
	c := map[string]any{"city": v.city}
	for j, u := range v.x {
		c[fmt.Sprintf("f%d", j)] = u
	}
	return c
}

// values is the item as policies have it.
func (it *item) values() []features.Value {
	v := []features.Value{{Name: "brand=" + it.brand, Number: 1}}
	for j, z := range it.z {
		v = append(v, features.Value{Name: fmt.Sprintf("z%d", j), Number: z})
	}
	return v
}

func (it *item) object() map[string]any {
	return map[string]any{"id": it.id, "z0": it.z[0], "z1": it.z[1], "z2": it.z[2], "z3": it.z[3], "brand": it.brand}
}

// put adds an offer to a decision in JSON.
func (s *shop) put(to map[string]any, items []item, offer []int) {
	if offer == nil {
		return
	}
	ids, objects := make([]string, len(offer)), make([]any, len(offer))
	for j, i := range offer {
		ids[j], objects[j] = items[i].id, items[i].object()
	}
	if s.ids {
		to["offered"] = ids
	} else {
		to["actions"] = objects
	}
}

func shopCommand() *cobra.Command {
	s := &shop{}
	var sets, out, server, rewards string
	var n int
	c := &cobra.Command{Use: "shop", Short: "a world of items that come and go",
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if sets == "all" {
				return nil
			}
			least, most, ok := strings.Cut(sets, "-")
			if !ok {
				most = least
			}
			var errs [2]error
			s.least, errs[0] = strconv.Atoi(least)
			s.most, errs[1] = strconv.Atoi(most)
			if errs != [2]error{} || s.least < 1 || s.most < s.least {
				return fmt.Errorf("sets %q: want all, a number or a range such as 5-50", sets)
			}
			return nil
		}}
	f := c.PersistentFlags()
	f.IntVar(&s.items, "items", 500, "items of a round")
	f.IntVar(&s.round, "round", 1, "round, from 1; half of its items are new")
	f.StringVar(&sets, "sets", "5-50", "how many items a visitor is shown; all: the whole catalogue")
	f.BoolVar(&s.ids, "ids", false, "offers are ids of the catalogue")
	f.Uint64Var(&s.seed, "seed", 1, "seed of visitors and rewards")
	f.IntVar(&n, "n", 10000, "decisions")

	items := &cobra.Command{Use: "items", Short: "write the round's catalogue", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return writeLines(out, func(write func(any) error) error {
				for _, it := range s.sold() {
					row := map[string]any{"action": it.id, "z_brand": it.brand}
					for j, v := range it.z {
						row[fmt.Sprintf("z_z%d", j)] = v
					}
					if err := write(row); err != nil {
						return err
					}
				}
				return nil
			})
		}}
	items.Flags().StringVar(&out, "out", "items.jsonl", "file to write")

	first := &cobra.Command{Use: "first", Short: "write a log of a simple policy", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			r, sold := rand.New(rand.NewPCG(s.seed, 11)), s.sold()
			whole := make([]int, len(sold))
			for i := range whole {
				whole[i] = i
			}
			return writeLines(out, func(write func(any) error) error {
				for i := range n {
					v, offer := next(r), s.offer(r)
					row := map[string]any{"decision_id": fmt.Sprintf("shop-%d-%d", s.seed, i), "context": v.context()}
					s.put(row, sold, offer)
					if offer == nil {
						offer = whole
					}
					pi, sum := make([]float64, len(offer)), 0.0
					for j, i := range offer {
						pi[j] = 1
						if s.sharp != 0 {
							pi[j] = math.Exp(s.sharp * v.buys(&sold[i]))
						}
						sum += pi[j]
					}
					u, a := r.Float64()*sum, 0
					for ; a < len(pi)-1 && u >= pi[a]; a++ {
						u -= pi[a]
					}
					for j := range pi {
						pi[j] /= sum
					}
					reward := 0
					if r.Float64() < v.buys(&sold[offer[a]]) {
						reward = 1
					}
					row["action"], row["propensity"], row["reward"] = sold[offer[a]].id, pi[a], reward
					if !s.propensityOfOnly && s.most > 0 {
						row["propensities"] = pi
					}
					if err := write(row); err != nil {
						return err
					}
				}
				return nil
			})
		}}
	first.Flags().StringVar(&out, "out", "shop.jsonl", "file to write")
	first.Flags().Float64Var(&s.sharp, "sharp", 0, "the policy plays an item with a probability proportional to exp(sharp·P(reward)); 0: uniform")
	first.Flags().BoolVar(&s.propensityOfOnly, "logged-only", false, "propensities of the logged actions alone")

	value := &cobra.Command{Use: "value POLICY", Short: "what a policy truly earns in the round, by visits without end", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := policyfile.Load(args[0])
			if err != nil {
				return err
			}
			sold := s.sold()
			names := make([]string, len(sold))
			for i, it := range sold {
				names[i] = it.id
			}
			if c := p.Catalogue(); c != nil && !slices.Equal(p.Actions(), names) {
				if c, err = policyfile.NewCatalogue(names, func(i int) []features.Value { return sold[i].values() }); err == nil {
					p, err = p.WithCatalogue(c, names)
				}
				if err != nil {
					return err
				}
			}
			r, pi := rand.New(rand.NewPCG(1, 13)), make([]float64, len(sold))
			var sum, square, best float64
			for range n {
				v, offer := next(r), s.offer(r)
				if offer == nil {
					err = p.Propensities(pi, v.values())
				} else {
					offered := make([]features.Offer, len(offer))
					for j, i := range offer {
						if offered[j].Action = sold[i].id; !s.ids {
							offered[j].Features = sold[i].values()
						}
					}
					err = p.PropensitiesOffered(pi[:len(offer)], v.values(), offered)
				}
				if err != nil {
					return err
				}
				var earned, most float64
				for j, it := range shown(sold, offer) {
					q := v.buys(it)
					earned, most = earned+pi[j]*q, max(most, q)
				}
				sum, square, best = sum+earned, square+earned*earned, best+most
			}
			mean, rows := sum/float64(n), float64(n)
			fmt.Printf("%s earns %.4f ± %.4f; the best there is, %.4f\n", args[0], mean, math.Sqrt((square/rows-mean*mean)/rows), best/rows)
			return nil
		}}

	ask := &cobra.Command{Use: "ask", Short: "ask a server for decisions and write their rewards", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) (err error) {
			file, err := os.Create(rewards)
			if err != nil {
				return err
			}
			w := csv.NewWriter(file)
			defer func() {
				w.Flush()
				err = errors.Join(err, w.Error(), file.Close())
			}()
			_ = w.Write([]string{"decision_id", "reward"})
			if err := await(server); err != nil {
				return err
			}
			sold, at := s.sold(), map[string]int{}
			for i, it := range sold {
				at[it.id] = i
			}
			r := rand.New(rand.NewPCG(s.seed, 12))
			var sum, best float64
			for range n {
				v, offer := next(r), s.offer(r)
				request := map[string]any{"context": v.context()}
				s.put(request, sold, offer)
				id, action, err := decide(server, request)
				if err != nil {
					return err
				}
				i, ok := at[action]
				if !ok {
					return fmt.Errorf("the server played %q, which is not sold in round %d", action, s.round)
				}
				reward := 0
				if r.Float64() < v.buys(&sold[i]) {
					reward = 1
				}
				sum += float64(reward)
				best += s.best(v, sold, offer)
				_ = w.Write([]string{id, strconv.Itoa(reward)})
			}
			fmt.Printf("%d decisions earned %.4f on average; the best there was, %.4f\n", n, sum/float64(n), best/float64(n))
			return nil
		}}
	ask.Flags().StringVar(&server, "server", "http://127.0.0.1:8080", "address of opl serve")
	ask.Flags().StringVar(&rewards, "rewards", "rewards.csv", "file to write")
	c.AddCommand(items, first, ask, value)
	return c
}

// shown are the items that a visitor chooses among, and their places in the offer.
func shown(sold []item, offer []int) iter.Seq2[int, *item] {
	return func(yield func(int, *item) bool) {
		if offer == nil {
			for i := range sold {
				if !yield(i, &sold[i]) {
					return
				}
			}
		}
		for j, i := range offer {
			if !yield(j, &sold[i]) {
				return
			}
		}
	}
}

// best is the largest probability of a reward among the offered.
func (s *shop) best(v visit, sold []item, offer []int) float64 {
	best := 0.0
	for _, it := range shown(sold, offer) {
		best = max(best, v.buys(it))
	}
	return best
}

// decide posts a request to a server.
func decide(server string, request any) (id, action string, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return "", "", err
	}
	resp, err := http.Post(server+"/decide", "application/json", bytes.NewReader(body))
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", "", fmt.Errorf("%s: %s", resp.Status, answer)
	}
	var d struct {
		ID     string `json:"decision_id"`
		Action string `json:"action_name"`
	}
	err = json.Unmarshal(answer, &d)
	return d.ID, d.Action, err
}

// writeLines writes a file of JSON Lines.
func writeLines(path string, rows func(write func(any) error) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	e := json.NewEncoder(w)
	return errors.Join(rows(e.Encode), w.Flush(), f.Close())
}
