package weights

// Term is a named number that an objective or a bound is made of.
type Term struct {
	Name  string  `json:"name"`  // of the term
	Value float64 `json:"value"` // in the units of the objective
}
