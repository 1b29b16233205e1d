package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Bucket is a store of files by their keys, as object storage has them.
type Bucket interface {
	// List hands over the objects whose keys begin with prefix, in any order.
	List(ctx context.Context, prefix string, each func(Object) error) error
	// Read opens an object. That there is none is fs.ErrNotExist.
	Read(ctx context.Context, key string) (io.ReadCloser, error)
	Close() error
}

// WritableBucket is a bucket that can be written to, as run folders want.
type WritableBucket interface {
	Bucket
	// Write puts an object in the place of the one of its key, whole or not at all.
	Write(ctx context.Context, key string, text []byte) error
}

// Object is a file in a bucket.
type Object struct {
	Key  string    // path within the bucket
	Size int64     // in bytes; -1: not known before it is read
	Time time.Time // of its last change
	Tag  string    // another one for other content, such as the ETag
}

// file describes one of the files of a log.
type file struct {
	format *format
	packed string
	name   string      // as errors and results call it: its path or URL
	bucket Bucket      // that has the object; nil: name is a path
	object Object      // in it
	fixed  [][2]string // the folders of its path that are called key=value, which stand for columns

	local  string      // a copy of an object, or of standard input; "": there is none
	info   os.FileInfo // before it is read; nil: there is no such file, or it is an object
	left   error       // why it is left out; nil: it is not
	source source      // what was read
}

// Files are the files that an argument names. A folder stands for all files in it and in its folders whose names say
// that they are logs, or for all files if the options give the format. A pattern, such as logs/dt=2026-11-*/*.parquet,
// stands for what it fits, folders included; ** is any number of folders. A URL is read alike, within a bucket that
// o.Bucket opens. Names that begin with . or _ are passed over, if the pattern does not begin
// so. They are in the order of their names, byte by byte. A file of the name of a pattern is that file. Of n shards,
// each has about an n-th of the files, which follow one another.
type Files struct {
	list    []*file
	args    []string
	Passed  int // files of other endings, which were passed over
	buckets []Bucket
	hash    string // of all names and sizes, and of what the options say of reading, if these are a share
}

// Find lists the files of arguments, one after the other, see [Files]. None, or one twice, is an error. The buckets
// stay open until Close.
func Find(ctx context.Context, args []string, o Options) (_ *Files, err error) {
	f := &Files{args: args}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	own := findFormat(func(g *format) bool { return g.name == o.Preset && g.row == "" })
	known := func(name string) bool {
		g, _ := o.formatOf(name)
		return g != nil || o.Format != "" || own != nil
	}
	for _, arg := range args {
		before := len(f.list)
		if scheme, _, remote := strings.Cut(arg, "://"); remote && scheme != "file" {
			err = f.remote(ctx, arg, o.Bucket, known)
		} else {
			err = f.local(strings.TrimPrefix(arg, "file://"), known)
		}
		if err != nil {
			return nil, err
		}
		found := f.list[before:]
		slices.SortFunc(found, func(a, b *file) int { return strings.Compare(a.name, b.name) })
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no file there whose name ends as those of logs do (%s); setting "+
				"input-format reads others", arg, endingsOf(func(*format) bool { return true }))
		}
	}
	seen, alike := map[string]bool{}, map[[2]int64][]int{}
	for i, g := range f.list {
		id := g.id()
		if seen[id] {
			return nil, fmt.Errorf("%s: it is there twice, and so its rows would be", g.name)
		}
		seen[id] = true
		g.fixed = fixedOf(g)
		// if not, reading it says so
		if info, err := os.Stat(g.name); len(f.list) > 1 && g.bucket == nil && err == nil {
			size := [2]int64{info.Size(), info.ModTime().UnixNano()}
			for _, b := range alike[size] {
				if was, err := os.Stat(f.list[b].name); err == nil && os.SameFile(was, info) {
					return nil, fmt.Errorf("%s: it is the file %s by another name, and its rows would be there twice",
						g.name, f.list[b].name)
				}
			}
			alike[size] = append(alike[size], i)
		}
	}
	return f, f.share(&o)
}

// share keeps the files of a shard.
func (f *Files) share(o *Options) error {
	s := o.Share
	if s.Of == 0 {
		return nil
	}
	n := len(f.list)
	if n < s.Of {
		return fmt.Errorf("shard %s: there are only %d files: cut them into fewer shards", s, n)
	}
	h, reading := xxhash.New(), *o
	reading.BadRows = "" // each shard has its own
	fmt.Fprintf(h, "%s %q %v %v\n", key("", &reading, 0), o.LoggingPolicy, o.Logging != nil, o.LoggedByFile)
	for _, g := range f.list {
		size := g.object.Size
		if g.bucket == nil {
			info, err := os.Stat(g.name)
			if err != nil {
				return err
			}
			size = info.Size()
		}
		fmt.Fprintf(h, "%s %d\n", path.Base(filepath.ToSlash(g.name)), size)
	}
	if s.Number < 1 || s.Number > s.Of {
		return fmt.Errorf("share %d of %d: want one from 1 to %d", s.Number, s.Of, max(1, s.Of))
	}
	f.hash = fmt.Sprintf("%d files %016x", n, h.Sum64())
	f.list = f.list[(s.Number-1)*n/s.Of : s.Number*n/s.Of]
	return nil
}

// id returns the URL, or the path from the root.
func (f *file) id() string {
	if f.bucket == nil {
		if abs, err := filepath.Abs(f.name); err == nil {
			return abs
		}
	}
	return f.name
}

// Names returns the paths and URLs of the files.
func (f *Files) Names() []string {
	var names []string
	for _, g := range f.list {
		names = append(names, g.name)
	}
	return names
}

// Copy copies objects to files of the same names in new folders in dir, and returns the paths of all files, those
// that are local as they are.
func (f *Files) Copy(ctx context.Context, dir string) (paths []string, err error) {
	for _, g := range f.list {
		path := g.name
		if g.bucket != nil {
			folder, err := os.MkdirTemp(dir, "")
			if err != nil {
				return nil, err
			}
			path = filepath.Join(folder, filepath.Base(g.object.Key))
			to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return nil, err
			}
			if err := g.copy(ctx, to); err != nil {
				return nil, err
			}
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Close closes the buckets.
func (f *Files) Close() error {
	var err error
	for _, b := range f.buckets {
		err = errors.Join(err, b.Close())
	}
	return err
}

// fixedOf returns the columns that the names of folders give; of two folders of one name, the inner one counts.
func fixedOf(g *file) (fixed [][2]string) {
	name := filepath.ToSlash(g.name)
	if g.bucket != nil {
		name = g.object.Key
	}
	dir, _ := path.Split(name)
	for part := range strings.SplitSeq(dir, "/") {
		key, value, ok := strings.Cut(part, "=")
		if !ok || key == "" {
			continue
		}
		if v, err := url.PathUnescape(value); err == nil {
			value = v
		}
		if value == "__HIVE_DEFAULT_PARTITION__" {
			value = ""
		}
		fixed = slices.DeleteFunc(fixed, func(f [2]string) bool { return f[0] == key })
		fixed = append(fixed, [2]string{key, value})
	}
	return fixed
}

const wild = "*?["

// hidden reports a name that is passed over where no pattern asks for it.
func hidden(name, pattern string) bool {
	return strings.IndexByte("._", name[0]) >= 0 && (pattern == "" || pattern[0] != name[0])
}

// local adds what is at a path.
func (f *Files) local(arg string, known func(string) bool) error {
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return f.walk(arg, nil, known)
	case err == nil || !strings.ContainsAny(arg, wild):
		f.list = append(f.list, &file{name: arg}) // that there is none is said where it is opened
		return nil
	}
	if _, err := path.Match(filepath.ToSlash(arg), ""); err != nil {
		return fmt.Errorf("%s: no pattern: %w", arg, err)
	}
	pattern := strings.Split(filepath.ToSlash(arg), "/")
	root := slices.IndexFunc(pattern, func(part string) bool { return strings.ContainsAny(part, wild) })
	dir := strings.Join(pattern[:root], "/")
	if root > 0 {
		dir += "/" // a link is followed
	}
	if info, err := os.Stat(system(dir)); err != nil || !info.IsDir() {
		return nil
	}
	return f.walk(dir, pattern[root:], known)
}

// system returns a folder's name in the form that the system takes.
func system(dir string) string {
	if dir == "" {
		return "."
	}
	return filepath.FromSlash(dir)
}

// walk adds the files in a folder, and in those in it, that fit a pattern; nil: all. Links to folders are not followed.
func (f *Files) walk(dir string, pattern []string, known func(string) bool) error {
	root := system(dir)
	return filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		key := strings.Split(filepath.ToSlash(rel), "/")
		switch {
		case e.IsDir() && !mayFit(pattern, key):
			return fs.SkipDir
		case e.IsDir() || !fits(pattern, key):
		case known(e.Name()):
			f.list = append(f.list, &file{name: filepath.FromSlash(path.Join(filepath.ToSlash(dir),
				filepath.ToSlash(rel)))})
		default:
			f.Passed++
		}
		return nil
	})
}

// mayFit reports that something in a folder may fit a pattern.
func mayFit(pattern, folder []string) bool {
	for i, name := range folder {
		switch {
		case i >= len(pattern):
			return fits(nil, folder[i:])
		case pattern[i] == "**":
			return !hidden(name, "") || i+1 < len(pattern) && mayFit(pattern[i+1:], folder[i:])
		}
		if ok, _ := path.Match(pattern[i], name); !ok || hidden(name, pattern[i]) {
			return false
		}
	}
	return true
}

// SplitURL cuts scheme://host/key?query behind the host and before the question mark.
func SplitURL(url string) (at, key, query string) {
	scheme, rest, _ := strings.Cut(url, "://")
	rest, query, _ = strings.Cut(rest, "?")
	if query != "" {
		query = "?" + query
	}
	host, key, _ := strings.Cut(rest, "/")
	return scheme + "://" + host, key, query
}

// remote adds what is at a URL.
func (f *Files) remote(ctx context.Context, arg string, open func(context.Context, string) (Bucket, error),
	known func(string) bool) error {
	at, key, query := SplitURL(arg)
	if open == nil {
		scheme, _, _ := strings.Cut(arg, "://")
		return fmt.Errorf("%s: this opl reads only local files; docs/how-to/many-files.md says how to build one "+
			"for %s://", arg, scheme)
	}
	b, err := open(ctx, at+query)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	f.buckets = append(f.buckets, b)
	var pattern []string // of all: none
	if key = strings.TrimSuffix(key, "/"); key != "" {
		pattern = strings.Split(key, "/")
	}
	if _, err := path.Match(key, ""); err != nil {
		return fmt.Errorf("%s: no pattern: %w", arg, err)
	}
	fixed := key
	if i := strings.IndexAny(key, wild); i >= 0 {
		fixed = key[:i]
	}
	err = b.List(ctx, fixed, func(o Object) error {
		switch {
		case strings.HasSuffix(o.Key, "/") || o.Key == "": // a folder, as some stores mark it
		case o.Key != key && !fits(pattern, strings.Split(o.Key, "/")):
		case o.Key == key || known(path.Base(o.Key)):
			f.list = append(f.list, &file{name: at + "/" + o.Key, bucket: b, object: o})
		default:
			f.Passed++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", arg, err)
	}
	return nil
}

// fits reports that a key, or a folder that it is in, fits a pattern.
func fits(pattern, key []string) bool {
	switch {
	case len(pattern) == 0:
		return !slices.ContainsFunc(key, func(name string) bool { return name == "" || hidden(name, "") })
	case len(key) == 0 || key[0] == "":
		return false
	case pattern[0] == "**":
		return fits(pattern[1:], key) || !hidden(key[0], "") && fits(pattern, key[1:])
	}
	ok, _ := path.Match(pattern[0], key[0])
	return ok && !hidden(key[0], pattern[0]) && fits(pattern[1:], key[1:])
}

// remoteError holds what went wrong on the way to a bucket.
type remoteError struct{ err error }

func (e *remoteError) Error() string { return e.err.Error() }
func (e *remoteError) Unwrap() error { return e.err }

// tag identifies the content of an object.
func (f *file) tag() string {
	if f.bucket == nil {
		return ""
	}
	return fmt.Sprint(f.object.Tag, " ", f.object.Size, " ", f.object.Time.UnixNano())
}

// content hashes the file, and checks that it is still as its info says.
func (f *file) content() (s source, err error) {
	info := f.info
	switch {
	case f.bucket != nil:
		return source{Name: f.name, Tag: f.tag()}, nil
	case f.local != "": // standard input
		return source{Name: f.name}, nil
	case info == nil:
		if info, err = os.Stat(f.name); err != nil {
			return source{Name: f.id(), stamp: stamp{Size: -1}}, nil
		}
	}
	s, err = sourceOf(f.name, info)
	s.Name = f.id()
	return s, err
}

// fetch copies an object to a temporary file, local.
func (f *file) fetch(ctx context.Context) error {
	if f.object.Size == 0 {
		return fmt.Errorf("%s: the file is empty", f.name)
	}
	to, err := os.CreateTemp("", "opl-*.object")
	if err != nil {
		return err
	}
	if err := f.copy(ctx, to); err != nil {
		return err
	}
	f.local = to.Name()
	return nil
}

// copy copies an object to a file, which it closes, and removes after an error. The object must not change meanwhile.
func (f *file) copy(ctx context.Context, to *os.File) (err error) {
	defer func() {
		if err = errors.Join(err, to.Close()); err != nil {
			_ = os.Remove(to.Name()) // what went wrong is told
		}
	}()
	from, err := f.bucket.Read(ctx, f.object.Key)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, &remoteError{err})
	}
	n, err := io.Copy(to, from)
	if err = errors.Join(err, from.Close()); err != nil {
		return fmt.Errorf("%s: %w", f.name, &remoteError{err})
	}
	var now *Object
	err = f.bucket.List(ctx, f.object.Key, func(o Object) error {
		if o.Key == f.object.Key {
			now = &o
		}
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", f.name, &remoteError{err})
	case now == nil:
		return fmt.Errorf("%s: gone while it was read: %w", f.name, fs.ErrNotExist)
	case n != f.object.Size && f.object.Size >= 0, now.Tag != f.object.Tag, now.Size != f.object.Size:
		return fmt.Errorf("%s: the file changed while it was read", f.name)
	}
	return nil
}
