package experiment_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
)

// Estimates follow stored seconds where there are any, and Work elsewhere.
func TestEstimate_FollowsStoredSeconds(t *testing.T) {
	e := &experiment.Runner{Library: library.Standard(), DataDir: data, Jobs: 2}
	runs, recs := records(t, 0) // logging, two of the heuristic, theorem1; 20 epochs on 1,900 rows
	guess, guessed, err := e.Estimate(runs, nil)
	if err != nil || guessed != 3 {
		t.Fatalf("%d guessed, %v", guessed, err)
	}
	var work float64
	for _, r := range runs {
		work += experiment.Work(e.Library, r, 1900)
	}
	if want := work / 2; math.Abs(guess.Seconds()-want) > 1e-6 {
		t.Errorf("a guess of %v s, want %v s", guess.Seconds(), want)
	}
	stored := recs[1]
	stored.Epochs, stored.Seconds = 10, 7
	got, guessed, err := e.Estimate(runs[1:3], []train.Record{stored})
	if want := 14 * time.Second; err != nil || guessed != 0 || (got-want).Abs() > time.Millisecond {
		t.Errorf("two runs of twice the epochs of one of 7 s, two at a time: %v, %d guessed, %v; want %v", got, guessed, err, want)
	}
	if h, b := experiment.Work(e.Library, runs[1], 1900), experiment.Work(e.Library, runs[3], 1900); !(h < b) {
		t.Errorf("the heuristic works %v s, Theorem 1 %v s", h, b)
	}
	runs[1].Limit = 5000
	if _, err := e.Plan(runs); err == nil || !strings.Contains(err.Error(), "limit 5000: data set mnist has 2000") {
		t.Errorf("limit: %v", err)
	}
}
