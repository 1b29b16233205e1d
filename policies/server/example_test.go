package server_test

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/server"
)

// A server of a policy of two actions: it logs each decision before it answers.
func Example() {
	dir, err := os.MkdirTemp("", "served")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	policy, err := policyfile.New(&policyfile.File{Actions: []string{"left", "right"}, Floor: 0.1, RewardMax: 1,
		Components: []policyfile.Component{{Weight: 1, Kind: policyfile.Softmax,
			Encoder: &features.Encoder{Names: []string{"age"}, Scale: []float64{0.1}}, Weights: policyfile.Matrix{{1}, {0}}}}})
	if err != nil {
		log.Fatal(err)
	}
	decisions, err := server.OpenLog(filepath.Join(dir, "served.jsonl"), server.LogOptions{Fsync: server.FsyncEach})
	if err != nil {
		log.Fatal(err)
	}
	defer decisions.Close()
	seed := uint64(1)
	s, err := server.New(policy, decisions, server.Config{Seed: &seed})
	if err != nil {
		log.Fatal(err)
	}
	web := httptest.NewServer(s)
	defer web.Close()
	body := strings.NewReader(`{"context": {"age": 41}, "decision_id": "d1"}`)
	answer, err := http.Post(web.URL+"/decide", "application/json", body)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	var drawn struct {
		Action     string `json:"action_name"`
		Propensity float64
	}
	if err := json.NewDecoder(answer.Body).Decode(&drawn); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s with propensity %.3f\n", drawn.Action, drawn.Propensity)
	// Output:
	// left with propensity 0.935
}
