package cloud_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"opl/cmd/cloud"
	"opl/train/experiment"
	"opl/train/logs"
)

const grid = `
eta0: [0, 0.5]
limit: 100
epochs: 1
samples: 2
runs:
  - objectives: [heuristic, l2]
    weights: [clip, har]
`

// local runs the grid into a folder, by a binary and for longer if one is given, and returns its results.
func local(t *testing.T, path, binary string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(grid), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "local")
	if binary != "" {
		if out, err := exec.Command(binary, "run", path, "--out", dir, "--epochs", "1000").CombinedOutput(); err != nil {
			t.Fatal(string(out))
		}
	} else if status, _, stderr := opl(t, nil, "run", path, "--out", dir); status != 0 {
		t.Fatal(stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, experiment.ResultsFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// has is the content of an object, empty if there is none.
func has(t *testing.T, b *blob.Bucket, key string) string {
	t.Helper()
	text, err := b.ReadAll(context.Background(), key)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !strings.Contains(err.Error(), "NotFound") {
		t.Fatal(err)
	}
	return string(text)
}

// A folder in a bucket ends with the bytes of a local one: of one process, of shards and their merge, after a process that
// did not come to its end, and after one whose writes failed.
func TestFolders_EndWithTheBytesOfLocalOnes(t *testing.T) {
	data, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPL_DATA", data)
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "g.yaml")
	want := local(t, path, "")
	files, err := fileblob.OpenBucket(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*blob.Bucket{"mem": memblob.OpenBucket(nil), "disk": files} {
		open := func(context.Context, string) (logs.Bucket, error) { return store{cloud.Bucket(b), nil}, nil }
		do := func(status int, args ...string) string {
			t.Helper()
			got, stdout, stderr := opl(t, open, args...)
			if got != status || strings.Contains(stdout+stderr, os.Getenv("TMPDIR")) && status == 0 {
				t.Fatalf("%s %s: %d\n%s%s", name, args, got, stdout, stderr)
			}
			return stdout + stderr
		}
		url := name + "://b/one?region=x"
		if said := do(0, "run", path, "--out", url, "--jobs", "1"); !strings.Contains(said, name+"://b/one/report.md") {
			t.Error(said)
		}
		if got := has(t, b, "one/runs.jsonl"); got != want || has(t, b, "one/report.md") == "" {
			t.Errorf("%s, want %s", got, want)
		}
		if said := do(0, "run", path, "--out", url); !strings.Contains(said, "are there already") {
			t.Error(said)
		}
		for _, i := range []string{"1/2", "2/2"} {
			do(0, "run", path, "--shard", i, "--out", name+"://b/shards/"+i[:1])
		}
		do(0, "merge", name+"://b/shards", "--out", name+"://b/merged")
		do(0, "merge", name+"://b/shards/1", name+"://b/shards/2", name+"://b/one/", "--out", name+"://b/merged")
		if got := has(t, b, "merged/runs.jsonl"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		do(0, "plot", name+"://b/merged/runs.jsonl")
		if has(t, b, "merged/report.md") == "" {
			t.Error("no report")
		}

		// Two processes have left lines, none the whole.
		lines := strings.SplitAfter(want, "\n")
		for part, text := range map[string]string{"a": strings.Join(lines[:3], ""), "b": strings.Join(lines[2:5], "")} {
			if err := b.WriteAll(context.Background(), "torn/written/"+part+"-1-runs.jsonl", []byte(text), nil); err != nil {
				t.Fatal(err)
			}
		}
		if said := do(0, "run", path, "--out", name+"://b/torn"); !strings.Contains(said, "5 of ") {
			t.Error(said)
		}
		if got := has(t, b, "torn/runs.jsonl"); got != want {
			t.Errorf("%s, want %s", got, want)
		}

		// One that cannot write says where it left what it has.
		failing := func(context.Context, string) (logs.Bucket, error) {
			return store{cloud.Bucket(b), errors.New("the network is gone")}, nil
		}
		status, _, stderr := opl(t, failing, "run", path, "--out", name+"://b/lost")
		kept, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "opl-*", "runs.jsonl"))
		if status != 1 || !strings.Contains(stderr, name+"://b/lost") || !strings.Contains(stderr, "the network is gone") || err != nil || len(kept) != 1 || !strings.Contains(stderr, filepath.Dir(kept[0])) {
			t.Fatalf("%d %s %q", status, stderr, kept)
		}
		if text, err := os.ReadFile(kept[0]); err != nil || string(text) != want {
			t.Error("what was not stored is lost", err)
		}
		if err := os.RemoveAll(filepath.Dir(kept[0])); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "opl-*")); left != nil {
		t.Errorf("%q are left", left)
	}
	if status, _, stderr := opl(t, nil, "run", path, "--out", "s3://b/one"); status != 1 || !strings.Contains(stderr, "knows only local folders") {
		t.Errorf("%d %s", status, stderr)
	}
}

// Engines are given the URL, and need no folder that all see.
func TestSubmit_GivesEnginesTheURL(t *testing.T) {
	data, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPL_DATA", data)
	t.Setenv("TMPDIR", t.TempDir()) // else the test is taken for a program of go run
	t.Chdir(t.TempDir())
	if err := os.WriteFile("g.yaml", []byte(grid), 0o666); err != nil {
		t.Fatal(err)
	}
	b := memblob.OpenBucket(nil)
	open := func(context.Context, string) (logs.Bucket, error) { return store{cloud.Bucket(b), nil}, nil }
	for engine, want := range map[string][]string{
		"kubernetes": {"mem://b/r/shards/$(JOB_COMPLETION_INDEX)+1-of-2?region=x", "- mem://b/r/shards?region=x\n", "- mem://b/r?region=x\n"},
		"slurm":      {"--out mem://b/r/shards/\"$SLURM_ARRAY_TASK_ID\"'-of-2?region=x' g.yaml", "merge 'mem://b/r/shards?region=x' --out 'mem://b/r?region=x'"},
	} {
		status, out, stderr := opl(t, open, "run", "g.yaml", "--out", "mem://b/r?region=x", "--submit", engine, "--shards", "2", "--engine", "image=opl:1", "--dry-run")
		if status != 0 || strings.Contains(out, "laim") {
			t.Fatal(out, stderr)
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: no %s in %s", engine, w, out)
			}
		}
	}
}

// Killed again and again, a run into S3 goes on from what it has stored there.
func TestRun_KilledGoesOnFromS3(t *testing.T) {
	if os.Getenv("OPL_LONG") == "" {
		t.Skip("OPL_LONG is not set")
	}
	data, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPL_DATA", data)
	t.Setenv("TMPDIR", t.TempDir())
	binary := filepath.Join(t.TempDir(), "opl")
	if out, err := exec.Command("go", "build", "-o", binary, "./opl").CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	path := filepath.Join(t.TempDir(), "g.yaml")
	want := local(t, path, binary)
	buckets := t.TempDir()
	if err := os.Mkdir(filepath.Join(buckets, "runs"), 0o777); err != nil {
		t.Fatal(err)
	}
	url := "s3://runs/a/b" + gateway(t, buckets)
	stored := func() int {
		lines := map[string]bool{}
		found, err := filepath.Glob(filepath.Join(buckets, "runs/a/b", experiment.WrittenFolder, "*-runs.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for l := range strings.Lines(string(text)) {
				lines[l] = true
			}
		}
		return len(lines)
	}
	kills := 0
	for n := 0; ; {
		cmd := exec.Command(binary, "run", path, "--out", url, "--jobs", "1", "--epochs", "1000")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for end := time.Now().Add(2 * time.Minute); stored() == n && len(ended) == 0 && time.Now().Before(end); {
			time.Sleep(20 * time.Millisecond)
		}
		if len(ended) == 0 {
			_ = cmd.Process.Kill()
			kills++
		}
		if err := <-ended; err == nil {
			break
		} else if now := stored(); now <= n {
			t.Fatalf("%d results, before %d: %v\n%s", now, n, err, stderr.String())
		} else {
			n = now
		}
	}
	if got, err := os.ReadFile(filepath.Join(buckets, "runs/a/b", experiment.ResultsFile)); err != nil || string(got) != want || kills < 2 {
		t.Errorf("%v, %d kills: %d bytes, want %d", err, kills, len(got), len(want))
	}
}

// Sums of shards are merged from a bucket.
func TestSums_AreMergedFromABucket(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, folder := cut(t, 600, 2)
	b := memblob.OpenBucket(nil)
	open := func(context.Context, string) (logs.Bucket, error) { return store{cloud.Bucket(b), nil}, nil }
	for _, i := range []string{"1/2", "2/2"} {
		if status, out, stderr := opl(t, open, "evaluate", folder, "--target", "uniform", "--shard", i, "--out", "mem://b/sums"); status != 0 || !strings.HasPrefix(out, "mem://b/sums/evaluate-") {
			t.Fatal(status, out, stderr)
		}
	}
	if status, out, stderr := opl(t, open, "merge", "mem://b/sums", "--out", "mem://b/values"); status != 0 || has(t, b, "values/evaluate.json") == "" {
		t.Error(status, out, stderr)
	}
}

// What a run has stored is in the bucket before it ends.
func TestMirror_StoresBeforeTheEnd(t *testing.T) {
	b := memblob.OpenBucket(nil)
	m, err := experiment.NewMirror(context.Background(), "mem://b/f/", func(context.Context, string) (logs.Bucket, error) { return store{cloud.Bucket(b), nil}, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	file := filepath.Join(m.Dir, experiment.ResultsFile)
	all := ""
	for _, add := range []string{"{1}\n{2}\n{3", "}\n", "{4}\n"} {
		all += add
		if err := os.WriteFile(file, []byte(all), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := m.Push(context.Background(), false); err != nil {
			t.Fatal(err)
		}
		other, err := experiment.NewMirror(context.Background(), "mem://b/f", func(context.Context, string) (logs.Bucket, error) { return store{cloud.Bucket(b), nil}, nil })
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(other.Dir, experiment.ResultsFile))
		if want := all[:strings.LastIndexByte(all, '\n')+1]; err != nil || string(got) != want {
			t.Errorf("%q, want %q: %v", got, want, err)
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
	if text := has(t, b, "f/"+experiment.ResultsFile); text != "" {
		t.Error("the whole file is there before the end", text)
	}
	if err := m.Push(context.Background(), true); err != nil || has(t, b, "f/"+experiment.ResultsFile) != all {
		t.Error(err)
	}
}

// store stays open, and fails to write if it has an error.
type store struct {
	logs.WritableBucket
	broken error
}

func (store) Close() error { return nil }

func (s store) Write(ctx context.Context, key string, text []byte) error {
	if s.broken != nil {
		return s.broken
	}
	return s.WritableBucket.Write(ctx, key, text)
}
