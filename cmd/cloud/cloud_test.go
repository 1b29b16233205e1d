package cloud_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
	_ "gocloud.dev/blob/s3blob"

	"opl/cmd/cli"
	"opl/cmd/cloud"
	"opl/train/library"
	"opl/train/logs"
)

// opl runs a command line that has a way to open buckets.
func opl(t *testing.T, open func(context.Context, string) (logs.Bucket, error), args ...string) (status int, stdout, stderr string) {
	t.Helper()
	lib := library.Standard()
	lib.Bucket = open
	var out, err bytes.Buffer
	status = cli.Run(lib, args, &out, &err)
	return status, out.String(), err.String()
}

// cut writes a log as one file of CSV, and its rows in files by date, and returns their folder.
func cut(t *testing.T, rows, files int) (whole, dir string) {
	t.Helper()
	dir = t.TempDir()
	whole = filepath.Join(dir, "whole.csv")
	const header = "decision_id,action,reward,propensity,x_u\n"
	all := header
	for f := range files {
		text := header
		for i := rows * f / files; i < rows*(f+1)/files; i++ {
			line := fmt.Sprintf("d%d,%c,%d,0.5,%d\n", i, "ab"[i*7/3%2], i*5/7%2, i%13)
			text, all = text+line, all+line
		}
		path := filepath.Join(dir, "logs", fmt.Sprintf("dt=2026-11-%02d", 1+f*28/files), fmt.Sprintf("part-%05d.csv", f))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(whole, []byte(all), 0o644); err != nil {
		t.Fatal(err)
	}
	return whole, filepath.Join(dir, "logs")
}

// upload puts the files of a folder into a bucket, by their paths in it.
func upload(t *testing.T, b *blob.Bucket, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return b.WriteAll(context.Background(), filepath.ToSlash(path[len(filepath.Dir(dir))+1:]), text, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A log in a bucket of any kind is that in one file; an object that goes, or is another, is named.
func TestBuckets_GiveTheLogOfOneFile(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	whole, dir := cut(t, 600, 9)
	_, want, _ := opl(t, nil, "inspect", whole)
	memory := memblob.OpenBucket(nil)
	files, err := fileblob.OpenBucket(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*blob.Bucket{"mem": memory, "disk": files} {
		upload(t, b, dir)
		open := func(context.Context, string) (logs.Bucket, error) { return kept{cloud.Bucket(b)}, nil }
		for _, url := range []string{"://b/logs", "://b/logs/dt=2026-11-*/*.csv", "://b", "://b/**/part-*.csv"} {
			if status, got, stderr := opl(t, open, "inspect", name+url); got != want || status == 1 {
				t.Errorf("%s%s: %s%s, want %s", name, url, got, stderr, want)
			}
		}
		if err := b.Delete(context.Background(), "logs/dt=2026-11-01/part-00000.csv"); err != nil {
			t.Fatal(err)
		}
		status, _, stderr := opl(t, open, "inspect", name+"://b/logs/dt=2026-11-01/part-00000.csv")
		if status != 1 || !strings.Contains(stderr, "part-00000.csv: no file there") {
			t.Errorf("%d %s", status, stderr)
		}
	}
	if status, _, stderr := opl(t, nil, "inspect", "s3://b/logs"); status != 1 || !strings.Contains(stderr, "reads only local files") {
		t.Errorf("%d %s", status, stderr)
	}
}

// kept stays open.
type kept struct{ logs.Bucket }

func (kept) Close() error { return nil }

// A log of 1,000 objects behind S3, as versitygw serves a folder.
func TestS3_GivesTheLogOfThousandObjects(t *testing.T) {
	if os.Getenv("OPL_LONG") == "" {
		t.Skip("OPL_LONG is not set")
	}
	whole, dir := cut(t, 20000, 1000)
	query := gateway(t, filepath.Dir(dir))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, command := range [][]string{{"inspect"}, {"evaluate", "--target", "uniform"}} {
		_, want, stderr := opl(t, nil, append(command, whole)...)
		for range 2 { // by the caches then
			status, got, stderr := opl(t, cloud.Open, append(command, "s3://logs/dt=2026-11-*/*.csv"+query)...)
			if status == 1 || got != want {
				t.Errorf("%s: %d, %s%s, want %s", command, status, got, stderr, want)
			}
		}
		if want == "" {
			t.Error(stderr)
		}
	}
	// One that is there no more, behind the list that the server gave.
	if status, _, stderr := opl(t, func(ctx context.Context, url string) (logs.Bucket, error) {
		b, err := cloud.Open(ctx, url)
		return vanishing{b, filepath.Join(dir, "dt=2026-11-03", "part-00100.csv")}, err
	}, "inspect", "--no-cache", "s3://logs"+query); status != 1 || !strings.Contains(stderr, "s3://logs/dt=2026-11-03/part-00100.csv") {
		t.Errorf("%d %s", status, stderr)
	}
}

// vanishing takes a file away once the objects are listed.
type vanishing struct {
	logs.Bucket
	path string
}

func (v vanishing) List(ctx context.Context, prefix string, each func(logs.Object) error) error {
	err := v.Bucket.List(ctx, prefix, each)
	_ = os.Remove(v.path)
	return err
}

// gateway serves the folders of a folder as buckets by S3, and returns the query of their URLs.
func gateway(t *testing.T, dir string) string {
	t.Helper()
	path, err := exec.LookPath("versitygw")
	if err != nil {
		t.Fatal("versitygw is not in the path: go install github.com/versity/versitygw/cmd/versitygw@latest")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(path, "--access", "access", "--secret", "secret-of-tests", "--port", address, "posix", dir)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	t.Setenv("AWS_ACCESS_KEY_ID", "access")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-of-tests")
	for i := 0; ; i++ {
		if r, err := http.Get("http://" + address); err == nil {
			_ = r.Body.Close()
			break
		} else if i == 100 {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return "?region=us-east-1&use_path_style=true&response_checksum_validation=when_required&endpoint=http://" + address
}
