package train

import (
	"context"
	"fmt"
	"slices"

	"opl/train/certify"
	"opl/train/logs"
	"opl/train/provenance"
)

// Chunked holds what a Recipe returns if it certifies in chunks: a mixture of one policy for each chunk.
type Chunked struct {
	*ChunkPolicy                         // of the last chunk, from the most rows
	Policies     []*ChunkPolicy          // of each chunk
	Weights      []float64               // of each in the mixture, drawn anew for every decision
	Bounds       certify.Bounds          // of the mixture
	Certificate  *provenance.Certificate // of the mixture; nil: there was no judge
}

// LearnChunks runs the recipe once for each chunk: from the rows that teach and the chunks
// before it learns the policy and the models that the rows of the chunk certify, so that all chunks
// but the last teach, too. What is certified is the mixture of these policies, see
// [certify.Chunks]. Certifying is not used.
//
// Of c it uses the prior's mean as the start, half of the epochs, learning rate, batch size, seed, element type, δ and
// progress. Progress and epochs of chunks after the first have stages such as "chunk 2, prior". The judge is the
// log's; nil: bounds are computed, and nothing is certified.
func (r Recipe) LearnChunks(ctx context.Context, judge *provenance.Judge, log *logs.Log, c Config,
	chunks [][]int) (*Chunked, error) {
	if r.Teaching == nil || len(chunks) == 0 {
		return nil, fmt.Errorf("train: %d rows to learn from and %d chunks, want some of each", len(r.Teaching),
			len(chunks))
	}
	if !(r.Floor >= 0 && r.Floor < 1) {
		return nil, fmt.Errorf("train: floor %v is outside [0, 1)", r.Floor)
	}
	if !c.checked {
		if err := log.Learnable(); err != nil {
			return nil, err
		}
	}
	var err error
	if c.items, err = itemsOf(log); err != nil {
		return nil, err
	}
	c.checked = true
	where := func(k int) string {
		if len(chunks) == 1 {
			return ""
		}
		return fmt.Sprintf("chunk %d of %d: ", k+1, len(chunks))
	}
	out := &Chunked{}
	for _, rows := range chunks {
		r.certifying += len(rows)
	}
	var parts []certify.Chunk
	for k, rows := range chunks {
		for _, i := range rows {
			if i < 0 || i >= log.Len() {
				return nil, fmt.Errorf("%scertify: there is no row %d in a log of %d", where(k), i, log.Len())
			}
		}
		one, config := r, c
		one.Teaching, one.Certifying = slices.Concat(append([][]int{r.Teaching}, chunks[:k]...)...), rows
		if k > 0 {
			stage := fmt.Sprintf("chunk %d, ", k+1)
			if c.Progress != nil {
				config.Progress = func(p Progress) { p.Stage = stage + p.Stage; c.Progress(p) }
			}
			if c.Epoch != nil {
				config.Epoch = func(e Epoch) bool { e.Stage = stage + e.Stage; return c.Epoch(e) }
			}
		}
		p, err := one.learn(ctx, log, config)
		if err != nil {
			return nil, fmt.Errorf("%s%w", where(k), err)
		}
		out.ChunkPolicy = p
		if out.Policies = append(out.Policies, p); log.Choices != nil && len(r.tried(log, one.Teaching)) < len(one.Teaching) {
			r.kept = p.Learner
		}
		taught := p.Posterior.Prior.Taught
		chunk := certify.Chunk{Rows: rows, Taught: taught}
		if chunk.Policy, err = p.Play(log, c.Threads); err != nil {
			return nil, err
		}
		view, err := p.view(p.Components[len(p.Components)-1].In, log, c.Threads)
		if err != nil {
			return nil, err
		}
		for _, m := range p.Models {
			chunk.Models = append(chunk.Models, m.on(view, taught))
		}
		parts = append(parts, chunk)
	}
	o := certify.Options{Delta: c.Delta, Gamma: r.Gamma, Threads: c.Threads}
	if judge == nil {
		out.Bounds, out.Weights, err = certify.Chunks(parts, log, o)
	} else if out.Certificate, out.Weights, err = judge.Chunks(parts, o); err == nil {
		out.Bounds = out.Certificate.Statement().Bounds
	}
	return out, err
}
