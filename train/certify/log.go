package certify

// Log lets bounds read n decisions among K actions; *logs.Log implements it. Slices by action, such as π₀(·|x_i),
// have an entry for each action that row i offers, in the row's order.
type Log interface {
	Len() int     // n
	K() int       // K
	Check() error // says what is wrong with the columns
	// Columns returns c_i in [−1, 0], π₀(a_i|x_i) (nil: not known) and the clusters of rows that may depend on one
	// another (a negative number: none; nil: no row depends on another).
	Columns() (cost, propensity []float64, cluster []int32)
	LoggedOnly() bool      // π₀ is known of the logged action alone
	Derived() bool         // π₀ of the actions that were not drawn is what logged propensities tell
	Paired() bool          // π₀ of the other of two actions is 1 less that of the logged one
	Floor() float64        // π₀ of no action is below it, in no row; 0: it is not known
	Choosing() bool        // rows offer sets of actions, or actions have features
	Options(row int) int   // how many actions the row offers
	MostOptions() int      // the largest of these numbers
	Chosen(row int) int    // place of the logged action among those that the row offers
	Pi0(row int) []float64 // π₀(·|x_i); nil: not known
	Density(row int) bool  // π₀(a_i|x_i) is a density times the width of a bin, which may be above 1
}

// Encoded is a log whose contexts are vectors φ(x_i) of d numbers, and its actions, where they have features, vectors
// z(a). Linear policies and models read it.
type Encoded interface {
	Log
	Dim() int             // d; 0: contexts are not encoded
	Norm(row int) float64 // ‖φ(x_i)‖₂
	// ScoreRows calls use with the scores of each of the rows: φ(x)ᵀθ_a with θ [K×d], or φ(x)ᵀθᵀz(a) with θ
	// [p×d].
	ScoreRows(rows []int, theta []float64, use func(i int, scores []float64))
	// Scorers returns a function that makes scorers. A scorer returns the scores of a row, valid until its next call;
	// one goroutine may use it. The scores are those of a policy file, to the bit.
	Scorers(theta []float64) func() func(row int) []float64
}
