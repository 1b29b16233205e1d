// Router is a service that sends each request to one of three language models. It draws the model by known
// probabilities, logs what came of it in memory, and asks whether another policy may be shipped: answers must get
// better, latency must not get worse, and spending must stay within a budget. The exit status is 0 for "ship", else 3.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"

	"opl/policies/features"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

var models = []string{"small", "medium", "large"}

// plays is the policy that logs: mostly the model in the middle.
var plays = []float64{0.2, 0.6, 0.2}

// request is what is known before the choice.
type request struct{ tokens, code float64 }

// candidates are policies to replay: each names a model for a request.
var candidates = map[string]func(request) int{
	"split": func(r request) int { // short requests are cheap, long ones need the large model
		if r.tokens < 0.6 {
			return 0
		}
		return 2
	},
	"large": func(request) int { return 2 },
	"small": func(request) int { return 0 },
}

// serve answers n requests and returns them with what was logged of them.
func serve(n int, seed uint64) ([]request, *logs.Log, error) {
	r := rand.New(rand.NewPCG(seed, 0))
	var requests []request
	var rows []logs.Decision
	spend, latency := make([]float64, n), make([]float64, n)
	for i := range n {
		q := request{tokens: r.Float64(), code: float64(r.IntN(2))}
		u, model := r.Float64(), 0
		for u > plays[model] && model < 2 {
			u -= plays[model]
			model++
		}
		good := []float64{0.9 - 0.6*q.tokens, 0.8 - 0.3*q.tokens, 0.9}[model] - 0.1*q.code
		spend[i] = []float64{0.1, 0.4, 1}[model] * q.tokens // cents
		latency[i] = []float64{0.5, 1, 1.5}[model] * (0.5 + r.Float64())
		d := logs.Decision{ID: fmt.Sprintf("%d-%d", seed, i), Action: model, Propensity: plays[model], Propensities: plays,
			Context:  []features.Value{{Name: "x_tokens", Number: q.tokens}, {Name: "x_code", Number: q.code}},
			Outcomes: []float64{spend[i], latency[i]}}
		if r.Float64() < good {
			d.Cost = -1 // the answer was accepted: a reward of 1
		}
		requests, rows = append(requests, q), append(rows, d)
	}
	l, err := logs.Collect(models, rows)
	if err != nil {
		return nil, nil, err
	}
	l.Outcomes = []logs.Outcome{{Column: "cost_spend", Values: spend, Range: logs.Units{Low: 0, High: 1}},
		{Column: "cost_latency", Values: latency, Range: logs.Units{Low: 0, High: 3}}}
	return requests, l, nil
}

// replay says what the log shows of a candidate.
func replay(requests []request, l *logs.Log, candidate func(request) int) (*provenance.Decision, error) {
	pi := func(dst []float64, i int) error {
		clear(dst)
		dst[candidate(requests[i])] = 1
		return nil
	}
	logged := make([]float64, l.Len()) // the candidate's probability of what was done
	for i, a := range l.Action {
		if candidate(requests[i]) == int(a) {
			logged[i] = 1
		}
	}
	c, err := provenance.New(l).Target(pi, logged, provenance.FixedBefore(), certify.Options{Delta: 0.05},
		provenance.Requirement{Name: "latency", Limit: -0.1},
		provenance.Requirement{Name: "spend", Limit: 0.5, Budget: true})
	if err != nil {
		return nil, err
	}
	return c.Statement().Decision, nil
}

func main() {
	n := flag.Int("n", 6000, "requests")
	seed := flag.Uint64("seed", 1, "seed of the requests")
	name := flag.String("candidate", "split", "policy to replay: split, large or small")
	out := flag.String("log", "", "write the log to this file instead")
	flag.Parse()
	requests, l, err := serve(*n, *seed)
	if err != nil {
		log.Fatal(err)
	}
	if *out != "" {
		if err := write(*out, l); err != nil {
			log.Fatal(err)
		}
		return
	}
	candidate, ok := candidates[*name]
	if !ok {
		log.Fatalf("no candidate %s", *name)
	}
	d, err := replay(requests, l, candidate)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s, %s\n", *name, d.Answer, d.Because)
	for _, o := range d.Outcomes {
		fmt.Printf("%-9s %-8s %.3f, now %.3f; bound on its %s %.3f, limit %.3f: %s\n", o.Kind, o.Name, o.Estimate, o.Logging,
			o.Bounded, o.Bound, o.Limit, o.Verdict)
	}
	if d.Answer != provenance.Ship {
		os.Exit(3)
	}
}

// write writes the log with its outcomes.
func write(path string, l *logs.Log) error {
	o := logs.WriterOptions{Actions: models, Names: []string{"x_tokens", "x_code"}}
	for _, of := range l.Outcomes {
		o.Outcomes = append(o.Outcomes, of.Column)
	}
	w, err := logs.Create(path, o)
	if err != nil {
		return err
	}
	var d logs.Decision
	for i := range l.Len() {
		l.Decision(i, &d)
		if err := w.Write(&d); err != nil {
			return err
		}
	}
	return w.Close()
}
