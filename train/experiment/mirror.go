package experiment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"opl/train/logs"
)

// Mirror is a local folder that stands for one in a bucket, whose objects cannot be appended to, while a command
// works. It begins with the files that commands read; Push and PushAll take there what is new. Nothing is locked: of two
// processes that write to one folder, the second to write is told.
type Mirror struct {
	Dir string // local
	URL string // without what follows a question mark, as errors say it

	mu     sync.Mutex
	bucket logs.Bucket
	prefix string              // of keys
	sums   map[string][32]byte // of objects as this process knows them, by their place in the folder
}

// NewMirror makes a new local folder for the folder at a URL, in a bucket that open opens, with the files in it.
func NewMirror(ctx context.Context, url string, open func(ctx context.Context, bucket string) (logs.Bucket,
	error)) (*Mirror, error) {
	at, key, query := logs.SplitURL(url)
	key = strings.Trim(key, "/")
	m := &Mirror{URL: strings.TrimSuffix(at+"/"+key, "/"), sums: map[string][32]byte{}}
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
	var found []string
	err = m.bucket.List(ctx, m.prefix, func(o logs.Object) error {
		found = append(found, strings.TrimPrefix(o.Key, m.prefix))
		return nil
	})
	for _, rel := range found {
		if err == nil && read(rel) && filepath.IsLocal(filepath.FromSlash(rel)) {
			err = m.pull(ctx, rel)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", m.URL, err), m.Close())
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

// growing are files that are appended to line by line.
var growing = []string{ResultsFile, TimesFile}

// read reports a file that commands read.
func read(rel string) bool {
	return path.Ext(rel) == ".part" ||
		slices.Contains(append([]string{planFile, TornFile, ResultsFile + ".gz"}, growing...), path.Base(rel))
}

// content is that of an object; nil: there is none.
func (m *Mirror) content(ctx context.Context, rel string) ([]byte, error) {
	r, err := m.bucket.Read(ctx, m.prefix+rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r)
	return text, errors.Join(err, r.Close())
}

// pull brings an object into the local folder.
func (m *Mirror) pull(ctx context.Context, rel string) error {
	text, err := m.content(ctx, rel)
	if err != nil {
		return err
	}
	local := filepath.Join(m.Dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(local), 0o777); err != nil {
		return err
	}
	m.sums[rel] = sha256.Sum256(text)
	return os.WriteFile(local, text, 0o666)
}

// Push writes the files that have grown, as far as their lines are whole, and the plans of shards to the bucket. What it
// could not write comes with the next Push.
func (m *Mirror) Push(ctx context.Context) error { return m.push(ctx, false) }

// PushAll writes all files that the bucket lacks or has otherwise.
func (m *Mirror) PushAll(ctx context.Context) error { return m.push(ctx, true) }

func (m *Mirror) push(ctx context.Context, all bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return filepath.WalkDir(m.Dir, func(local string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		grows := slices.Contains(growing, e.Name())
		if !grows && !all && e.Name() != planFile {
			return nil
		}
		rel, err := filepath.Rel(m.Dir, local)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(local)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a temporary name
			return nil
		case grows && !all:
			text = text[:bytes.LastIndexByte(text, '\n')+1]
		}
		if err == nil && (all || len(text) > 0) {
			err = m.write(ctx, filepath.ToSlash(rel), text)
		}
		if err != nil {
			return fmt.Errorf("%s/%s: %w", m.URL, filepath.ToSlash(rel), err)
		}
		return nil
	})
}

// write writes an object that the bucket has otherwise, and as this process knows it. Reports and figures, which
// commands write anew, replace what there is.
func (m *Mirror) write(ctx context.Context, rel string, text []byte) error {
	sum := sha256.Sum256(text)
	was, known := m.sums[rel]
	if known && was == sum {
		return nil
	}
	w, ok := m.bucket.(logs.WritableBucket)
	if !ok {
		return errors.New("this program cannot write to its bucket")
	}
	if read(rel) {
		now, err := m.content(ctx, rel)
		if err != nil {
			return err
		}
		if theirs := sha256.Sum256(now); now != nil && theirs != sum && (!known || theirs != was) {
			return errors.New("another process has written it meanwhile: give each process a folder of its own")
		}
	}
	err := w.Write(ctx, m.prefix+rel, text)
	if err == nil {
		m.sums[rel] = sum
	}
	return err
}

// Close closes the bucket and removes the local folder.
func (m *Mirror) Close() error { return errors.Join(m.bucket.Close(), os.RemoveAll(m.Dir)) }
