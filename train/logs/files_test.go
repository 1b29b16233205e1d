package logs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"opl/train/logs"
)

// lines are rows of a log of CSV.
func lines(from, to int) (s []string) {
	for i := from; i < to; i++ {
		s = append(s, fmt.Sprintf("d%d,%c,%d,0.5,%d\n", i, "ab"[i%2], i*5/3%2, i%13))
	}
	return s
}

const csvHeader = "decision_id,action,reward,propensity,x_u\n"

// What an argument stands for, and in which order.
func TestFind_OrdersWhatAnArgumentStandsFor(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"logs/dt=1/b.csv", "logs/dt=1/a.parquet", "logs/dt=2/a.csv.gz", "logs/dt=2/_SUCCESS", "logs/dt=2/.a.csv.opl-cache", "logs/_tmp/x.csv", "logs/notes.txt", "logs/c[1].csv", "z.csv", "logs/dt=10/deep/er/y.jsonl"} {
		write(t, name, "x")
	}
	for arg, want := range map[string][]string{
		"logs":             {"logs/c[1].csv", "logs/dt=1/a.parquet", "logs/dt=1/b.csv", "logs/dt=10/deep/er/y.jsonl", "logs/dt=2/a.csv.gz"},
		"logs/dt=*":        {"logs/dt=1/a.parquet", "logs/dt=1/b.csv", "logs/dt=10/deep/er/y.jsonl", "logs/dt=2/a.csv.gz"},
		"logs/dt=?/*.csv*": {"logs/dt=1/b.csv", "logs/dt=2/a.csv.gz"},
		"logs/*/b.csv":     {"logs/dt=1/b.csv"},
		"logs/**/*.jsonl":  {"logs/dt=10/deep/er/y.jsonl"},
		"**/*.csv":         {"logs/c[1].csv", "logs/dt=1/b.csv", "z.csv"},
		"logs/c[1].csv":    {"logs/c[1].csv"}, // a file of that name
		"logs/dt=[13-9]":   {"logs/dt=1/a.parquet", "logs/dt=1/b.csv"},
		"logs/_t*/*.csv":   {"logs/_tmp/x.csv"},
		"nothing.csv":      {"nothing.csv"}, // opening it says so
		"logs/dt=3/*.csv":  nil,
		"logs/[":           nil,
	} {
		t.Run(arg, func(t *testing.T) {
			f, err := logs.Find(context.Background(), []string{arg}, logs.Options{})
			if (err != nil) != (want == nil) {
				t.Errorf("%v", err)
				return
			}
			if err == nil && !reflect.DeepEqual(f.Names(), want) {
				t.Errorf("%q, want %q", f.Names(), want)
			}
			// A bucket of the same names has the same files.
			b := bucket{}
			for _, name := range []string{"logs/dt=1/b.csv", "logs/dt=1/a.parquet", "logs/dt=2/a.csv.gz", "logs/dt=2/_SUCCESS", "logs/dt=2/.a.csv.opl-cache", "logs/_tmp/x.csv", "logs/notes.txt", "logs/c[1].csv", "z.csv", "logs/dt=10/deep/er/y.jsonl", "logs/"} {
				b[name] = "x"
			}
			if arg == "nothing.csv" || strings.Contains(arg, "?") { // with which the query of a URL begins
				return
			}
			f, err = logs.Find(context.Background(), []string{"mem://b/" + arg}, logs.Options{Hooks: logs.Hooks{Bucket: b.open}})
			if (err != nil) != (want == nil) {
				t.Errorf("mem %s: %v", arg, err)
			} else if err == nil {
				for i, name := range f.Names() {
					if name != "mem://b/"+want[i] || len(want) != len(f.Names()) {
						t.Errorf("mem %s: %q, want %q", arg, f.Names(), want)
					}
				}
			}
		})
	}
	if _, err := logs.Find(context.Background(), []string{"logs/dt=1", "./logs/dt=1/b.csv"}, logs.Options{}); err == nil || !strings.Contains(err.Error(), "b.csv: it is there twice") {
		t.Error(err)
	}
	for name, link := range map[string]func(string, string) error{"link.csv": os.Symlink, "hard.csv": os.Link} {
		t.Run(name, func(t *testing.T) {
			if err := link("z.csv", name); err != nil {
				t.Log(err) // of a system without
				return
			}
			if _, err := logs.Find(context.Background(), []string{"*.csv"}, logs.Options{}); err == nil || !strings.Contains(err.Error(), "z.csv: it is the file "+name+" by another name") {
				t.Error(err)
			}
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		})
	}
	if f, err := logs.Find(context.Background(), []string{"z.csv", "logs/dt=1"}, logs.Options{}); err != nil || f.Names()[0] != "z.csv" {
		t.Error("arguments are not in their order", err)
	}
}

// bucket is a store in memory, of contents by key.
type bucket map[string]string

func (b bucket) open(context.Context, string) (logs.Bucket, error) { return b, nil }

func (b bucket) List(_ context.Context, prefix string, each func(logs.Object) error) error {
	for key, text := range b {
		if strings.HasPrefix(key, prefix) {
			if err := each(logs.Object{Key: key, Size: int64(len(text)), Tag: fmt.Sprint(len(text), text[:min(9, len(text))])}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b bucket) Read(_ context.Context, key string) (io.ReadCloser, error) {
	text, ok := b[key]
	switch {
	case strings.HasPrefix(text, "growing"):
		text += csvHeader
	case strings.HasPrefix(text, "network"):
		return nil, errors.New("the network is gone")
	case !ok || strings.HasPrefix(text, "gone"):
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (b bucket) Close() error { return nil }

// A file that cannot be read is named, or left out and counted; what may be read tomorrow is an error in any case.
func TestFiles_ThatFailAreNamedOrLeftOut(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	all := csvHeader + strings.Join(lines(0, 90), "")
	parquet := func(path string) string {
		w, err := logs.Create(path, logs.WriterOptions{Actions: []string{"a", "b"}, Names: []string{"x_u"}})
		if err != nil {
			t.Fatal(err)
		}
		l := read(t, logs.Options{NoCache: true}, filepath.Join(filepath.Dir(path), "first.csv"))
		var d logs.Decision
		for i := range l.Len() {
			l.Decision(i, &d)
			d.ID = "p" + d.ID
			if err := w.Write(&d); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return contents(t, path)
	}
	for name, c := range map[string]struct {
		make func(dir string) // of a third file beside first.csv and second.csv
		want string
		rows int // of it that are kept by skip-bad, where it is not left out
		bad  int
	}{
		"damaged": {make: func(dir string) {
			text := []byte(parquet(filepath.Join(dir, "third.parquet")))
			copy(text[len(text)/3:], bytes.Repeat([]byte{0xff}, 64))
			write(t, filepath.Join(dir, "third.parquet"), string(text))
		}, want: "third.parquet: .*damaged"},
		"cut off": {make: func(dir string) {
			text := parquet(filepath.Join(dir, "third.parquet"))
			write(t, filepath.Join(dir, "third.parquet"), text[:len(text)-300])
		}, want: "third.parquet: .*it has no end: is it still being written"},
		"another schema": {make: func(dir string) {
			write(t, filepath.Join(dir, "third.csv"), "decision_id,action,reward,propensity,x_v\n"+strings.Join(lines(90, 99), ""))
		}, want: "third.csv: other columns than .*first.csv has: it has no column x_u, it has x_v more"},
		"no log": {make: func(dir string) { write(t, filepath.Join(dir, "third.csv"), "a,b\n1,2\n") }, want: "third.csv: no column action"},
		"empty":  {make: func(dir string) { write(t, filepath.Join(dir, "third.csv"), "") }, want: "third.csv: the file is empty"},
		"gone": {make: func(dir string) {
			if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "third.csv")); err != nil {
				t.Fatal(err)
			}
		}, want: "third.csv: no such file"},
		"other propensities": {make: func(dir string) {
			write(t, filepath.Join(dir, "third.jsonl"), `{"decision_id":"j","action":"a","reward":1,"x_u":3}`+"\n")
		}, want: "third.jsonl: row 1, column propensity: missing, while the rows before have it", bad: 1},
		"no end": {make: func(dir string) {
			write(t, filepath.Join(dir, "third.csv"), csvHeader+strings.TrimSuffix(strings.Join(lines(90, 94), ""), "\n"))
		}, want: "third.csv: row 4, the last line has no end: is the file still being written", rows: 3, bad: 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "first.csv"), csvHeader+strings.Join(lines(0, 50), ""))
			write(t, filepath.Join(dir, "second.csv"), csvHeader+strings.Join(lines(50, 90), ""))
			c.make(dir)
			_, err := logs.OpenAll(context.Background(), []string{dir}, logs.Options{})
			if err == nil || !matches(c.want, err.Error()) {
				t.Errorf("error %v, want %s", err, c.want)
			}
			o := logs.Options{BadRows: filepath.Join(t.TempDir(), "bad")}
			for range 2 {
				l := read(t, o, dir)
				if left := map[bool]int{true: 1}[c.bad == 0]; l.Len() != 90+c.rows || l.LeftOut != left || l.Skipped != c.bad || !strings.Contains(contents(t, o.BadRows), "third.") ||
					left > 0 && !slices.ContainsFunc(l.Notes, func(n string) bool { return strings.Contains(n, "1 of 3 files were left out") }) {
					t.Errorf("%d rows, %d files and %d rows left out, notes %q, %s", l.Len(), l.LeftOut, l.Skipped, l.Notes, contents(t, o.BadRows))
				}
			}
		})
	}
	whole := filepath.Join(t.TempDir(), "whole.csv")
	write(t, whole, all)
	want := read(t, logs.Options{}, whole)
	b := bucket{"l/1.csv": csvHeader + strings.Join(lines(0, 50), ""), "l/2.csv": csvHeader + strings.Join(lines(50, 90), "")}
	o := logs.Options{Hooks: logs.Hooks{Bucket: b.open}}
	same(t, read(t, o, "mem://b/l"), want)
	same(t, read(t, o, "mem://b/l/*.csv"), want)
	o.BadRows = filepath.Join(t.TempDir(), "bad")
	b["l/3.csv"] = "gone"
	if _, err := logs.OpenAll(context.Background(), []string{"mem://b/l"}, logs.Options{Hooks: logs.Hooks{Bucket: b.open}}); err == nil || !strings.Contains(err.Error(), "mem://b/l/3.csv") {
		t.Error(err)
	}
	if l := read(t, o, "mem://b/l"); l.Len() != 90 || l.LeftOut != 1 {
		t.Errorf("%d rows, %d files left out", l.Len(), l.LeftOut)
	}
	b["l/3.csv"] = "network"
	if _, err := logs.OpenAll(context.Background(), []string{"mem://b/l"}, o); err == nil || !strings.Contains(err.Error(), "mem://b/l/3.csv: the network is gone") {
		t.Errorf("a file is left out that may be there: %v", err)
	}
	b["l/3.csv"] = "growing"
	if _, err := logs.OpenAll(context.Background(), []string{"mem://b/l"}, logs.Options{Hooks: logs.Hooks{Bucket: b.open}}); err == nil || !strings.Contains(err.Error(), "mem://b/l/3.csv: the file changed while it was read") {
		t.Error(err)
	}
	delete(b, "l/3.csv")
	b["l/2.csv"] = csvHeader + strings.Join(lines(50, 89), "") // another ETag
	if l := read(t, o, "mem://b/l"); l.Len() != 89 {
		t.Errorf("%d rows: the cache is of the object before", l.Len())
	}
}

// matches reports that the parts of a pattern, between .*, come in a text in their order.
func matches(pattern, text string) bool {
	for part := range strings.SplitSeq(pattern, ".*") {
		_, after, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = after
	}
	return true
}

// The cache of several files is read as long as none of them is new, gone or another, and made again then; what damages it
// is seen.
func TestCache_OfSeveralFilesSeesNewAndLostOnes(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	for i := range 4 {
		write(t, filepath.Join(dir, fmt.Sprintf("%d.csv", i)), csvHeader+strings.Join(lines(20*i, 20*i+20), ""))
	}
	var cache string
	var was os.FileInfo
	// again opens the files, and reports whether the cache was written.
	again := func(rows int, o logs.Options, args ...string) bool {
		t.Helper()
		if l := read(t, o, args...); l.Len() != rows {
			t.Errorf("%d rows, want %d", l.Len(), rows)
		}
		found, err := filepath.Glob(filepath.Join(dir, ".*.opl-cache"))
		if err != nil || len(found) != 1 || cache != "" && found[0] != cache {
			t.Fatalf("%q, %v", found, err)
		}
		before := was
		cache = found[0]
		if was, err = os.Stat(cache); err != nil {
			t.Fatal(err)
		}
		return before == nil || !os.SameFile(before, was)
	}
	bad := filepath.Join(t.TempDir(), "bad")
	for i, c := range []struct {
		change  func()
		rows    int
		written bool
	}{
		{func() {}, 80, true},
		{func() {}, 80, false},
		{func() { write(t, filepath.Join(dir, "4.csv"), csvHeader+strings.Join(lines(80, 100), "")) }, 100, true},
		{func() {}, 100, false},
		{func() { write(t, filepath.Join(dir, "1.csv"), csvHeader+strings.Join(lines(20, 41), "")) }, 101, true},
		{func() {
			text := []byte(contents(t, cache))
			text[len(text)/2] ^= 1
			write(t, cache, string(text))
		}, 101, true},
		{func() {
			if err := os.Remove(filepath.Join(dir, "4.csv")); err != nil {
				t.Fatal(err)
			}
		}, 81, true},
		{func() { write(t, filepath.Join(dir, "5.csv"), "") }, 81, true}, // it is left out
		{func() {}, 81, false},
		{func() { write(t, filepath.Join(dir, "5.csv"), csvHeader+strings.Join(lines(100, 110), "")) }, 91, true}, // and no more
	} {
		c.change()
		if got := again(c.rows, logs.Options{BadRows: bad}, dir); got != c.written {
			t.Errorf("%d: written %v, want %v", i, got, c.written)
		}
	}
	// A column that is a category by a later file is one in all, as in one file.
	write(t, filepath.Join(dir, "6.csv"), csvHeader+strings.Repeat("e,a,1,0.5,unknown\n", 30))
	l := read(t, logs.Options{}, dir)
	if !slices.Contains(l.Names(), "x_u=3") || slices.Contains(l.Names(), "x_u") {
		t.Errorf("names %q", l.Names())
	}
	// None is left where none is wanted.
	if err := os.Remove(cache); err != nil {
		t.Fatal(err)
	}
	read(t, logs.Options{NoCache: true}, dir)
	if found, err := filepath.Glob(filepath.Join(dir, ".*.opl-cache")); len(found) != 0 || err != nil {
		t.Errorf("%q, %v", found, err)
	}
}

// Folders called key=value stand for columns, as if the files had them.
func TestFolders_NamedKeyValueAreColumns(t *testing.T) {
	dir := t.TempDir()
	one := "action,reward,propensity,x_u,x_land,timestamp\n"
	for i, land := range []string{"NO", "SE", "7"} {
		text := "action,reward,propensity,x_u\n"
		for j := range 12 {
			line := fmt.Sprintf("%c,1,0.5,%d", "ab"[j%2], j)
			text += line + "\n"
			one += fmt.Sprintf("%s,%s,2026-11-0%d\n", line, land, i+1)
		}
		write(t, filepath.Join(dir, "logs", "x_land="+land, fmt.Sprintf("day=2026-11-0%d", i+1), "p.csv"), text)
	}
	order := filepath.Join(dir, "one.csv")
	write(t, order, one)
	got := read(t, logs.Options{Columns: map[string]string{"timestamp": "day"}}, filepath.Join(dir, "logs", "x_land=NO"), filepath.Join(dir, "logs", "x_land=SE"), filepath.Join(dir, "logs", "x_land=7"))
	same(t, got, read(t, logs.Options{}, order))
	if !slices.Contains(got.Names(), "x_land=SE") {
		t.Error(got.Names())
	}
	// One file, too; and what the file itself has goes before.
	l := read(t, logs.Options{}, filepath.Join(dir, "logs", "x_land=NO", "day=2026-11-01", "p.csv"))
	if !slices.Contains(l.Names(), "x_land=NO") {
		t.Error(l.Names())
	}
	write(t, filepath.Join(dir, "x_u=100", "p.csv"), "action,reward,propensity,x_u\na,1,0.5,3\nb,0,0.5,4\n")
	var d logs.Decision
	l = read(t, logs.Options{}, filepath.Join(dir, "x_u=100", "p.csv"))
	if l.Decision(0, &d); len(d.Context) != 1 || d.Context[0].Number != 3 {
		t.Errorf("%+v", d)
	}
	// One that lacks the folder is of other columns.
	write(t, filepath.Join(dir, "logs", "q.csv"), "action,reward,propensity,x_u\na,1,0.5,3\n")
	if _, err := logs.OpenAll(context.Background(), []string{filepath.Join(dir, "logs")}, logs.Options{}); err == nil || !strings.Contains(err.Error(), "x_land") {
		t.Error(err)
	}
}

// Rows that do not say who logged them were logged by a policy of their file's name, where that is asked for.
func TestFiles_NameTheLoggingPolicyWhereAsked(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.csv"), "action,reward,propensity\nl,1,0.5\nr,0,0.5\n")
	write(t, filepath.Join(dir, "b.v2.csv"), "action,reward,propensity\nl,1,0.5\nr,0,0.5\n")
	if l := read(t, logs.Options{LoggedByFile: true}, dir); !slices.Equal(l.Policies, []string{"a", "b"}) || !slices.Equal(l.Logger, []int32{0, 0, 1, 1}) {
		t.Errorf("%q, %v", l.Policies, l.Logger)
	}
	if l := read(t, logs.Options{}, dir); l.Logger != nil {
		t.Error(l.Logger)
	}
}
