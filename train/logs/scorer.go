package logs

import (
	"opl/graph/kernel/simd"
	"opl/policies/features"
)

// Columns are costs, logged propensities and groups.
func (l *Log) Columns() (cost, propensity []float64, group []int32) {
	return l.Cost, l.Propensity, l.Group
}

// Choosing reports that rows offer sets of actions, or that actions have features.
func (l *Log) Choosing() bool { return l.Choices != nil }

// Norm returns the Euclidean norm of the vector of row i's context.
func (l *Log) Norm(i int) float64 { return l.X.Norm(l.Context(i)) }

// Scores computes φ(x)ᵀθ_a in float64 for the rows of x, and hands each row's K scores to use, with its place among
// rows. theta is [K×d]; nil rows stand for all. The slice is used again after the call.
func Scores(x Contexts, rows []int, theta []float64, k int, use func(i int, scores []float64)) {
	of := (&Log{Actions: make([]string, k), X: x}).Scorers(theta)()
	forRows(rows, x.Len(), func(i, row int) { use(i, of(row)) })
}

// forRows calls use for each of the rows, or, if they are nil, for all n, with its place among them.
func forRows(rows []int, n int, use func(i, row int)) {
	if rows == nil {
		for i := range n {
			use(i, i)
		}
	}
	for i, row := range rows {
		use(i, row)
	}
}

// ScoreRows calls use with the scores of what each of the rows offers, see [Log.Scorers], and its place among rows;
// nil rows stand for all. The slice is used again after the call.
func (l *Log) ScoreRows(rows []int, theta []float64, use func(i int, scores []float64)) {
	of := l.Scorers(theta)()
	forRows(rows, l.Len(), func(i, row int) { use(i, of(row)) })
}

// Scorers returns a function that makes scorers of rows by θ, which share what does not change. A scorer returns
// the scores of what a row offers, φ(x)ᵀθ_a with θ [K×d], φ(x)ᵀθᵀz(a) with θ [p×d] where actions have
// vectors, or those of [Log.Jointly]. They are valid until its next call, and equal to those of a policy file to the
// bit. One goroutine may use a scorer.
func (l *Log) Scorers(theta []float64) func() func(i int) []float64 {
	var columns []float64
	var pairs *features.Pairs
	var known features.Halves
	switch {
	case l.Choices == nil:
		columns = transposed(theta, l.K())
	case l.Choices.joint != nil:
		pairs = features.NewPairs(l.Choices.joint, theta, l.Dim(), l.Choices.Z.Dim())
		known = pairs.Known(l.Choices.Z.Len(), l.Choices.Z.Row64)
	}
	return func() func(i int) []float64 {
		return newScorer(theta, columns, pairs, known, l).of
	}
}

// scorer computes the scores of a row's actions.
type scorer struct {
	log         *Log
	theta       []float64
	columns     []float64 // θᵀ [d×K], with zeros up to a multiple of four columns; nil: of a log with choices
	phi, scores []float64
	items       ItemRows        // z(a); Values nil: actions have no vectors
	shared      []float64       // θφ(x) of what the encoder gives
	z           []float64       // of four items
	panels      []float32       // of a catalogue: z(a) of all actions, for simd.Products; nil: not held, or not of 32 bits
	all         []float64       // their scores
	own         []int32         // which of them have rows of their own
	pairs       *features.Pairs // joint scores; nil: they are not
	known       features.Halves // what these need of each z(a); empty: there is no room for it
	pair        features.Halves // and of φ(x) and one z(a)
}

// transposed is θ [K×d] by columns, with zeros up to a multiple of four.
func transposed(theta []float64, k int) []float64 {
	d, wide := len(theta)/k, (k+3)&^3
	t := make([]float64, d*wide)
	for a := range k {
		for j, v := range theta[a*d : (a+1)*d] {
			t[j*wide+a] = v
		}
	}
	return t
}

func newScorer(theta, columns []float64, pairs *features.Pairs, known features.Halves, log *Log) *scorer {
	s := &scorer{log: log, theta: theta, columns: columns,
		phi: make([]float64, log.Dim()), scores: make([]float64, log.MostOptions()+3)}
	if log.Choices == nil || log.Choices.Z == nil {
		return s
	}
	parts, ok := log.Choices.Z.(ItemRows)
	if !ok {
		parts = ItemRows{Values: log.Choices.Z, Width: log.Choices.Z.Dim()}
	}
	s.items, s.shared = parts, make([]float64, parts.Values.Dim())
	s.z = make([]float64, 4*len(s.shared))
	if pairs != nil {
		s.pairs, s.known, s.pair = pairs, known, pairs.Halves(2)
		s.z, s.all = make([]float64, parts.Width), make([]float64, pairs.Scratch())
		return s
	}
	if !log.Sets() {
		s.hold()
	}
	return s
}

// heldPanels is how many numbers of a catalogue are held for fast products: 256 MB.
const heldPanels = 64 << 20

// hold holds z(a) of the catalogue.
func (s *scorer) hold() {
	n, q := s.log.K(), len(s.shared)
	z := s.z[:q]
	wide := (n + simd.Abreast - 1) / simd.Abreast * simd.Abreast
	if q == 0 || wide > heldPanels/q {
		return
	}
	panels := make([]float32, wide*q)
	for a := range n {
		s.items.Values.Row64(a, z)
		if s.items.Place(a) >= 0 {
			s.own = append(s.own, int32(a))
		}
		to := panels[a/simd.Abreast*simd.Abreast*q+a%simd.Abreast:]
		for j, v := range z {
			if to[j*simd.Abreast] = float32(v); float64(float32(v)) != v {
				return
			}
		}
	}
	s.panels, s.all = panels, make([]float64, wide)
}

// row is φ(x)ᵀθ_c.
func (s *scorer) row(c int) float64 {
	return features.Dot(s.phi, s.theta[c*len(s.phi):(c+1)*len(s.phi)])
}

// of returns the scores of what row i offers.
func (s *scorer) of(i int) []float64 {
	s.log.X.Row64(s.log.Context(i), s.phi)
	if s.columns != nil {
		k := s.log.K()
		all := s.scores[:(k+3)&^3]
		clear(all)
		simd.AddRowsTimes(all, s.columns, s.phi)
		return all[:k]
	}
	scores := s.scores[:s.log.Options(i)]
	if s.pairs != nil {
		s.joint(scores, i)
		return scores
	}
	features.Dots(s.shared, s.theta, s.phi)
	if s.shared == nil {
		for j := range scores {
			a, _ := s.log.Option(i, j)
			scores[j] = s.row(int(a))
		}
		return scores
	}
	if s.panels != nil {
		clear(s.all)
		simd.AddProducts(s.all, s.panels, s.shared)
		for _, j := range s.own {
			s.all[j] += s.row(s.items.Place(int(j)))
		}
		return s.all[:len(scores)]
	}
	const abreast = 4 // sums that need not wait for one another
	q := len(s.shared)
	for j := 0; j < len(scores); j += abreast {
		some := scores[j:min(j+abreast, len(scores))]
		var place [abreast]int
		for k := range some {
			_, item := s.log.Option(i, j+k)
			s.items.Values.Row64(item, s.z[k*q:(k+1)*q])
			place[k] = s.items.Place(item)
		}
		features.Dots(some, s.z, s.shared)
		for k := range some {
			if at := place[k]; at >= 0 {
				some[k] += s.row(at)
			}
		}
	}
	return scores
}

// joint writes the joint scores of what row i offers.
func (s *scorer) joint(scores []float64, i int) {
	x, own := s.pair.At(0), s.pair.At(1)
	s.pairs.X(x, s.phi, s.all)
	j := 0
	if s.known.Len() > 0 {
		var v [4]float64
		var z [4]features.Half
		for ; j+4 <= len(scores); j += 4 {
			for k := range z {
				_, item := s.log.Option(i, j+k)
				z[k] = s.known.At(item)
			}
			s.pairs.Four(&v, x, &z, s.all)
			copy(scores[j:], v[:])
		}
	}
	for ; j < len(scores); j++ {
		_, item := s.log.Option(i, j)
		if s.known.Len() > 0 {
			scores[j] = s.pairs.Score(x, s.known.At(item), s.all)
			continue
		}
		s.items.Row64(item, s.z)
		s.pairs.Z(own, s.z, s.all)
		scores[j] = s.pairs.Score(x, own, s.all)
	}
}
