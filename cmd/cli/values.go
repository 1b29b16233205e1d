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

// bind adds a flag with a default. What it is for stands in help/NAME.txt of the command, or in help/shared.txt.
func bind[T any](fl *pflag.FlagSet, to *T, name string, value T) {
	*to = value
	add(fl, to, name, "")
}

// add adds a flag whose default is the value that it has.
func add(fl *pflag.FlagSet, to any, name, usage string) {
	switch to := to.(type) {
	case *string:
		fl.StringVar(to, name, *to, usage)
	case *bool:
		fl.BoolVar(to, name, *to, usage)
	case *int:
		fl.IntVar(to, name, *to, usage)
	case *int64:
		fl.Int64Var(to, name, *to, usage)
	case *uint64:
		fl.Uint64Var(to, name, *to, usage)
	case *float64:
		fl.Float64Var(to, name, *to, usage)
	case *time.Duration:
		fl.DurationVar(to, name, *to, usage)
	case *[]string:
		fl.StringSliceVar(to, name, *to, usage)
	case *[]int:
		fl.IntSliceVar(to, name, *to, usage)
	case *[]float64:
		fl.Float64SliceVar(to, name, *to, usage)
	case *map[string]string:
		fl.StringToStringVar(to, name, *to, usage)
		fl.Lookup(name).DefValue = ""
	default:
		panic(fmt.Sprintf("cli: --%s: no flag is a %T", name, to))
	}
}

// repeated adds a flag that may be given more than once, for a value each time.
func repeated(fl *pflag.FlagSet, to *[]string, name string) { fl.StringArrayVar(to, name, nil, "") }

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
func oneOf(fl *pflag.FlagSet, to *string, name string, all ...string) {
	bind(fl, to, name, all[0])
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
	oneOf(fl, to, "format", "text", "json")
}

// addVerbose adds --verbose, which [conclusion.write] reads.
func addVerbose(fl *pflag.FlagSet) {
	fl.Bool("verbose", false, "")
}

func addTableFormat(fl *pflag.FlagSet, to *string) {
	oneOf(fl, to, "format", table.Formats()...)
}

// addProbability adds a flag in (0, 1). A default of 0 stands for one that the command finds by itself.
func addProbability(fl *pflag.FlagSet, to *float64, name string, value float64) {
	bind(fl, to, name, value)
	want(fl, name, "a number in (0, 1)", func() bool { return *to > 0 && *to < 1 })
}

// addGamma adds --propensity-error.
func addGamma(fl *pflag.FlagSet, to *float64) {
	bind(fl, to, "propensity-error", 1)
	want(fl, "propensity-error", "a number of at least 1", func() bool { return certify.CheckGamma(*to) == nil })
}

// addCount adds a flag that is at least 1.
func addCount(fl *pflag.FlagSet, to *int, name string, value int) {
	bind(fl, to, name, value)
	want(fl, name, "at least 1", func() bool { return *to >= 1 })
}

// positive adds a flag that is above 0.
func positive[T int | int64 | time.Duration](fl *pflag.FlagSet, to *T, name string, value T) {
	bind(fl, to, name, value)
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
