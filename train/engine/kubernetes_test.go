package engine_test

import (
	"bytes"
	"testing"

	"opl/train/engine"
)

func TestKubernetes_LeavesTheWorkAsItWas(t *testing.T) {
	w := engine.Work{Name: "opl-x", Part: []string{"opl", "grid", "$HOME", "--shard", engine.Index + "/8"},
		Merge: []string{"opl", "merge"}, Of: 8, Remote: true, Options: []engine.Option{{Key: "image", Value: "opl"}}}
	first, _, err := w.Kubernetes("", nil)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := w.Kubernetes("", nil)
	if err != nil || !bytes.Equal(first, again) || !bytes.Contains(first, []byte("$$HOME")) {
		t.Errorf("%v: first\n%s\nthen\n%s", err, first, again)
	}
}
