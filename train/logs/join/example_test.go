package join_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"opl/train/logs"
	"opl/train/logs/join"
)

// Decisions that another system logged, and the rewards that came later: those without one are dropped.
func Example() {
	dir, err := os.MkdirTemp("", "join")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
		return path
	}
	shown := file("shown.csv", "decision_id,action,propensity,x_age\nd1,left,0.25,41\nd2,right,0.5,29\nd3,left,0.25,35\n")
	bought := file("bought.csv", "decision_id,reward\nd3,0\nd1,1\n")

	of, err := logs.Open(context.Background(), shown, logs.Options{NoCache: true,
		Forms: logs.Forms{NoRewards: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer of.Close()
	decisions, err := join.Other(of, join.Refuse)
	if err != nil {
		log.Fatal(err)
	}
	rewards, err := join.ReadRewards(bought, join.Refuse)
	if err != nil {
		log.Fatal(err)
	}
	summary, err := decisions.Join(rewards, func(d *logs.Decision) error {
		fmt.Printf("%s: action %d earned %v\n", d.ID, d.Action, -d.Cost)
		return nil
	}, join.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d decisions joined\n", summary.Joined, summary.Decisions)
	// Output:
	// d1: action 0 earned 1
	// d3: action 0 earned 0
	// 2 of 3 decisions joined
}
