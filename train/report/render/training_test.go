package render

import (
	"strings"
	"testing"

	"opl/policies/policyfile"
	"opl/train/pipeline"
)

// A mixture says how many of its policies are of each kind.
func TestLearnedText_TellsTheKindsOfAMixture(t *testing.T) {
	f := &policyfile.File{Components: []policyfile.Component{{Kind: policyfile.Softmax}, {Kind: policyfile.ArgMax}, {Kind: policyfile.Softmax}}}
	if text := learnedText(pipeline.Training{}, f); !strings.Contains(text, "a mixture of 1 argmax and 2 softmax policies") {
		t.Error(text)
	}
	f.Components = f.Components[1:2]
	if text := learnedText(pipeline.Training{}, f); !strings.Contains(text, "argmax policy") {
		t.Error(text)
	}
}
