package train

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion_IsThatOfTheModuleOrTheRelease(t *testing.T) {
	path := strings.TrimSuffix(reflect.TypeFor[Versions]().PkgPath(), "/policies/policyfile")
	module := func(version string) debug.Module { return debug.Module{Path: path, Version: version} }
	replaced := module("v0.0.0")
	folder, fork := replaced, replaced
	folder.Replace, fork.Replace = &debug.Module{Path: "../opl"}, &debug.Module{Path: "example.com/fork", Version: "v2.0.1"}
	dep := func(m debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "mine", Version: "v9.9.9"}, Deps: []*debug.Module{{Path: "other", Version: "v3.0.0"}, &m},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "of mine"}}}
	}
	own := func(version, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: module(version), Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: modified}}}
	}
	for _, c := range []struct {
		info              *debug.BuildInfo
		release, revision string
		opl, commit       string
	}{
		{nil, "", "", "devel", ""},
		{&debug.BuildInfo{Main: module("(devel)")}, "", "", "devel", ""},
		{own("(devel)", "false"), "", "", "devel", "abc"},
		{own("(devel)", "true"), "", "", "devel", "abc+changes"},
		{own("v1.2.3", "false"), "", "", "v1.2.3", "abc"},
		{own("v1.2.3", "false"), "v1.2.4", "def", "v1.2.4", "def"},
		{nil, "v1.2.4", "", "v1.2.4", ""},
		{dep(module("v1.2.3")), "", "", "v1.2.3", ""},
		{dep(module("(devel)")), "", "", "devel", ""},
		{dep(replaced), "", "", "v0.0.0", ""}, // asked for by that name
		{dep(folder), "", "", "devel", ""},
		{dep(fork), "", "", "v2.0.1", ""},
		{&debug.BuildInfo{Main: debug.Module{Path: "mine", Version: "v9.9.9"}}, "", "", "devel", ""},
	} {
		if v := versionOf(c.info, c.release, c.revision); v.Opl != c.opl || v.Commit != c.commit || !strings.HasPrefix(v.Go, "go1.") || v.System == "" {
			t.Errorf("%+v, %q: %+v, want %s of %q", c.info, c.release, v, c.opl, c.commit)
		}
	}
}

// Builds of other sources are told apart, those of the same are not.
func TestBuild_TellsOtherSourcesApart(t *testing.T) {
	dir := t.TempDir()
	made := func(name, says string) string {
		t.Helper()
		src, out := filepath.Join(dir, "main.go"), filepath.Join(dir, name)
		if err := os.WriteFile(src, []byte("package main\n\nfunc main() { println("+says+") }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := exec.Command("go", "build", "-o", out, src).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		return build(out)
	}
	a, b, again := made("a", `"left"`), made("b", `"four"`), made("c", `"left"`)
	if !regexp.MustCompile(`^-[0-9a-f]{12}$`).MatchString(a) || a == b || a != again {
		t.Errorf("%q, another %q, again %q", a, b, again)
	}
	if got := build(filepath.Join(dir, "none")); got != "" {
		t.Errorf("%q", got)
	}
	if v := ThisVersion(); v.Opl == "devel" && v.Commit == "" {
		t.Errorf("%+v", v)
	}
}
