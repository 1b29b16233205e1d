package experiment

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"opl/train/logs"
)

// Mirror is a local folder that stands for one in a bucket, whose objects cannot be appended to,
// while a command works. Pull brings what commands read, Push takes there what is new.
//
// New lines of ResultsFile and TimesFile go to objects of their own in the folder [WrittenFolder]
// beside these files, under names that no other process has. These are never removed, and Pull
// reads them, so that processes that write to one folder lose nothing of each other. The files
// themselves are written in the end, by [Mirror.Push]: they are those of a local folder.
type Mirror struct {
	Dir string // local
	URL string // without what follows a question mark, as errors say it

	mu     sync.Mutex
	bucket logs.Bucket
	prefix string // of keys
	id     string // in the names of what this process writes
	pulled map[string]logs.Object
	known  map[string]map[[32]byte]bool // lines that the bucket has, by file
	whole  map[string][32]byte          // files as the bucket has them
	sizes  map[string]fs.FileInfo       // files of lines as they were looked through
	parts  map[string]*written
}

// written is the object that lines of a file go to, until it is large.
type written struct {
	number int
	text   []byte
}

// WrittenFolder is the folder of a [Mirror]'s objects of lines.
const WrittenFolder = "written"

const largeObject = 1 << 20

// lineFiles are appended to line by line.
var lineFiles = []string{ResultsFile, TimesFile}

// NewMirror makes a new local folder for the folder at a URL, in a bucket that open opens, and pulls.
func NewMirror(ctx context.Context, url string, open func(ctx context.Context, bucket string) (logs.Bucket,
	error)) (*Mirror, error) {
	at, key, query := logs.SplitURL(url)
	key = strings.Trim(key, "/")
	m := &Mirror{URL: strings.TrimSuffix(at+"/"+key, "/"), id: rand.Text(), pulled: map[string]logs.Object{},
		known: map[string]map[[32]byte]bool{}, whole: map[string][32]byte{}, sizes: map[string]fs.FileInfo{},
		parts: map[string]*written{}}
	if key != "" {
		m.prefix = key + "/"
	}
	var err error
	if m.bucket, err = open(ctx, at+query); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if m.Dir, err = os.MkdirTemp("", "opl-"); err != nil {
		return nil, errors.Join(err, m.bucket.Close())
	}
	if err := m.Pull(ctx); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Join returns the path or URL of names below a folder at a path or URL.
func Join(folder string, names ...string) string {
	if !strings.Contains(folder, "://") {
		return filepath.Join(append([]string{folder}, names...)...)
	}
	at, key, query := logs.SplitURL(folder)
	return at + "/" + strings.TrimPrefix(path.Join(append([]string{key}, names...)...), ".") + query
}

// target returns the file that an object belongs to, "" if no command reads it, and whether the object has lines of it.
func target(rel string) (file string, lines bool) {
	dir, name := path.Split(rel)
	for _, l := range lineFiles {
		if name == l {
			return rel, true
		}
		if path.Base(dir) == WrittenFolder && strings.HasSuffix(name, "-"+l) {
			return path.Join(dir, "..", l), true
		}
	}
	if slices.Contains([]string{planFile, TornFile, ResultsFile + ".gz"}, name) || path.Ext(name) == ".part" {
		return rel, false
	}
	return "", false
}

// Pull brings the objects that are new or changed since the last Pull into the local folder.
func (m *Mirror) Pull(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]logs.Object{}
	err := m.bucket.List(ctx, m.prefix, func(o logs.Object) error {
		rel := strings.TrimPrefix(o.Key, m.prefix)
		if file, _ := target(rel); file != "" && filepath.IsLocal(filepath.FromSlash(rel)) && m.pulled[rel] != o {
			found[rel] = o
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", m.URL, err)
	}
	for _, rel := range slices.Sorted(maps.Keys(found)) {
		if err := m.pull(ctx, rel, found[rel]); err != nil {
			return fmt.Errorf("%s/%s: %w", m.URL, rel, err)
		}
	}
	return nil
}

func (m *Mirror) pull(ctx context.Context, rel string, o logs.Object) error {
	r, err := m.bucket.Read(ctx, o.Key)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	file, lines := target(rel)
	local := filepath.Join(m.Dir, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(local), 0o777); err != nil {
		return err
	}
	m.pulled[rel] = o
	if rel == file {
		m.whole[rel] = sha256.Sum256(text)
	}
	if !lines {
		return os.WriteFile(local, text, 0o666)
	}
	if m.known[file] == nil {
		m.known[file] = map[[32]byte]bool{}
	}
	f, err := os.OpenFile(local, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	for l := range bytes.Lines(text) {
		l = append(bytes.TrimSpace(l), '\n')
		if sum := sha256.Sum256(l); len(l) > 1 && !m.known[file][sum] {
			m.known[file][sum] = true
			if _, werr := f.Write(l); werr != nil {
				err = werr
			}
		}
	}
	return errors.Join(err, f.Close())
}

// Push writes new lines and the plans of shards to the bucket, or all files that the bucket lacks or has otherwise.
// What it could not write comes with the next Push.
func (m *Mirror) Push(ctx context.Context, all bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return filepath.WalkDir(m.Dir, func(local string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		rel, err := filepath.Rel(m.Dir, local)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		lines := slices.Contains(lineFiles, e.Name())
		if !lines && !all && e.Name() != planFile {
			return nil
		}
		info, err := os.Stat(local)
		if was := m.sizes[rel]; err == nil && lines && !all && was != nil && was.Size() == info.Size() &&
			was.ModTime().Equal(info.ModTime()) {
			return nil
		}
		var text []byte
		if err == nil {
			text, err = os.ReadFile(local)
		}
		if errors.Is(err, fs.ErrNotExist) { // a temporary name
			return nil
		}
		if err == nil && lines {
			if err = m.pushLines(ctx, rel, text); err == nil {
				m.sizes[rel] = info
			}
		}
		if sum := sha256.Sum256(text); err == nil && (all || !lines) && m.whole[rel] != sum {
			if err = m.write(ctx, rel, text); err == nil {
				m.whole[rel] = sum
			}
		}
		if err != nil {
			return fmt.Errorf("%s/%s: %w", m.URL, rel, err)
		}
		return nil
	})
}

// pushLines writes the lines of a file that the bucket does not have.
func (m *Mirror) pushLines(ctx context.Context, file string, text []byte) error {
	var fresh [][32]byte
	p := cmp.Or(m.parts[file], &written{number: 1})
	if len(p.text) > largeObject {
		p = &written{number: p.number + 1}
	}
	add := bytes.Clone(p.text)
	for l := range bytes.Lines(text) {
		if sum := sha256.Sum256(l); bytes.HasSuffix(l, []byte{'\n'}) && !m.known[file][sum] {
			fresh, add = append(fresh, sum), append(add, l...)
		}
	}
	if fresh == nil {
		return nil
	}
	dir, name := path.Split(file)
	if err := m.write(ctx, path.Join(dir, WrittenFolder, fmt.Sprintf("%s-%d-%s", m.id, p.number, name)),
		add); err != nil {
		return err
	}
	p.text, m.parts[file] = add, p
	if m.known[file] == nil {
		m.known[file] = map[[32]byte]bool{}
	}
	for _, sum := range fresh {
		m.known[file][sum] = true
	}
	return nil
}

func (m *Mirror) write(ctx context.Context, rel string, text []byte) error {
	w, ok := m.bucket.(logs.WritableBucket)
	if !ok {
		return errors.New("this program cannot write to its bucket")
	}
	return w.Write(ctx, m.prefix+rel, text)
}

// Close closes the bucket and removes the local folder.
func (m *Mirror) Close() error { return errors.Join(m.bucket.Close(), os.RemoveAll(m.Dir)) }
