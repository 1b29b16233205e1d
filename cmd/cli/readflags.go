package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"opl/train/decisions"
)

// readFlags are the flags of every command that reads a log of decisions.
type readFlags struct {
	preset   string
	format   string
	min, max float64
	logging  string
	estimate bool
	skipBad  string
	actions  []string
	cache    bool
	set      *pflag.FlagSet
}

// add defines the flags.
func (f *readFlags) add(fl *pflag.FlagSet) {
	f.set = fl
	fl.StringVar(&f.preset, "preset", "", "the log's layout: obd (Open Bandit Dataset), vw (Vowpal Wabbit text), dsjson")
	fl.StringVar(&f.format, "input-format", "", "csv, jsonl or parquet (default: by the file's name)")
	fl.Float64Var(&f.min, "reward-min", 0, "the reward that counts as 0")
	fl.Float64Var(&f.max, "reward-max", 1, "the reward that counts as 1")
	fl.StringVar(&f.logging, "logging-policy", "", "what drew the actions where the log does not say: uniform, or a policy file")
	fl.BoolVar(&f.estimate, "estimate-propensity", false, "estimate missing propensities; nothing is certified then")
	fl.StringVar(&f.skipBad, "skip-bad", "", "write rows that cannot be read to this `file` and go on without them")
	fl.StringSliceVar(&f.actions, "actions", nil, "all actions by name, in order (default: those in the log)")
	fl.BoolVar(&f.cache, "cache", false, "keep what was read in a binary file beside the log")
}

// open reads the log.
func (f *readFlags) open(ctx context.Context, path string) (*decisions.Log, error) {
	if !(f.min < f.max) {
		return nil, errors.New("--reward-min must be below --reward-max")
	}
	o := decisions.Options{Preset: f.preset, Format: f.format, LoggingPolicy: f.logging, EstimatePropensity: f.estimate, SkipBad: f.skipBad, Actions: f.actions, Cache: f.cache}
	if f.set.Changed("reward-min") || f.set.Changed("reward-max") {
		o.RewardMin, o.RewardMax = &f.min, &f.max
	}
	return decisions.Open(ctx, path, o)
}

// readHelp is what the help of those commands says of files.
var readHelp = strings.TrimSpace(`
FILE is CSV (also .gz, .zst), JSON lines or Parquet with the columns action, reward
or cost, propensity; optional are propensities (a list) or p_0 to p_{K-1}, x_* (the
context), decision_id, timestamp, group (of rows that depend on one another) and
weight.`)
