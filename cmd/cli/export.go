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
	cmd, fl := command("export", operands(), func(cmd *cobra.Command, _ []string) error { return export(cmd, lib, f) })
	bind(fl, &f.out, "out", "")
	bind(fl, &f.test, "test", "")
	bind(fl, &f.policy, "policy", "")
	bind(fl, &f.run.Dataset, "dataset", "mnist")
	bind(fl, &f.data, "data", "")
	bind(fl, &f.run.Eta0, "eta0", 0.5)
	bind(fl, &f.run.Seed, "seed", 1)
	bind(fl, &f.run.Limit, "limit", 0)
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
