package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/train"
	"opl/train/experiment"
	"opl/train/library"
	"opl/train/pipeline"
)

type exportFlags struct {
	run               train.Run
	data              string
	out, test, policy string
}

func exportCommand(lib library.Library) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export --out FILE",
		Short: "write the log that compare learns from to a file",
		Long: `export turns a labelled data set into the log of a softmax policy, as compare does, and
writes the same rows in the same order: in place of normalized images their pixels,
x_0, x_1 and so on, from 0 to 255. The file's name says its format: .csv or .jsonl, also
with .gz or .zst, or .parquet.

With --test the test set is written as well, as the log of a policy that took every
action once for every image: what ips of "opl evaluate" says of it is the reward on
the test set, as compare has it. With --policy the logging policy is. Then

  opl train LOG --prior LOGGING --fresh --objective corollary1 --out policy.json
  opl evaluate TEST --target policy.json --estimators ips

is a row of compare, from the file.`,
		Example: `  opl export --out mnist.parquet
  opl export --dataset fashion --eta0 0 --seed 2 --out log.csv.gz
  opl export --out log.parquet --test test.parquet --policy logging.json`,
		Args: operands(),
		RunE: func(cmd *cobra.Command, _ []string) error { return export(cmd, lib, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.out, "out", "", "the `file` to write the log to")
	fl.StringVar(&f.test, "test", "", "also write the test set to this `file`")
	fl.StringVar(&f.policy, "policy", "", "also write the logging policy to this `file` (.json)")
	fl.StringVar(&f.run.Dataset, "dataset", "mnist", "data set: mnist, fashion")
	addData(fl, &f.data)
	fl.Float64Var(&f.run.Eta0, "eta0", 0.5, "η₀ of the logging policy: 0 is uniform, 1 as fitted")
	fl.Uint64Var(&f.run.Seed, "seed", 1, "seed")
	fl.IntVar(&f.run.Limit, "limit", 0, "use this many training examples, 0: all")
	return cmd
}

func export(cmd *cobra.Command, lib library.Library, f exportFlags) error {
	s := train.DefaultSettings()
	s.Limit = f.run.Limit
	switch err := s.Check(); {
	case f.out == "":
		return errors.New("--out: say where to write the log")
	case math.IsNaN(f.run.Eta0) || math.IsInf(f.run.Eta0, 0):
		return fmt.Errorf("--eta0 %v: want a number", f.run.Eta0)
	case err != nil:
		return flagError(err)
	}
	if err := cmp.Or(writable("out:", f.out), writable("test:", f.test), writable("policy:", f.policy)); err != nil {
		return err
	}
	e := &experiment.Runner{Library: lib, DataDir: f.data}
	task, err := e.Task(cmd.Context(), f.run)
	if err != nil {
		return err
	}
	if err := pipeline.Export(f.out, task); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%d rows written to %s, without the share that fitted the logging policy, which earns %.4f on "+
		"the test set\n", task.Log.Len(), f.out, task.LoggingReward)
	if f.test != "" {
		if err := pipeline.ExportTest(f.test, task); err != nil {
			return fmt.Errorf("--test: %w", err)
		}
		fmt.Fprintf(w, "%d images, %d rows each, written to %s\n", task.Data.Test.Len(), task.Data.Classes, f.test)
	}
	if f.policy != "" {
		file, err := pipeline.ExportLogging(task)
		if err != nil {
			return err
		}
		if err := policyfile.Save(f.policy, file); err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
		fmt.Fprintf(w, "the logging policy written to %s\n", f.policy)
	}
	return nil
}
