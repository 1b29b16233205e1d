package experiment_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opl/train/experiment"
	"opl/train/logs"
)

// bucket is one in memory, which fails to write with an error.
type bucket struct {
	objects map[string]string
	broken  error
}

func (b *bucket) List(_ context.Context, prefix string, each func(logs.Object) error) error {
	for key := range b.objects {
		if strings.HasPrefix(key, prefix) {
			if err := each(logs.Object{Key: key}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bucket) Read(_ context.Context, key string) (io.ReadCloser, error) {
	text, ok := b.objects[key]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (b *bucket) Write(_ context.Context, key string, text []byte) error {
	if b.broken == nil {
		b.objects[key] = string(bytes.Clone(text))
	}
	return b.broken
}

func (b *bucket) Close() error { return nil }

// mirror is one of the folder f.
func mirror(t *testing.T, b *bucket) *experiment.Mirror {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	m, err := experiment.NewMirror(t.Context(), "mem://b/f/", func(context.Context, string) (logs.Bucket, error) { return b, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// fill writes a file of a mirror.
func fill(t *testing.T, m *experiment.Mirror, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.Dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Whole lines are in the bucket before the end, all else at the end; what commands read comes back, and nothing else.
func TestMirror(t *testing.T) {
	b := &bucket{objects: map[string]string{"f/../evil/runs.jsonl": "{}\n", "other/runs.jsonl": "{}\n"}}
	if _, err := os.Stat(filepath.Join(mirror(t, b).Dir, experiment.ResultsFile)); err == nil {
		t.Error("what is outside of the folder is in it")
	}
	for text, want := range map[string]string{"{1}\n{2": "{1}\n", "{1}\n{2}\n": "{1}\n{2}\n"} {
		b.objects = map[string]string{}
		m := mirror(t, b)
		fill(t, m, experiment.ResultsFile, text)
		fill(t, m, "report.md", "# Report")
		if err := m.Push(t.Context()); err != nil || b.objects["f/runs.jsonl"] != want || b.objects["f/report.md"] != "" {
			t.Errorf("%q: %v, %q", text, err, b.objects)
		}
		if err := m.PushAll(t.Context()); err != nil || b.objects["f/runs.jsonl"] != text || b.objects["f/report.md"] == "" {
			t.Errorf("%q: %v, %q", text, err, b.objects)
		}
		again := mirror(t, b)
		got, err := os.ReadFile(filepath.Join(again.Dir, experiment.ResultsFile))
		if _, missing := os.Stat(filepath.Join(again.Dir, "report.md")); err != nil || string(got) != text || missing == nil {
			t.Errorf("%q comes back as %q: %v, %v", text, got, err, missing)
		}
	}
}

// Of two processes that write to one folder the second is told, and what the first has stored stays.
func TestMirrorOfTwo(t *testing.T) {
	b := &bucket{objects: map[string]string{"f/runs.jsonl": "{1}\n"}}
	first, second := mirror(t, b), mirror(t, b)
	fill(t, first, experiment.ResultsFile, "{1}\n{2}\n")
	fill(t, second, experiment.ResultsFile, "{1}\n{3}\n")
	if err := first.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.PushAll(t.Context()); err == nil || !strings.Contains(err.Error(), "another process has written it meanwhile") {
		t.Error(err)
	}
	if got := b.objects["f/runs.jsonl"]; got != "{1}\n{2}\n" {
		t.Errorf("%q", got)
	}
	b.broken = errors.New("the network is gone")
	fill(t, first, experiment.ResultsFile, "{1}\n{2}\n{4}\n")
	if err := first.Push(t.Context()); !errors.Is(err, b.broken) {
		t.Error(err)
	}
	b.broken = nil
	if err := first.PushAll(t.Context()); err != nil || b.objects["f/runs.jsonl"] != "{1}\n{2}\n{4}\n" {
		t.Errorf("%v, %q", err, b.objects)
	}
}
