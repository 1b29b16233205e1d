package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	"opl/train/report/table"
)

// partFlags are those of commands over a log of which a part of the rows can be summed.
type partFlags struct {
	text, out, by string
	shard         logs.Shard
}

// byFiles reports that a shard of the files is asked for.
func (p *partFlags) byFiles() bool { return p.shard.Of > 0 }

func (p *partFlags) add(fl *pflag.FlagSet) {
	addShard(fl, &p.text)
	fl.StringVar(&p.by, "shard-by", "files", "what --shard cuts: files, of which each shard reads its own")
	fl.StringVar(&p.out, "out", "", "`folder` for the sums of --shard, or its URL")
}

// check reads the flags; some others have no place beside --shard.
func (p *partFlags) check(cmd *cobra.Command, others ...string) (err error) {
	given := cmd.Flags().Changed
	switch {
	case !given("shard") && (given("out") || given("shard-by")):
		return errors.New("--out and --shard-by go with --shard")
	case p.by != "files":
		return fmt.Errorf("--shard-by %s: shards of a log are of its files, each of which one shard reads: want files", p.by)
	case !given("shard"):
		return nil
	case p.out == "":
		return errors.New("--shard wants --out, a folder for what opl merge reads")
	}
	for _, name := range others {
		if given(name) {
			return fmt.Errorf("--%s has no place beside --shard, which writes sums: give it to opl merge, if it has it", name)
		}
	}
	if p.shard, err = logs.ParseShard(p.text); err != nil {
		err = fmt.Errorf("--%w", err)
	}
	return err
}

// madePart is the content of a file of a part, with what made it.
type madePart[T any] struct {
	Part       T              `json:"part"`
	Extensions string         `json:"extensions,omitempty"`
	Versions   train.Versions `json:"versions"`
}

// write writes a part of a kind, sealed, whole or not at all.
func (p *partFlags) write(cmd *cobra.Command, open func(context.Context, string) (logs.Bucket, error), kind string, part any) (err error) {
	far := remotes(cmd, open)
	defer func() { err = far.close(err) }()
	dir, err := far.to(p.out)
	if err != nil {
		return err
	}
	text, err := json.Marshal(madePart[any]{part, train.Extensions(), train.ThisVersion()})
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d-of-%d.part", kind, p.shard.Number, p.shard.Of))
	if err == nil {
		err = wholefile.WriteBytes(path, append(wholefile.Seal(text), '\n'))
	}
	if err == nil {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
	}
	return err
}

// partsIn lists the parts in folders, and in folders in them, and their kind; none is no error.
func partsIn(dirs []string) (kind string, paths []string, err error) {
	for _, dir := range dirs {
		for _, pattern := range []string{"*.part", "*/*.part"} {
			found, err := filepath.Glob(filepath.Join(escape(dir), pattern))
			if err != nil {
				return "", nil, err
			}
			paths = append(paths, found...)
		}
	}
	for _, path := range paths {
		k, _, _ := strings.Cut(filepath.Base(path), "-")
		if kind == "" {
			kind = k
		}
		if k != kind {
			return "", nil, fmt.Errorf("merge: %s and %s are of different commands", paths[0], path)
		}
	}
	return kind, paths, nil
}

// escape is a path that stands for itself in a pattern.
func escape(path string) string {
	return strings.NewReplacer("[", `\[`, "*", `\*`, "?", `\?`, `\`, `\\`).Replace(path)
}

// readParts reads parts, strictly, of one version of opl. One that is damaged is as good as missing: it is
// named, and left out.
func readParts[T any](cmd *cobra.Command, paths []string) (parts []T, err error) {
	bad := 0
	var first train.Versions
	var from string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		object, sealed, err := wholefile.Unseal(bytes.TrimSpace(text))
		if err == nil && !sealed {
			err = errors.New("it has no checksum")
		}
		var by struct {
			Versions train.Versions `json:"versions"`
		}
		if err == nil {
			err = json.Unmarshal(object, &by)
		}
		switch v, w := first, by.Versions; {
		case err != nil:
		case from == "":
			first, from = w, path
		case v.Opl != w.Opl || v.Commit != w.Commit: // which may have other fields
			return nil, fmt.Errorf("merge: %s and %s are of different versions of opl (%s %s, %s %s), whose sums may be of other formulas: make them by one",
				from, path, v.Opl, v.Commit, w.Opl, w.Commit)
		}
		var p madePart[T]
		if err == nil {
			d := json.NewDecoder(bytes.NewReader(object))
			d.DisallowUnknownFields()
			err = d.Decode(&p)
		}
		if err != nil {
			bad++
			fmt.Fprintf(cmd.ErrOrStderr(), "opl: %s is ignored: %v\n", path, err)
			continue
		}
		parts = append(parts, p.Part)
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("merge: none of %d parts can be used", bad)
	}
	return parts, nil
}

// mergeParts puts the sums of shards together, and writes what the command would have printed as JSON to a folder.
func mergeParts(cmd *cobra.Command, kind string, paths []string, out, format string) error {
	var result any
	var print func() error
	var status error
	stdout := cmd.OutOrStdout()
	switch kind {
	case "certify":
		parts, err := readParts[provenance.Partial](cmd, paths)
		if err != nil {
			return err
		}
		s, err := provenance.Conclude(parts)
		if err != nil {
			return fmt.Errorf("merge: %w", err)
		}
		result, print, status = certifiedOf(s), func() error { return s.WriteText(stdout) }, statusOf(s)
	case "evaluate":
		if !slices.Contains(table.Formats(), format) {
			return fmt.Errorf("--format %s: want %s", format, strings.Join(table.Formats(), ", "))
		}
		parts, err := readParts[ope.Partial](cmd, paths)
		if err != nil {
			return err
		}
		r, err := ope.Combine(parts)
		if err != nil {
			return fmt.Errorf("merge: %w", err)
		}
		result, print = r.InUnits(), func() error { return render.Evaluation(stdout, table.Format(format), r) }
	case "inspect":
		parts, err := readParts[inspect.Partial](cmd, paths)
		if err != nil {
			return err
		}
		r, err := inspect.Combine(parts)
		if err != nil {
			return fmt.Errorf("merge: %w", err)
		}
		result, print, status = r, func() error { return r.WriteText(stdout) }, inspectedStatus(r)
	default:
		return fmt.Errorf("merge: %s is of no command whose parts can be merged", paths[0])
	}
	var text bytes.Buffer
	err := writeAnswer(&text, kind, result, status)
	if err == status {
		err = os.MkdirAll(out, 0o777)
	}
	if err == nil {
		err = wholefile.WriteBytes(filepath.Join(out, kind+".json"), text.Bytes())
	}
	if err == nil && format == "json" {
		_, err = stdout.Write(text.Bytes())
	} else if err == nil {
		err = print()
	}
	if err != nil {
		return err
	}
	return status
}
