package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The command of CONTRIBUTING.md that moves the module leaves no go.mod that names it as it was.
func TestMove_RenamesEveryModule(t *testing.T) {
	for _, name := range []string{"git", "perl", "gofmt"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("no " + name)
		}
	}
	const root = "../.."
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?s)NEW=.*?&& gofmt -w \.`).FindString(string(page))
	dir := t.TempDir()
	files := []string{"go.mod", "cmd/cloud/go.mod", "cmd/cloud/cloud.go", "cmd/opl/main.go", ".goreleaser.yaml"}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-ec", "git init -q; git add .; "+command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	was := regexp.MustCompile(`(?m)^(module |\s+|replace )opl\b.*|"opl/.*| opl/train\.\w+`)
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if left := was.FindString(string(text)); err != nil || left != "" || !strings.Contains(string(text), "example.com/you/opl") {
			t.Errorf("%s: %q is left, %v", name, left, err)
		}
	}
}
