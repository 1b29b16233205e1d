package pipeline_test

import (
	"errors"
	"strings"
	"testing"

	"opl/policies/policyfile"
	"opl/testdata/long"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
)

// A policy file whose lists of the rows that taught it were cut or emptied, with the digest made anew, is never certified as
// better, on the log that taught it or on another.
func TestCutListsOfRows_AreNeverCertified(t *testing.T) {
	long.Test(t)
	w := world{seed: 3}
	log, later := w.log(t, 1500), world{seed: 4}.log(t, 1500)
	l := mustLearn(t, log, pipeline.Options{Seed: 1, Settings: settings(2), Scaling: unit})
	some := func(share int) func(h policyfile.Hashes) policyfile.Hashes {
		return func(h policyfile.Hashes) policyfile.Hashes { return h[:len(h)*share/100] }
	}
	for name, c := range map[string]struct {
		cut      func(h policyfile.Hashes) policyfile.Hashes
		hash     string // of the log that it says taught it; "": the one that did
		training bool   // what it says of the training is left
		on       *logs.Log
		fresh    bool
		says     string // a *Withheld; "": the verdict is doubted
	}{
		"to 5 % on the very log":               {some(5), "", true, log, false, "the lists were cut"},
		"by one in twenty":                     {some(95), "", true, later, false, "the lists were cut"},
		"emptied on the very log":              {some(0), "", true, log, false, "the lists were cut"},
		"emptied and of another log":           {some(0), "00", true, log, false, "the lists were cut"},
		"emptied, of another log, said fresh":  {some(0), "00", true, log, true, "the lists were cut"},
		"without training, on the very log":    {some(0), "", false, log, false, "lists none of its rows"},
		"without training, and of another log": {some(0), "00", false, log, false, ""},
		"without training, on a later log":     {some(0), "", false, later, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := *l.File
			f.Components = append([]policyfile.Component(nil), f.Components...)
			for i := range f.Components {
				f.Components[i].Taught, f.Components[i].Chosen = c.cut(f.Components[i].Taught), c.cut(f.Components[i].Chosen)
			}
			if c.hash != "" {
				f.History.DataHash = c.hash
			}
			f.History.Fingerprints = nil
			if !c.training {
				f.Training = nil
			}
			p, err := policyfile.New(&f)
			if err != nil {
				t.Fatal(err)
			}
			cert, err := provenance.Within(c.on, 1).File(t.Context(), p, provenance.Options{Delta: .05, Gamma: 1, Fresh: c.fresh})
			if c.says == "" {
				if err != nil || cert.Statement().Proven() {
					t.Errorf("%v, want a doubt", err)
				}
				return
			}
			if withheld := (*provenance.Withheld)(nil); !errors.As(err, &withheld) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
	p, err := policyfile.New(l.File)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provenance.Within(later, 1).File(t.Context(), p, provenance.Options{Delta: .05, Gamma: 1}); err != nil {
		t.Errorf("whole lists: %v", err)
	}
}
