package provenance_test

import (
	"testing"
	"time"

	"opl/policies/propensity"
	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// Rows certify a policy of chunks if no row of its chunk or of one after it had a part in it, nor
// depends on one that had; whoever says otherwise, by the policy or its models, is refused.
func TestChunks_RefuseRowsThatHadAPart(t *testing.T) {
	log := example(400)
	constant := func(dst []float64, i int) error { copy(dst, []float64{1, 0, 0}); return nil }
	chunk := func(log *logs.Log, rows, taught []int) certify.Chunk {
		c := certify.Chunk{Taught: propensity.NewRowSet(log.Hashes(taught))}
		model := certify.Linear("zero", make([]float64, 12), log, certify.LogisticLink)
		if model.Taught = c.Taught; len(taught) == 0 {
			model.Fixed = true
		}
		c.Policy, c.Models, c.Rows = constant, []*certify.RewardModel{model}, rows
		return c
	}
	in := func(taught ...[]int) []certify.Chunk { // chunks of 100 rows each after the first 100
		var chunks []certify.Chunk
		for k, rows := range taught {
			chunks = append(chunks, chunk(log, upTo(100*(k+1), 100*(k+2)), rows))
		}
		return chunks
	}
	c, w, err := provenance.New(log).Chunks(in(upTo(0, 100), upTo(0, 200), upTo(0, 300)), certify.Options{})
	if err != nil || c.Statement().N != 300 || c.Statement().Chunks != 3 || c.Statement().Refused != 100 || len(w) != 3 || w[0] != w[2] {
		t.Fatalf("%v, weights %v", err, w)
	}
	if _, _, err := provenance.New(log).Chunks(in(nil, nil, upTo(100, 300)), certify.Options{}); err != nil {
		t.Errorf("fixed before the first: %v", err)
	}
	model := in(upTo(0, 100), upTo(0, 200))
	model[1].Models[0].Taught = propensity.NewRowSet(log.Hashes([]int{250}))
	silent := in(upTo(0, 100), upTo(0, 200))
	silent[0].Models[0].Taught = propensity.RowSet{}
	for what, r := range map[string]struct {
		chunks []certify.Chunk
		want   string
	}{
		"its own chunk":              {in(upTo(0, 100), upTo(0, 201)), "row 200 taught the policy"},
		"a later chunk":              {in(upTo(0, 100), upTo(0, 200), upTo(0, 301)), "row 300 taught the policy"},
		"chunks that taught another": {in(upTo(200, 300), upTo(100, 200)), "row 200 taught the policy"},
		"a model's own chunk":        {model, "row 250 taught the reward model"},
		"a model of no origin":       {silent, "not said which rows taught the model"},
	} {
		t.Run(what, func(t *testing.T) {
			_, _, err := provenance.New(log).Chunks(r.chunks, certify.Options{})
			withheld(t, what, err, r.want)
		})
	}
	// A cluster that is parted between a chunk and what taught it, or between two chunks.
	log = example(400)
	for i := range log.Len() {
		log.Group = append(log.Group, int32(i/20))
	}
	log.Group[150], log.Group[100] = 0, 6
	_, _, err = provenance.New(log).Chunks(in(upTo(0, 100), upTo(0, 200)), certify.Options{})
	withheld(t, "a group that taught", err, "depend on rows that taught the policy")
	log.Group[150] = log.Group[250]
	if _, _, err = provenance.New(log).Chunks(in(upTo(0, 100), upTo(0, 100)), certify.Options{}); err == nil {
		t.Error("a group in two chunks certifies")
	}
	// A log that drifts: halves certify it, chunks do not.
	log = example(400)
	for i := range log.Len() {
		log.Time = append(log.Time, int64(i)*int64(time.Second))
		if i < 200 {
			log.Cost[i] = min(log.Cost[i], -.9)
		}
	}
	j := provenance.New(log)
	if j.Drift() == nil {
		t.Fatal("no drift is found")
	}
	_, _, err = j.Chunks(in(upTo(0, 100), upTo(0, 200)), certify.Options{})
	withheld(t, "drift", err, "drift of the reward")
	if _, _, err := j.Chunks([]certify.Chunk{chunk(log, upTo(100, 400), upTo(0, 100))}, certify.Options{}); err != nil {
		t.Errorf("one chunk under drift: %v", err)
	}
}
