package pipeline_test

import (
	"fmt"
	"opl/train/library"
	"strings"
	"testing"

	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/pipeline"
	"opl/train/provenance"
)

// A first log taught π₁, which logged a second, which taught π₂: no row of the first may
// certify π₂, nor any policy that π₂ logs for, however the first log is cut.
func TestAncestors_NeverCertifyLaterPolicies(t *testing.T) {
	learn := func(seed uint64, loggers ...*policyfile.Policy) *policyfile.Policy {
		t.Helper()
		return policy(t, mustLearn(t, world{seed: seed, ids: true}.log(t, 1000),
			pipeline.Options{Seed: seed, Settings: settings(1), Scaling: unit, Floor: .1, Ancestry: pipeline.Ancestry{Loggers: loggers}}))
	}
	first := learn(1)
	mixed := world{seed: 2, ids: true}.log(t, 1000)
	mixed.Policies, mixed.Logger = []string{"old", "new"}, make([]int32, 1000)
	for _, several := range []bool{false, true} {
		for i := range 400 {
			mixed.Logger[i] = map[bool]int32{true: 1}[several]
		}
		l := mustLearn(t, mixed, pipeline.Options{Seed: 2, Settings: settings(1), Scaling: unit, Floor: .1})
		if warned := strings.Contains(strings.Join(l.Training.Warnings, "\n"), "several policies logged these rows"); warned != several {
			t.Errorf("several policies: %v, warned %v", several, warned)
		}
	}
	second := learn(2, first)
	// A log may call π₁ v1: the file is that of the one name. A digest is of no other file, nor a name beside one.
	for name, refused := range map[string]bool{"v1": false, first.Hash(): false, fmt.Sprintf("%064d", 7): true, "v1 " + first.Hash(): true} {
		mixed.Policies, mixed.Logger = strings.Fields(name), make([]int32, 1000)
		mixed.Logger[0] = int32(len(mixed.Policies) - 1)
		files := []*policyfile.Policy{first, second}[:len(mixed.Policies)]
		l := mustLearn(t, mixed, pipeline.Options{Seed: 2, Settings: settings(1), Scaling: unit, Floor: .1,
			Ancestry: pipeline.Ancestry{Loggers: files}})
		_, err := certifyFile(policy(t, l), world{seed: 9, ids: true}.log(t, 1000), options{})
		if is := err != nil && strings.Contains(err.Error(), "setting logged-by"); is != refused || !refused && err != nil {
			t.Errorf("rows that %s logged, with a file of π₁: %v", name, err)
		}
		if warned := strings.Contains(strings.Join(l.Training.Warnings, "\n"), "no file of setting logged-by"); warned != refused {
			t.Errorf("rows that %s logged, with a file of π₁: warned %v", name, warned)
		}
		if _, err := certifyFile(policy(t, l), world{seed: 1, ids: true}.log(t, 1000), options{}); err == nil {
			t.Errorf("rows that %s logged: the log that taught π₁ certifies", name)
		}
	}
	third := learn(3, second)
	for i, p := range []*policyfile.Policy{second, third} {
		log := world{seed: 1, ids: true}
		if _, err := certifyFile(p, log.log(t, 1000), options{}); err == nil || !strings.Contains(err.Error(), "the log taught the policy") {
			t.Errorf("policy %d on the first log: %v", i+2, err)
		}
		if _, err := certifyFile(p, log.log(t, 1000), options{fresh: true}); err == nil {
			t.Errorf("policy %d on the first log is fresh by word", i+2)
		}
		log.drop = func(i int) bool { return i < 300 }
		if _, err := certifyFile(p, log.log(t, 1000), options{}); err == nil || !strings.Contains(err.Error(), "none is left") {
			t.Errorf("policy %d on a part of the first log: %v", i+2, err)
		}
		log.drop = nil
		if s := mustCertify(t, p, log.log(t, 1600), options{}); s.Relation != provenance.Ancestral || s.Refused != 1000 || s.N != 600 || s.Notes == nil {
			t.Errorf("policy %d on more than the first log: %s, %d refused, %d certify", i+2, s.Relation, s.Refused, s.N)
		}
		if got := says(provenance.New(log.log(t, 1600)), p.File(), log.log(t, 1600)); !strings.Contains(got, "rows of this log") {
			t.Errorf("policy %d is evaluated on more than the first log: %q", i+2, got)
		}
		if s := mustCertify(t, p, world{seed: 9, ids: true}.log(t, 1000), options{}); s.Relation != provenance.Fresh || s.N != 1000 {
			t.Errorf("policy %d on another log: %s, %d certify", i+2, s.Relation, s.N)
		}
	}
	if n := len(third.File().History.Ancestors); n != 2 {
		t.Errorf("%d ancestors, want 2", n)
	}

	// Of an ancestor that is known by its hash alone it is not known what taught it: only
	// times can show that a log is a later one.
	f := *second.File()
	f.History.Ancestors = []policyfile.Ancestor{{Policy: fmt.Sprintf("%064d", 7)}}
	p, err := policyfile.New(&f)
	if err != nil {
		t.Fatal(err)
	}
	other := world{seed: 9, ids: true, times: true}.log(t, 500)
	if _, err := certifyFile(p, other, options{}); err == nil || !strings.Contains(err.Error(), "not recorded") {
		t.Errorf("an unknown ancestor: %v", err)
	}
	mustCertify(t, p, other, options{fresh: true})
	f.History.Until = other.Time[0] - 1
	if p, err = policyfile.New(&f); err != nil {
		t.Fatal(err)
	}
	mustCertify(t, p, other, options{})
}

// Whoever states a guarantee asks the judge: rows that taught a policy certify it through
// no door of the library.
func TestGuarantees_AreRefusedWhereRowsTaughtThePolicy(t *testing.T) {
	w := world{seed: 1, ids: true, full: true}
	log := w.log(t, 1200)
	l := mustLearn(t, log, pipeline.Options{Seed: 1, Settings: settings(1), Scaling: unit})
	p := policy(t, l)
	for what, variant := range map[string]world{
		"a copy":           w,
		"a part":           {seed: 1, ids: true, full: true, drop: func(i int) bool { return i >= 600 }},
		"renamed":          {seed: 1, ids: true, full: true, id: func(i int) string { return fmt.Sprint("new", i) }},
		"actions in order": {seed: 1, ids: true, full: true, actions: []string{"b", "c", "a"}},
	} {
		t.Run(what, func(t *testing.T) {
			log := variant.log(t, 1200)
			j := provenance.New(log)
			if got := says(j, p.File(), log); got == "" {
				t.Errorf("%s: evaluation guarantees", what)
			}
			if c, err := j.File(t.Context(), p, provenance.Options{}); err == nil && c.Statement().N > l.Training.Certifying {
				t.Errorf("%d rows certify, only %d had no part in the policies that they certify", c.Statement().N, l.Training.Certifying)
			}
		})
	}
	encoded, err := log.Encode(l.File.Components[0].Encoder)
	if err != nil {
		t.Fatal(err)
	}
	_, encoded.Keys = log.Identity()
	rows := make([]int, log.Len())
	for i := range rows {
		rows[i] = i
	}
	if _, err := provenance.New(encoded).Posterior(l.Policy, l.Posterior, rows, optionsOf(l)); err == nil || !strings.Contains(err.Error(), "taught the prior") {
		t.Errorf("the posterior in memory on all rows: %v", err)
	}
	if _, err := pipeline.Learn(t.Context(), library.Standard(), log, pipeline.Options{PriorFile: p, Settings: settings(1)}); err == nil || !strings.Contains(err.Error(), "every row") {
		t.Errorf("a prior from the rows that certify: %v", err)
	}
}

func optionsOf(l *pipeline.Learned) certify.Options {
	return certify.Options{Delta: l.Training.Delta}
}
