package learn

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"opl/policies"
	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/logs"
)

// CertifyOptions says how a policy file is certified.
type CertifyOptions struct {
	Delta float64 // δ; 0: that of the training, or 0.05
	// Fresh says that no row of the log had a part in the policy, where that cannot
	// be seen.
	Fresh     bool
	Force     bool    // certify on a log that cannot be used, too
	RewardMin float64 // the rewards in the log's units that are 0 and 1; both 0: 0 and 1
	RewardMax float64
}

// Guarantee is what is guaranteed of a policy by a log: the object "certificate" of
// a policy file.
type Guarantee struct {
	certify.Certificate
	Reward   float64  `json:"guaranteed"` // of the best bound, in [0, 1]
	Relation relation `json:"relation"`   // of the log to the one learned from
	DataHash string   `json:"data_hash"`  // of the log
	Rows     int      `json:"rows"`       // of the log
	Refused  int      `json:"refused"`    // rows that taught what must be fixed
	Logged   float64  `json:"logged"`     // mean reward of the log, in [0, 1]
	Estimate Estimate `json:"estimate"`   // on the rows that certify
	// Dependent says that rows share groups: what is guaranteed would hold for
	// independent rows.
	Dependent bool `json:"dependent,omitempty"`
	// RewardMin and RewardMax are the rewards that are 0 and 1.
	RewardMin float64  `json:"reward_min"`
	RewardMax float64  `json:"reward_max"`
	Doubts    []string `json:"doubts,omitempty"` // of the log, whose rows the guarantee takes for independent and alike
	Notes     []string `json:"notes,omitempty"`
}

// of fills in what is of the log alone.
func (g *Guarantee) of(log *logs.Log, found inspect.Report, low, high float64) {
	g.Reward, g.DataHash, g.RewardMin, g.RewardMax = g.Guaranteed(), log.Hash(), low, high
	g.Logged = -mean(log.Cost)
	if n := log.Skipped; n > 0 {
		g.Notes = append(g.Notes, leftOut(n))
	}
	for _, f := range found.Findings {
		g.Dependent = g.Dependent || f.Check == "groups" && f.Severity > inspect.Fine
		if f.Severity > inspect.Fine {
			g.Doubts = append(g.Doubts, fmt.Sprintf("%s: %s: %s", f.Check, f.Measured, f.Means))
		}
	}
}

// leftOut says what rows that could not be read mean.
func leftOut(n int) string {
	return fmt.Sprintf("%d rows could not be read: all of this speaks of the rows kept", n)
}

// Certify certifies the policy of a file on a log: the one it was learned from, on
// the rows that taught neither its prior nor its encoder nor its reward model, or a
// later one. On a log of which no row had a part in the policy, the policy is fixed
// before: it is its own prior, at a divergence of 0. Where rows had a part in
// choosing among priors, δ pays for that. A softmax policy is certified on such a
// log alone. Errors: rows that cannot be told to be admissible, or none that are;
// estimated propensities; actions that the policy does not have.
func Certify(ctx context.Context, p *policyfile.Policy, log *logs.Log, o CertifyOptions) (*Guarantee, error) {
	if log.Estimated {
		return nil, errors.New("the propensities of this log are estimates: no guarantee holds on it")
	}
	if log.Propensity == nil {
		return nil, errors.New("the log has no propensities: name what drew the actions by --logging-policy")
	}
	f := p.File()
	trained, err := TrainingOf(f)
	if err != nil {
		trained = Training{} // it was made elsewhere
	}
	if o.Delta == 0 {
		if o.Delta = trained.Delta; o.Delta == 0 {
			o.Delta = 0.05
		}
	}
	if o.RewardMin == 0 && o.RewardMax == 0 {
		o.RewardMax = 1
	}
	found := inspect.Inspect(log)
	if found.Severity == inspect.Unusable && !o.Force {
		f := found.Findings[0]
		return nil, fmt.Errorf("the log cannot be used: %s: %s: %s; %s, or certify on it all the same by --force", f.Check, f.Measured, f.Means, f.Do)
	}
	known, err := log.Known(f.Encoder)
	if err != nil {
		return nil, err
	}
	id := identify(log)
	old, err := pastOf(f).compare(log, id, o.Fresh)
	if err != nil {
		return nil, err
	}
	rows, err := read(log, f.Encoder, id)
	if err != nil {
		return nil, err
	}
	if rows, err = renamed(rows, log.Actions, f.Actions); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var admissible []int
	for i := range log.Len() {
		if !old.taught[i] {
			admissible = append(admissible, i)
		}
	}
	g := &Guarantee{Relation: old.relation, Rows: log.Len(), Refused: log.Len() - len(admissible)}
	if old.note != "" {
		g.Notes = append(g.Notes, old.note)
	}
	if n := len(log.Names()); known < n {
		g.Notes = append(g.Notes, fmt.Sprintf("the policy does not know %d of the %d names and categories in the contexts, and leaves them out", n-known, n))
	}
	if len(admissible) == 0 {
		return nil, fmt.Errorf("all %d rows of the log taught the policy's prior, and none is left to certify it", log.Len())
	}
	pol, q := policyOf(f)
	options := certify.Options{Delta: o.Delta, Priors: 1, Threads: runtime.GOMAXPROCS(0)}
	switch {
	case old.relation == Fresh && !pol.HasPosterior():
		g.Certificate, err = fixed(pol, q, rows, o.Delta)
	case old.relation != Fresh && !pol.HasPosterior():
		return nil, errors.New("a softmax policy is one parameter chosen from the data: it can be certified on a log alone that it was not learned from")
	default:
		if old.relation == Fresh {
			q.Prior = policies.Prior{Mean: q.Mu, Scale: q.Sigma}
		} else {
			options.Priors = max(1, trained.Tried)
		}
		if trained.HasModel {
			options.RewardModel = &certify.RewardModel{Theta: slices.Concat(f.Prior.Mean...)}
			if trained.RewardModel != nil {
				options.RewardModel.Theta = slices.Concat(trained.RewardModel...)
			}
		}
		g.Certificate, err = certify.Certify(pol, q, rows, admissible, options)
	}
	if err != nil {
		return nil, err
	}
	g.Estimate = judge(pol, q, rows, admissible)
	g.of(log, found, o.RewardMin, o.RewardMax)
	return g, nil
}

// fixed certifies a policy that was fixed before the log.
func fixed(pol policies.Policy, q policies.Posterior, log *logs.Log, delta float64) (certify.Certificate, error) {
	contexts := make([]int, log.Len())
	for i := range contexts {
		contexts[i] = log.Context(i)
	}
	pi, logged := make([]float64, log.K()), make([]float64, log.Len())
	logs.Scores(log.X, contexts, q.Mu, log.K(), func(i int, scores []float64) {
		pol.At(pi, scores, q.Sigma*log.X.Norm(contexts[i]), nil)
		logged[i] = pi[log.Action[i]]
	})
	return certify.Fixed(logged, log.Propensity, log.Cost, delta)
}

// renamed puts the actions of a log in the order of a policy's. Those that the log
// does not have were never played there.
func renamed(log *logs.Log, has, wants []string) (*logs.Log, error) {
	if slices.Equal(has, wants) {
		return log, nil
	}
	to := make([]int32, len(has))
	for a, name := range has {
		at := slices.Index(wants, name)
		if at < 0 {
			return nil, fmt.Errorf("the log has an action %q that the policy does not know: it knows %s", name, names(wants))
		}
		to[a] = int32(at)
	}
	out := *log
	out.Actions, out.Action = wants, make([]int32, log.Len())
	for i, a := range log.Action {
		out.Action[i] = to[a]
	}
	if log.Propensities != nil {
		out.Propensities = make([]float64, log.Len()*out.K())
		for i := range out.Propensities {
			out.Propensities[i] = logs.Floor
		}
		for i := range log.Len() {
			for a, b := range to {
				out.Propensities[i*out.K()+int(b)] = log.Propensities[i*log.K()+a]
			}
		}
	}
	return &out, nil
}
