package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/policies/wholefile"
	"opl/train"
	"opl/train/inspect"
	"opl/train/logs"
	"opl/train/ope"
	"opl/train/provenance"
	"opl/train/report/render"
)

// shardFlags are the flags of commands that can work on a shard of a log: on its own files alone.
type shardFlags struct {
	text, out string
	shard     logs.Shard // zero: the whole log
}

func (p *shardFlags) add(fl *pflag.FlagSet) {
	bind(fl, &p.text, "shard", "")
	bind(fl, &p.out, "out", "")
}

// check reads --shard; some other flags have no place beside it.
func (p *shardFlags) check(cmd *cobra.Command, others ...string) (err error) {
	given := cmd.Flags().Changed
	switch {
	case !given("shard") && given("out"):
		return errors.New("--out goes with --shard")
	case !given("shard"):
		return nil
	case p.out == "":
		return errors.New("--shard wants --out, a folder for what opl merge reads")
	}
	for _, name := range others {
		if given(name) {
			return fmt.Errorf("--%s has no place beside --shard, which writes sums: give it to opl merge, if it "+
				"has it", name)
		}
	}
	if p.shard, err = logs.ParseShard(p.text); err != nil {
		err = fmt.Errorf("--%w", err)
	}
	return err
}

// madePartial is the partial result of a shard as its file holds it, with the version that made it.
type madePartial[T any] struct {
	Partial    T              `json:"part"`
	Extensions string         `json:"extensions,omitempty"`
	Versions   train.Versions `json:"versions"`
}

// write writes a partial result of a kind of command, sealed, whole or not at all.
func (p *shardFlags) write(cmd *cobra.Command, open func(context.Context, string) (logs.Bucket, error), kind string,
	partial any) (err error) {
	far := remotes(cmd, open)
	defer func() { err = far.close(err) }()
	dir, err := far.to(p.out)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d-of-%d.part", kind, p.shard.Number, p.shard.Of))
	err = wholefile.WriteSealed(path, madePartial[any]{partial, train.Extensions(), train.ThisVersion()})
	if err == nil {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
	}
	return err
}

// partialsIn lists the partial results in folders, and in folders in them, and their kind. It is no error if there
// are none.
func partialsIn(dirs []string) (kind string, paths []string, err error) {
	for _, dir := range dirs {
		for _, pattern := range []string{"*.part", "*/*.part"} {
			found, err := fs.Glob(os.DirFS(dir), pattern)
			if err != nil {
				return "", nil, err
			}
			for _, name := range found {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
	}
	for _, path := range paths {
		k, _, named := strings.Cut(filepath.Base(path), "-")
		if !named {
			return "", nil, fmt.Errorf("merge: %s is not named as opl names partial results, such as "+
				"certify-1-of-3.part: rename it, or take it away", path)
		}
		if kind = cmp.Or(kind, k); k != kind {
			return "", nil, fmt.Errorf("merge: %s and %s are of different commands", paths[0], path)
		}
	}
	return kind, paths, nil
}

// readPartials reads partial results, strictly, of one version of opl: another one may have other fields, or other
// formulas. One that is damaged is named and left out.
func readPartials[T any](cmd *cobra.Command, paths []string) (partials []T, err error) {
	var first train.Versions
	from := ""
	for _, path := range paths {
		var p madePartial[json.RawMessage]
		err := wholefile.ReadSealed(path, &p)
		switch v, w := first, p.Versions; {
		case err != nil:
		case from == "":
			first, from = w, path
		case v.Opl != w.Opl || v.Commit != w.Commit:
			return nil, fmt.Errorf("merge: %s and %s are of different versions of opl (%s %s, %s %s), "+
				"whose sums may be of other formulas: make them by one", from, path, v.Opl, v.Commit, w.Opl, w.Commit)
		}
		var partial T
		if err == nil {
			d := json.NewDecoder(bytes.NewReader(p.Partial))
			d.DisallowUnknownFields()
			err = d.Decode(&partial)
		}
		if err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "opl: %s is ignored: %v\n", path, err)
			continue
		}
		partials = append(partials, partial)
	}
	if len(partials) == 0 {
		return nil, fmt.Errorf("merge: none of %d partial results can be used", len(paths))
	}
	return partials, nil
}

// mergePartials adds up the partial results of shards. It prints what the command would have printed of the whole log,
// and writes that to a folder as JSON.
func mergePartials(cmd *cobra.Command, kind string, paths []string, out, format string) error {
	var c conclusion
	var err error
	switch kind {
	case "certify":
		c, err = merged(cmd, paths, provenance.Conclude, func(s provenance.Statement) conclusion {
			return conclusion{answer: certifiedOf(s), text: shown(render.Certificate, s), end: statusOf(s)}
		})
	case "evaluate":
		c, err = merged(cmd, paths, ope.Combine, func(r ope.Result) conclusion {
			return conclusion{answer: r.InUnits(), text: tabled(render.Evaluation, format, r)}
		})
	case "inspect":
		c, err = merged(cmd, paths, inspect.Combine, func(r inspect.Report) conclusion {
			return conclusion{answer: r, text: shown(render.Inspection, r), end: inspectedStatus(r)}
		})
	default:
		err = fmt.Errorf("merge: %s is of no command whose partial results can be merged", paths[0])
	}
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := writeAnswer(&text, kind, c.answer, c.end); err != c.end {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	if err := wholefile.WriteBytes(filepath.Join(out, kind+".json"), text.Bytes()); err != nil {
		return err
	}
	if format == "json" {
		_, err = cmd.OutOrStdout().Write(text.Bytes())
	} else {
		err = c.text(cmd.OutOrStdout())
	}
	return cmp.Or(err, c.end)
}

// merged combines the partial results of a command into what it says of the whole log.
func merged[P, R any](cmd *cobra.Command, paths []string, combine func([]P) (R, error),
	say func(R) conclusion) (conclusion, error) {
	partials, err := readPartials[P](cmd, paths)
	if err != nil {
		return conclusion{}, err
	}
	r, err := combine(partials)
	if err != nil {
		return conclusion{}, fmt.Errorf("merge: %w", err)
	}
	return say(r), nil
}
