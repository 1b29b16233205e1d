package engine_test

import (
	"fmt"
	"log"
	"strings"

	"opl/train/engine"
)

// A grid in 16 parts, as an array of jobs for Slurm: the commands that its script runs.
func ExampleWork_SlurmScripts() {
	w := engine.Work{
		Name: "grid", Of: 16, Folder: "/shared", Logs: "/shared/logs", Options: []engine.Option{{Key: "partition", Value: "main"}},
		Part:  []string{"opl", "run", "grid.yaml", "--shard", engine.Index + "/16", "--out", "results"},
		Merge: []string{"opl", "merge", "results"},
	}
	part, merge, err := w.SlurmScripts()
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range strings.Split(part+merge, "\n") {
		if strings.HasPrefix(line, "exec") {
			fmt.Println(line)
		}
	}
	// Output:
	// exec opl run grid.yaml --shard "$SLURM_ARRAY_TASK_ID"/16 --out results
	// exec opl merge results
}
