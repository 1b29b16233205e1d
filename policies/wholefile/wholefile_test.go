//go:build unix

package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// child, if set, is the file that the test binary begins to write, until it is killed.
const child = "OPL_WHOLEFILE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(child); path != "" {
		err := Write(path, 0, func(f *os.File) error {
			fmt.Fprint(f, "half")
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		})
		fmt.Fprintln(os.Stderr, "not killed:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func names(t *testing.T, folder string) string {
	t.Helper()
	all, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, e := range all {
		s = append(s, e.Name())
	}
	return strings.Join(s, " ")
}

// Errors of a disk, such as a full one, name the file.
func TestFile_HasTheNameItGets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f, err := Create(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if f.Close(); f.Name() != path && runtime.GOOS == "linux" {
		t.Errorf("errors say %s, want %s", f.Name(), path)
	}
}

func TestWrite_LeavesNothingWhenKilled(t *testing.T) {
	folder := t.TempDir()
	for range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), child+"="+filepath.Join(folder, "x"))
		if b, err := cmd.CombinedOutput(); err == nil || len(b) > 0 {
			t.Fatalf("%v %s", err, b)
		}
	}
	if got := names(t, folder); got != "" {
		t.Errorf("after kills: %s", got)
	}
}

// Writers of one file at a time leave one of theirs, and what one that was killed left goes.
func TestWrite_LeavesOneWholeFileOfMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	left, old := temporary(path), time.Now().Add(-2*time.Hour)
	for _, name := range []string{path, left} {
		if err := errors.Join(os.WriteFile(name, []byte("old"), 0o600), os.Chtimes(name, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 25 {
				if err := WriteBytes(path, []byte(strings.Repeat(fmt.Sprint(i), 1000))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(path)
	if err != nil || len(b) != 1000 || strings.Trim(string(b), string(b[:1])) != "" || names(t, filepath.Dir(path)) != "x" {
		t.Errorf("%.20q, %v, files %s", b, err, names(t, filepath.Dir(path)))
	}
}

func TestWrite_KeepsTheModeThatAFileHas(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	folder := t.TempDir()
	for i, c := range []struct{ there, mode, want fs.FileMode }{
		{0, 0, 0o640}, {0o600, 0, 0o600}, {0o666, 0, 0o666}, {0, 0o600, 0o600}, {0o666, 0o600, 0o600}, {0, 0o666, 0o640},
	} {
		path := filepath.Join(folder, fmt.Sprint(i))
		if c.there != 0 {
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, c.there)); err != nil {
				t.Fatal(err)
			}
		}
		if err := Write(path, c.mode, func(*os.File) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != c.want {
			t.Errorf("%v: %v, %v", c, info.Mode(), err)
		}
	}
}

// After an error the old file is there and no other.
// Links stay, and the file that they point to is replaced, or made: also by a relative link in a linked folder.
func TestWrite_FollowsLinks(t *testing.T) {
	folder := t.TempDir()
	for _, err := range []error{os.MkdirAll(filepath.Join(folder, "deep", "real"), 0o700),
		os.Symlink(filepath.Join("deep", "real"), filepath.Join(folder, "linked")),
		os.Symlink(filepath.Join("..", "target"), filepath.Join(folder, "deep", "real", "second")),
		os.Symlink(filepath.Join("linked", "second"), filepath.Join(folder, "first")),
		WriteBytes(filepath.Join(folder, "first"), []byte("made")),
		WriteBytes(filepath.Join(folder, "first"), []byte("replaced"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.Join(folder, "deep", "target"))
	if string(got) != "replaced" || err != nil || names(t, folder) != "deep first linked" {
		t.Errorf("%s, %v, and %s", got, err, names(t, folder))
	}
	if info, err := os.Lstat(filepath.Join(folder, "first")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
}

func TestWrite_KeepsTheOldFileAfterAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := WriteBytes(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("wrong")
	if err := Write(path, 0, func(f *os.File) error { fmt.Fprint(f, "new"); return wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
	if err := WriteBytes(filepath.Join(path, "y"), nil); err == nil {
		t.Error("a file in a file")
	}
	if err := os.Mkdir(path+"d", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := WriteBytes(path+"d", nil); err == nil {
		t.Error("a folder is written over")
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" || names(t, filepath.Dir(path)) != "x xd" {
		t.Errorf("%q, %v, files %s", b, err, names(t, filepath.Dir(path)))
	}
}

// Pipes, devices, folders and files that are too large are refused, at once.
func TestRead_RefusesWhatIsNoSmallFile(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	err := errors.Join(syscall.Mkfifo(path("pipe"), 0o600), os.Symlink("/dev/zero", path("zeros")), os.WriteFile(path("large"), make([]byte, 101), 0o600),
		os.WriteFile(path("fits"), make([]byte, 100), 0o600), os.Symlink("fits", path("linked")))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"pipe": "no regular file", "zeros": "no regular file", ".": "is a directory", "large": "101 bytes, at most 100", "none": "no such file"} {
		t.Run(name, func(t *testing.T) {
			if b, err := Read(path(name), 100); err == nil || b != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d bytes, %v", len(b), err)
			}
		})
	}
	for _, name := range []string{"fits", "linked"} {
		if b, err := Read(path(name), 100); err != nil || len(b) != 100 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

// A file that appears while another is written in its place stays, and what was written goes.
func TestWrite_KeepsAFileThatAppearedMeanwhile(t *testing.T) {
	for _, named := range []bool{false, true} {
		t.Run(fmt.Sprintf("named %t", named), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x")
			begin := func() *File {
				f, err := Create(path, 0)
				if err == nil && named && !f.named { // as where files without names cannot be made
					err = f.Close()
					f.named = true
					if err == nil {
						f.File, err = os.OpenFile(temporary(path), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				f.New = true
				return f
			}
			f := begin()
			if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := f.Commit(); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%v", err)
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != "theirs" || names(t, filepath.Dir(path)) != "x" {
				t.Errorf("%q, %v, files %s", b, err, names(t, filepath.Dir(path)))
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			f = begin()
			if _, err := f.WriteString("ours"); err != nil {
				t.Fatal(err)
			}
			if err := f.Commit(); err != nil {
				t.Error(err)
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != "ours" || names(t, filepath.Dir(path)) != "x" {
				t.Errorf("%q, %v, files %s", b, err, names(t, filepath.Dir(path)))
			}
		})
	}
}

// A file that appears while a new one is written is kept.
func TestWriteNew_KeepsWhatAppeared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	err := WriteNew(path, func(f *os.File) error {
		_, err := f.WriteString("ours")
		return errors.Join(err, os.WriteFile(path, []byte("theirs"), 0o600))
	})
	if got, _ := os.ReadFile(path); !errors.Is(err, fs.ErrExist) || string(got) != "theirs" {
		t.Errorf("%q, %v", got, err)
	}
}

// A pipe, as a device such as /dev/null, is not replaced by a file.
func TestWrite_ReplacesNoPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	err := WriteBytes(path, []byte("text"))
	if info, e := os.Stat(path); e != nil || info.Mode().IsRegular() || err == nil || !strings.Contains(err.Error(), "want the name of a file") {
		t.Errorf("%v, %v", err, e)
	}
}
