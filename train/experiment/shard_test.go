package experiment_test

import (
	"slices"
	"testing"

	"opl/testdata/long"
	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
	"opl/train/logs"
)

// A folder of an older crash may lack the seconds of a run that another folder has, too.
func TestMerge_KeepsTheSecondsOfEitherFolder(t *testing.T) {
	_, recs := records(t, 0)
	known, lost := recs[1], recs[1]
	known.Seconds, lost.Seconds = 7, 0
	var dirs []string
	for _, r := range []train.Record{lost, known} {
		dirs = append(dirs, t.TempDir())
		s := open(t, dirs[len(dirs)-1])
		add(t, s, r)
		s.Close()
	}
	for range 2 {
		out, m, err := experiment.Merge(dirs, t.TempDir(), false)
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Records(); len(got) != 1 || got[0].Seconds != 7 || m.Repeats != 1 {
			t.Errorf("%d records, %v seconds, %d repeats", len(got), got[0].Seconds, m.Repeats)
		}
		out.Close()
		slices.Reverse(dirs)
	}
}

// Every run of the paper is of one shard, in the order of the plan, and shards have about equal work.
func TestShardRuns_CoverEveryRunOnce(t *testing.T) {
	long.Test(t)
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
