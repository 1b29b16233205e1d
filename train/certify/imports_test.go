package certify_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Bounds are plain numbers: what computes them imports no logs, no inspection, no drawing, and little of others.
func TestCertify_ImportsNoLogs(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "opl/train/certify").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, out)
	}
	foreign := 0
	for _, path := range strings.Fields(string(out)) {
		own := strings.HasPrefix(path, "opl/")
		if own && strings.HasPrefix(path, "opl/train/") && path != "opl/train/certify" {
			t.Errorf("certify imports %s", path)
		}
		if host, _, _ := strings.Cut(path, "/"); !own && host != "vendor" && strings.Contains(host, ".") {
			foreign++
		}
	}
	if foreign > 30 {
		t.Errorf("certify is built of %d packages of others, want 30 at most", foreign)
	}
}
