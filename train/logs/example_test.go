package logs_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"opl/train/logs"
)

// A file of two decisions, read as a log: actions are numbered in the order of their names, and rewards are costs.
func Example() {
	dir, err := os.MkdirTemp("", "log")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shop.csv")
	text := "decision_id,action,reward,propensity,x_age,x_city\nd1,left,1,0.25,41,Oslo\nd2,right,0,0.5,29,Rome\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	l, err := logs.Open(context.Background(), path, logs.Options{NoCache: true})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	for i := range l.Len() {
		fmt.Printf("%s: cost %v, propensity %v\n", l.Actions[l.Action[i]], l.Cost[i], l.Propensity[i])
	}
	// Output:
	// left: cost -1, propensity 0.25
	// right: cost 0, propensity 0.5
}
