package train_test

import (
	"os/exec"
	"strings"
	"testing"

	"opl/train"
)

// The commit is that of git where the sources are in a repository of their own.
func TestThisVersion(t *testing.T) {
	v := train.ThisVersion()
	if !strings.HasPrefix(v.Go, "go1.") || v.System == "" || v.Opl == "" {
		t.Errorf("version %+v", v)
	}
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if want := strings.TrimSpace(string(head)); err == nil && !strings.HasPrefix(v.Commit, want) {
		t.Errorf("commit %q, want %s", v.Commit, want)
	}
}
