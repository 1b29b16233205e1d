package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/train/certify"
	"opl/train/report/table"
)

// limited is a flag whose values have a domain. It refuses others while the command line is read, before any work.
type limited struct {
	pflag.Value
	check func(text string) error
	all   []string // the values, where they have names
}

// Set implements pflag.Value.
func (v limited) Set(text string) error {
	err := v.Value.Set(text)
	if err == nil {
		err = v.check(text)
	}
	return err
}

// limit gives a flag its domain, and the names of its values if they have any.
func limit(fl *pflag.FlagSet, name string, check func(text string) error, all ...string) {
	f := fl.Lookup(name)
	f.Value = limited{f.Value, check, all}
}

// want limits a flag to the values that inside accepts.
func want(fl *pflag.FlagSet, name, want string, inside func() bool) {
	limit(fl, name, func(text string) error {
		if !inside() {
			return fmt.Errorf("--%s %s: want %s", name, text, want)
		}
		return nil
	})
}

// oneOf adds a flag that takes one of several names, by default the first.
func oneOf(fl *pflag.FlagSet, to *string, name, usage string, all ...string) {
	fl.StringVar(to, name, all[0], usage)
	wants := strings.Join(all, ", ")
	if len(all) == 2 {
		wants = strings.Join(all, " or ")
	}
	limit(fl, name, func(text string) error {
		if !slices.Contains(all, text) {
			return fmt.Errorf("--%s %s: want %s", name, text, wants)
		}
		return nil
	}, all...)
}

// addFormat adds --format of a command that writes text or JSON, addTableFormat of one that writes tables.
func addFormat(fl *pflag.FlagSet, to *string) {
	oneOf(fl, to, "format", "output: text, json", "text", "json")
}

// addVerbose adds --verbose, which [conclusion.write] reads.
func addVerbose(fl *pflag.FlagSet) {
	fl.Bool("verbose", false, "the whole text: every check, estimator, bound and condition")
}

func addTableFormat(fl *pflag.FlagSet, to *string) {
	oneOf(fl, to, "format", "output: "+strings.Join(table.Formats(), ", "), table.Formats()...)
}

// addProbability adds a flag in (0, 1). A default of 0 stands for one that the command finds by itself.
func addProbability(fl *pflag.FlagSet, to *float64, name string, value float64, usage string) {
	fl.Float64Var(to, name, value, usage)
	want(fl, name, "a number in (0, 1)", func() bool { return *to > 0 && *to < 1 })
}

// addGamma adds --propensity-error.
func addGamma(fl *pflag.FlagSet, to *float64, usage string) {
	fl.Float64Var(to, "propensity-error", 1, "Γ: "+usage)
	want(fl, "propensity-error", "a number of at least 1", func() bool { return certify.CheckGamma(*to) == nil })
}

// addCount adds a flag that is at least 1.
func addCount(fl *pflag.FlagSet, to *int, name string, value int, usage string) {
	fl.IntVar(to, name, value, usage)
	want(fl, name, "at least 1", func() bool { return *to >= 1 })
}

// positive adds a flag that is above 0.
func positive[T int | int64 | time.Duration](fl *pflag.FlagSet, to *T, name string, value T, usage string) {
	switch to := any(to).(type) {
	case *int:
		fl.IntVar(to, name, int(value), usage)
	case *int64:
		fl.Int64Var(to, name, int64(value), usage)
	case *time.Duration:
		fl.DurationVar(to, name, time.Duration(value), usage)
	}
	limit(fl, name, func(string) error {
		if *to <= 0 {
			return fmt.Errorf("--%s: want more than 0", name)
		}
		return nil
	})
}

// flagFault returns the error of a flag that cannot be read: that of its domain, or pflag's with a pointer to the help.
func flagFault(c *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if _, ok := bad.GetFlag().Value.(limited); ok && strings.HasPrefix(bad.Unwrap().Error(), "--") {
			return bad.Unwrap()
		}
	}
	return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
}
