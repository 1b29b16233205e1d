package logs

import (
	"time"

	"opl/policies/features"
)

// Decision is one row of a decision log as it was read and checked.
type Decision struct {
	ID           string           // empty: the log has none
	Time         time.Time        // zero: the log has none
	Group        string           // of rows that may depend on one another; empty: none
	Context      []features.Value // named values
	Action       int              // from 0, see Log.Actions
	Cost         float64          // in [−1, 0]
	Propensity   float64          // π₀(a|x) of the logged action in (0, 1]; 0: not known
	Propensities []float64        // π₀(·|x) of all actions; nil: not known
	Weight       float64          // of the row, 1 where the log has none
	Policy       string           // that logged the row, its name or hash; empty: not known
	Row          int              // in its file, from 1, without the header
}
