package train

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"opl/graph/kernel/simd"
	"opl/policies/policyfile"
)

// Versions says what made a record.
type Versions = policyfile.Versions

// release and revision are set by who builds without a repository: -ldflags "-X
// opl/train.release=v1.2.3 -X opl/train.revision=HASH".
var release, revision string

// ThisVersion returns the versions of the running program, as its build says: those given to the
// linker; or the version that the module has in the program, where that imports it; or the tag and
// the commit that it was built from. Without any of these the version is "devel-" and what tells
// the build apart from others.
var ThisVersion = sync.OnceValue(func() Versions {
	info, _ := debug.ReadBuildInfo()
	v := versionOf(info, release, revision)
	if v.Opl == "devel" && v.Commit == "" {
		if path, err := os.Executable(); err == nil {
			v.Opl += build(path)
		}
	}
	return v
})

// versionOf is the version of what info was built of; nil: nothing is known of it.
func versionOf(info *debug.BuildInfo, release, revision string) Versions {
	v := Versions{Opl: cmp.Or(release, "devel"), Commit: revision, Go: runtime.Version(), System: runtime.GOOS + "/" +
		runtime.GOARCH}
	if info == nil || release != "" {
		return v
	}
	module := strings.TrimSuffix(reflect.TypeFor[Versions]().PkgPath(), "/policies/policyfile")
	named := func(version string) {
		if version != "" && version != "(devel)" {
			v.Opl = version
		}
	}
	if info.Main.Path == module {
		named(info.Main.Version)
		vcs := map[string]string{}
		for _, s := range info.Settings {
			vcs[s.Key] = s.Value
		}
		if v.Commit = vcs["vcs.revision"]; v.Commit != "" && vcs["vcs.modified"] == "true" {
			v.Commit += "+changes"
		}
		return v
	}
	for _, m := range info.Deps {
		if m.Path != module {
			continue
		}
		if m.Replace != nil {
			m = m.Replace // a folder has no version, whatever is required
		}
		named(m.Version)
	}
	return v
}

// build is a hash of the beginning of an executable, into which linkers write that of all of it;
// empty where it cannot be read.
func build(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.CopyN(sum, f, 1<<16); err != nil {
		return ""
	}
	return fmt.Sprintf("-%.6x", sum.Sum(nil))
}

// Extensions names what of the processor, and of the compiler's target, results depend on to the last
// bit: equal runs of one version give equal bits where these are equal. Empty: none is used.
var Extensions = sync.OnceValue(func() string {
	names := simd.Extensions()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "GOAMD64" && s.Value != "v1" { // above it the compiler fuses products and sums
				names = append(names, s.Value)
			}
		}
	}
	return strings.Join(names, "+")
})
