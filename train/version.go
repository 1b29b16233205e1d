package train

import (
	"context"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"opl/graph/kernel/simd"
	"opl/policies/policyfile"
)

// Versions says what made a record.
type Versions = policyfile.Versions

// ThisVersion returns the versions of the running program. A program that was
// built without the commit, as go run does, asks git in the folder of its sources;
// the commit is empty where that cannot be had.
var ThisVersion = sync.OnceValue(func() Versions {
	v := Versions{Opl: "devel", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	dependency := info.Main.Path != "opl"
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "opl" && m.Version != "" && m.Version != "(devel)" {
			v.Opl = m.Version
		}
	}
	if !dependency {
		vcs := map[string]string{}
		for _, s := range info.Settings {
			vcs[s.Key] = s.Value
		}
		if v.Commit = vcs["vcs.revision"]; v.Commit != "" {
			if vcs["vcs.modified"] == "true" {
				v.Commit += "+changes"
			}
			return v
		}
	}
	if v.Opl == "devel" || !dependency { // not of the module cache
		v.Commit = commitOfSources()
	}
	return v
})

// Extensions names what of the processor, and of the compiler's target, results hang on to the last
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

// commitOfSources asks git for the commit that the sources are of.
func commitOfSources() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "-C", filepath.Dir(file), "describe", "--always", "--dirty=+changes", "--abbrev=40", "--exclude=*").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
