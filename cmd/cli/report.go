package cli

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/policies/wholefile"
	"opl/train"
	"opl/train/logs"
	"opl/train/report/html"
)

// reportFlag is --report of the commands that conclude something: it writes a page to share.
type reportFlag struct {
	path  string
	files []readFile
}

// readFile is a file that the command reads, as it was before the work.
type readFile struct {
	html.File
	was os.FileInfo
}

func (r *reportFlag) add(fl *pflag.FlagSet) {
	bind(fl, &r.path, "report", "")
}

// written are the flags that name what a command writes.
var written = []string{"report", "out", "plot", "curves", "skip-bad", "cache"}

// given calls f for what may be a file among the arguments of a command: for the role of each its path.
func given(cmd *cobra.Command, f func(role, path string)) {
	for _, a := range cmd.Flags().Args() {
		for _, path := range filesOf(cmd, a) {
			f("argument", path)
		}
	}
	cmd.Flags().Visit(func(fl *pflag.Flag) {
		values := []string{fl.Value.String()}
		if list, ok := fl.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			f(fl.Name, v)
			if _, path, named := strings.Cut(v, "="); named { // NAME=TARGET
				f(fl.Name, path)
			}
		}
	})
}

// filesOf returns the files that an argument stands for: those of a folder or pattern, or else the argument itself.
func filesOf(cmd *cobra.Command, arg string) []string {
	var o logs.Options
	for name, to := range map[string]*string{"input-format": &o.Format, "preset": &o.Preset} {
		if fl := cmd.Flags().Lookup(name); fl != nil {
			*to = fl.Value.String()
		}
	}
	f, err := logs.Find(cmd.Context(), []string{arg}, o)
	if err != nil { // no log, or one that opening says it of
		return []string{arg}
	}
	return f.Names()
}

// check refuses, before the work, a page that cannot be written, or that would replace what the command reads
// or writes.
func (r *reportFlag) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch ext := strings.ToLower(filepath.Ext(r.path)); {
	case !changed("report"):
		return nil
	case ext != ".html" && ext != ".htm":
		return fmt.Errorf("--report %s: want a name ending in .html", r.path)
	}
	for _, name := range []string{"shard", "dry-run", "submit"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return fmt.Errorf("--report has no place beside --%s, which concludes nothing", name)
		}
	}
	if err := writable("report", r.path); err != nil {
		return err
	}
	var err error
	given(cmd, func(role, path string) {
		switch {
		case role == "report" || !same(path, r.path):
			err = cmp.Or(err, r.read(role, path))
		case role == "argument":
			err = fmt.Errorf("--report %s: it would be written over what is read", r.path)
		default:
			err = cmp.Or(err, fmt.Errorf("--report %s: it would be written over what --%s names", r.path, role))
		}
	})
	return err
}

// read notes a file that the command reads, before it does.
func (r *reportFlag) read(role, path string) error {
	info, err := os.Stat(path)
	known := func(f readFile) bool { return f.Name == path }
	if err != nil || !info.Mode().IsRegular() || slices.Contains(written, role) || slices.ContainsFunc(r.files, known) {
		return nil
	}
	f := readFile{html.File{Name: path, Role: role, Bytes: info.Size()}, info}
	f.SHA256, err = hashOf(path)
	r.files = append(r.files, f)
	return err
}

// same reports whether two paths are of one file, whether or not it is there.
func same(a, b string) bool {
	if x, err := os.Stat(a); err == nil {
		y, err := os.Stat(b)
		return err == nil && os.SameFile(x, y)
	}
	x, errA := filepath.Abs(a)
	y, errB := filepath.Abs(b)
	return a != "" && errA == nil && errB == nil && x == y
}

// write fills in what made a page, and writes it, whole or not at all.
func (r *reportFlag) write(cmd *cobra.Command, page html.Page) error {
	if r.path == "" {
		return nil
	}
	page.By = cmd.CommandPath()
	r.made(cmd, &page)
	flags := flagsOf(cmd.Root().Commands())
	if err := wholefile.Write(r.path, 0, func(to *os.File) error {
		return page.Write(flagWriter(to, flags))
	}); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return nil
}

// made says what makes a page again: the command, the versions, the files that were read, all settings.
func (r *reportFlag) made(cmd *cobra.Command, page *html.Page) {
	args, _ := cmd.Context().Value(argsKey{}).([]string)
	m := &page.Made
	m.Command = public(strings.Join(quoted(append([]string{cmd.Root().Name()}, args...)), " "))
	v := train.ThisVersion()
	add := func(name, value string) {
		if value != "" {
			m.Facts = append(m.Facts, html.Fact{Name: name, Value: value})
		}
	}
	add("version", v.Opl)
	add("commit", v.Commit)
	add("Go", v.Go)
	add("system", strings.TrimSpace(v.System+" "+train.Extensions()))
	if f := cmd.Flags().Lookup("seed"); f != nil {
		seeds := f.Value.String()
		if n := cmd.Flags().Lookup("seeds"); n != nil && n.Changed {
			seeds = fmt.Sprintf("%s seeds from %s on", n.Value, seeds)
		}
		add("seed", seeds)
	}
	for _, f := range r.files {
		if now, err := os.Stat(f.Name); err != nil || now.Size() != f.was.Size() ||
			!now.ModTime().Equal(f.was.ModTime()) {
			f.Role += ", changed since"
		}
		m.Files = append(m.Files, f.File)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if value := strings.Trim(f.Value.String(), "[]"); value != "" && value != "NaN" && f.Name != "help" {
			m.Settings = append(m.Settings, html.Fact{Name: f.Name, Value: public(value)})
		}
	})
	read := texts(m.Files, func(f html.File) string { return filepath.Base(f.Name) })
	if n := len(read); n > 5 {
		read = append(read[:4], fmt.Sprintf("%d more files", n-4))
	}
	if read != nil && page.Subject != "" {
		page.Subject = strings.Join(read, ", ") + ": " + page.Subject
	} else {
		page.Subject += strings.Join(read, ", ")
	}
}

func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// quoted quotes arguments for a shell.
func quoted(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		switch plain := strings.Trim(a,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./,:@%") == ""; {
		case plain && a != "":
		case strconv.CanBackquote(a) || !strings.ContainsFunc(a, func(r rune) bool { return r < ' ' }):
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		default:
			out[i] = "$" + "'" + strings.ReplaceAll(strings.Trim(strconv.QuoteToASCII(a), `"`), "'", `\'`) + "'"
		}
	}
	return out
}
