package experiment_test

import (
	"testing"

	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
	"opl/train/logs"
)

// Every run of the paper is of one shard, in the order of the plan, and shards have about equal work.
func TestShare_CoversEveryRunOnce(t *testing.T) {
	lib := library.Standard()
	var plan []train.Run
	for _, f := range experiment.Figures() {
		f.Grid.Datasets = experiment.PaperDatasets()
		runs, err := f.Grid.Runs(lib, nil)
		if err != nil {
			t.Fatal(err)
		}
		plan = append(plan, runs...)
	}
	work := func(runs []train.Run) (total, most float64) {
		for _, r := range runs {
			w := experiment.Work(lib, r, 10_000)
			total, most = total+w, max(most, w)
		}
		return total, most
	}
	all, most := work(plan)
	for _, of := range []int{1, 2, 7, 64, 10_000} {
		next := 0
		for i := range of {
			share := experiment.ShardRuns(lib, plan, logs.Shard{Number: i + 1, Of: of})
			for _, r := range share {
				if experiment.Key(r) != experiment.Key(plan[next]) {
					t.Fatalf("shard %d/%d has %s, not %s", i+1, of, experiment.Name(r), experiment.Name(plan[next]))
				}
				next++
			}
			if w, _ := work(share); w > all/float64(of)+2*most {
				t.Errorf("shard %d/%d has the work %v, of %v", i+1, of, w, all)
			}
		}
		if next != len(plan) {
			t.Errorf("%d shards have %d of %d runs", of, next, len(plan))
		}
	}
}
