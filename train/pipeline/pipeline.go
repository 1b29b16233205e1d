package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"gorgonia.org/tensor"

	"opl/objectives"
	"opl/policies"
	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/train"
	"opl/train/certify"
	"opl/train/inspect"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/provenance"
)

// Learned holds a policy that was learned from a log, and what is known of it.
type Learned struct {
	File      *policyfile.File   // to save
	Served    *policyfile.Policy // that File holds
	Policy    policies.Policy    // to play at once
	Posterior policies.Posterior // of a mixture that of the last component
	Training  Training           // how it was learned
	Log       inspect.Report     // what was found of the log
	Judge     *provenance.Judge  // of the log, without the windows that numbers were divided into
	// Certificate is nil where nothing could be certified; Unproven then says why.
	Certificate *provenance.Certificate
	Unproven    string // why there is no certificate
	// Worse says that by the estimate, if that is one, the policy earns less than the logging policy.
	Worse bool
	// Undecided says that it is Worse by less than a standard error of the estimate, which is no more than chance.
	Undecided bool
}

// Harms reports that the policy is shown to break a limit.
func (l *Learned) Harms() bool {
	if l.Certificate == nil {
		return false
	}
	d := l.Certificate.Statement().Decided()
	return d != nil && d.Answer == provenance.Harm
}

// Learn learns a policy from a log. It divides the rows, fits the encoder (and
// learns the prior) on those that teach, trains on the rest, and certifies on it.
// Errors: a log that cannot be used, unless forced; combinations that have no
// meaning or that the log lacks columns for; rows that cannot be divided.
func Learn(ctx context.Context, lib library.Library, log *logs.Log, o Options) (*Learned, error) {
	return learn(ctx, lib, log, o, known{})
}

// known is what is known of a log before its rows are divided.
type known struct {
	judge     *provenance.Judge // nil: it is not inspected yet
	looked    []int             // rows that bins were chosen on, which do not certify
	divisions []Division        // of a range of numbers that there was a choice among
}

func learn(ctx context.Context, lib library.Library, log *logs.Log, o Options, k known) (*Learned, error) {
	if err := provenance.Required(log, o.Gamma, o.Requirements); err != nil {
		return nil, err
	}
	if log.Numbers != nil {
		var err error
		if log, o, k, err = bandwidth(ctx, lib, log, o, k); err != nil {
			return nil, err
		}
	}
	l, err := prepare(lib, log, o, k)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if len(o.Requirements) > 0 {
		if err := l.trade(ctx, lib); err != nil {
			return nil, err
		}
	}
	if l.objective.Recipe {
		err = l.recipe(ctx)
	} else {
		err = l.fit(ctx)
	}
	var unfit *objectives.UnfitError
	if errors.As(err, &unfit) {
		err = fmt.Errorf("%s: %w", l.objective.Name, unfit)
	}
	if err != nil {
		return nil, err
	}
	l.out.Training.Seconds = time.Since(begin).Seconds()
	if len(o.Requirements) > 0 { // what is said is of the reward itself
		l.encoded = withCost(l.encoded, log.Cost)
	}
	if err := l.estimate(); err != nil {
		return nil, err
	}
	l.remark()
	if err := l.unlimited(); err != nil {
		return nil, err
	}
	if err := l.makeFile(); err != nil {
		return nil, err
	}
	if len(o.Requirements) > 0 {
		if err := l.decide(ctx); err != nil {
			return nil, err
		}
	}
	return l.out, nil
}

// Foretold says before anything is learned that a log can guarantee no more than the floor of a policy earns. Of n rows
// with propensities of at most p a policy that plays one action for each context is expected to play n·p at most.
// Below log(1/δ), 3 at δ = 0.05, none of them may play it with a probability above δ, and a bound must allow for
// that.
func Foretold(log *logs.Log) []string {
	if log.Numbers != nil || log.Lists != nil || log.Estimated || len(log.Propensity) == 0 {
		return nil
	}
	most := slices.Max(log.Propensity)
	if played := most * float64(log.Len()); played < 3 {
		return []string{fmt.Sprintf("%d rows with propensities of at most %.3g play what a policy chooses %.2g times: "+
			"no more can be guaranteed than its floor earns; log more rows, or by a policy that plays its choice more "+
			"often", log.Len(), most, played)}
	}
	return nil
}

// learning is the state of one call of Learn.
type learning struct {
	known
	o         Options
	log       *logs.Log
	objective library.Objective
	family    propensity.Family // of what is learned, without the floor
	config    train.Config
	seed      uint64 // of the hashes of rows

	teaching, certifying []int
	chunks               [][]int // of the rows that certify
	encoder              *features.Encoder
	items                *features.Items   // of actions with features, or sets; nil: none
	encoded              *logs.Log         // the log, encoded
	prior                policies.Prior    // where learning starts
	start                []train.Component // what plays, if it has a file
	layers               []features.Layer  // that objectives' policies are linear in
	mixture              *train.Chunked    // that the recipe learned; nil: an objective learned one policy
	out                  *Learned
}

func prepare(lib library.Library, log *logs.Log, o Options, k known) (*learning, error) {
	l := &learning{known: k, o: o, log: log, out: &Learned{}}
	run, err := l.configure(lib)
	if err != nil {
		return nil, err
	}
	if l.judge == nil {
		l.judge = provenance.Within(log, o.Gamma)
	}
	if o.Force {
		l.judge.Force()
	}
	l.out.Log, l.out.Judge = l.judge.Found(), l.judge
	if err := l.judge.Usable(); err != nil {
		return nil, err
	}
	if err := log.RequirePropensities(); err != nil {
		return nil, err
	}
	if log.LoggedOnly() {
		if err := lib.CheckLoggedOnly(run); err != nil {
			return nil, fmt.Errorf("%s: %w", run.Objective, err)
		}
	}
	l.out.Training = Training{Run: run, Rows: log.Len(), Estimated: log.Estimated, Tried: 1,
		Divisions: k.divisions, Snapshots: log.Snapshots, Formula: log.Formula,
		Limits: provenance.LimitsOn(log, o.Requirements)}
	if left := provenance.LeftOut(log.LeftOut, log.Skipped); left != "" {
		l.warn("%s", left)
	}
	known := 0 // rows whose policy is told
	for _, of := range log.Loggers() {
		known += of.Rows
	}
	if n := len(log.Loggers()); n > 1 || known < log.Len() && (n > 0 || len(o.Loggers) > 0 && log.Files > 1) {
		l.warn("several policies logged these rows: what is said of the logging policy is of them all, each with the share " +
			"of its rows, and not of the one that plays now; certify on rows that this one logged, to know that")
	}
	if names := provenance.Unfiled(log, o.Loggers); len(o.Loggers) > 0 && len(names) > 0 {
		l.warn("rows were logged by the policy %.12s, which no file of setting logged-by is: certify will refuse logs "+
			"without times; give its file, too", names[0])
	}
	for _, f := range l.out.Log.Findings {
		if f.Severity > inspect.Fine {
			l.warn("%s: %s: %s; %s", f.Check, f.Measured, f.Means, f.Do)
		}
	}
	if err := l.divide(); err != nil {
		return nil, err
	}
	if (l.o.Floor > 0 || l.objective.Recipe) && l.judge.Admits() == nil {
		if err := provenance.Marginless(log); err != nil {
			return nil, err
		}
	}
	if err := l.encode(); err != nil {
		return nil, err
	}
	if l.config, l.out.Training.Run, err = lib.Config(run, len(l.certifying)); err != nil {
		return nil, err
	}
	l.addFloor()
	l.config.Progress = o.Progress
	if h := l.config.Representation; h != nil {
		params := &objectives.Params{Dtype: tensor.Float64}
		if _, err = params.Width(h, l.encoded.Dim()); err == nil {
			_, err = params.FeatureLayers(h, l.encoded.Dim())
		}
		if err != nil {
			return nil, fmt.Errorf("representation %s: %w", cmp.Or(run.Representation, "of the recipe"), err)
		}
	}
	return l, nil
}

// addFloor gives the policy that is learned its floor.
func (l *learning) addFloor() {
	if f, has := l.config.Policy.(policies.Floor); has {
		l.config.Policy = f.Policy
	}
	if l.o.Floor > 0 {
		l.config.Policy = policies.Floor{Policy: l.config.Policy, Epsilon: l.o.Floor}
	}
}

func (l *learning) warn(format string, args ...any) {
	l.out.Training.Warnings = append(l.out.Training.Warnings, fmt.Sprintf(format, args...))
}

// startFrom takes encoder, layers and prior from the file of a policy; of a mixture, from the last component, which
// most rows taught.
func (l *learning) startFrom(f *policyfile.Policy) error {
	last := f.File().Components[len(f.File().Components)-1]
	if last.Joint && !l.objective.Recipe {
		return fmt.Errorf("the prior's scores are of contexts and actions together, and %s learns W of actions' features: "+
			"take the certified recipe, or no prior", l.o.Objective)
	}
	l.encoder, l.items = last.Encoder, last.Items
	known, err := l.log.Known(l.encoder)
	if err != nil {
		return err
	}
	if not := provenance.Unread(f.File(), l.log); not != "" {
		l.warn("the prior's file: %s", not)
	}
	if n := len(l.log.Names()); known < n {
		l.warn("the prior's file does not know %d of the %d names and categories in the contexts: they are "+
			"left out", n-known, n)
	}
	starts := func(c policyfile.Component, weight float64) train.Component {
		return train.Component{Weight: weight, Theta: slices.Concat(c.Weights...), In: representation(c),
			Drawn: c.Fixed() && c.Kind == policyfile.Softmax && l.o.Policy != policyfile.ArgMax}
	}
	for _, c := range f.File().Components {
		if l.start = append(l.start, starts(c, c.Weight)); !c.Fixed() || !reflect.DeepEqual(c.Encoder, last.Encoder) ||
			!reflect.DeepEqual(c.Items, last.Items) {
			l.start = nil // the last alone
			break
		}
	}
	if l.start == nil {
		l.start = []train.Component{starts(last, 1)}
	}
	if l.layers = last.Layers; !l.objective.Recipe || l.layers == nil {
		l.prior.Mean = slices.Concat(last.Weights...)
	}
	l.out.Training.Prior = f.Hash()
	return nil
}

// representation is what a component's layers make.
func representation(c policyfile.Component) *train.Representation {
	if c.Joint {
		return train.Jointly(c.Layers)
	}
	return train.Layered(c.Layers)
}

// fitEncoder fits the encoder on the rows that teach, or if nothing is certified on all.
func (l *learning) fitEncoder() (err error) {
	rows, how := l.teaching, l.scaling()
	if rows == nil {
		rows = l.certifying
	}
	if l.encoder, err = l.log.FitEncoder(rows, how); err != nil {
		return err
	}
	l.out.Training.Prior, l.out.Training.Scaling = l.o.Prior, how.Kind
	outputs := l.log.K()
	if l.log.Choices != nil {
		if l.items, err = l.log.FitItems(rows, logs.Scaling{Kind: how.Kind, Intercept: true}, l.own()); err != nil {
			return err
		}
		outputs = l.items.Dim()
	}
	l.prior.Mean = make([]float64, outputs*l.encoder.Dim())
	return nil
}

// room is the number of bytes that the vectors of contexts may take in memory: those of
// a million rows of 50 features have it.
const room = 256 << 20

// encode makes the encoder, by the prior's file or on rows, and the rows that it encodes.
func (l *learning) encode() (err error) {
	if l.o.PriorFile != nil {
		err = l.startFrom(l.o.PriorFile)
	} else {
		err = l.fitEncoder()
	}
	if err != nil {
		return err
	}
	if l.encoded, err = l.log.Encode(l.encoder); err != nil {
		return err
	}
	if l.items != nil {
		if l.encoded, err = l.encoded.EncodeItems(l.items); err != nil {
			return err
		}
	}
	if !l.objective.Recipe && l.layers != nil {
		if l.encoded.X, err = logs.Through(l.encoded.X, l.layers, runtime.GOMAXPROCS(0)); err != nil {
			return err
		}
	}
	l.encoded.X = logs.Hold(l.encoded.X, room)
	if l.prior.Taught = propensity.NewRowSet(l.encoded.Hashes(l.teaching)); len(l.teaching) == 0 {
		l.prior.Fixed = true // no row of this log had a part in the file, see divide
	}
	l.out.Training.Teaching, l.out.Training.Certifying = len(l.teaching), len(l.certifying)
	return nil
}

// certifier is the judge of the encoded rows; nil: nothing can be certified.
func (l *learning) certifier() (*provenance.Judge, error) {
	if !l.family.HasPosterior() && !l.objective.Recipe || l.log.Estimated || l.log.Unrewarded > 0 {
		return nil, nil
	}
	return l.judge.Of(l.encoded)
}

// own is how often an action must have been logged to have a row of its own, 0: none has.
func (l *learning) own() int {
	switch {
	case l.o.Own != 0:
		return max(0, l.o.Own)
	case l.log.ItemNames() == nil:
		return 1
	}
	return 100
}

// scaling is the scaling of contexts and, but for the norm, of what actions are described by, whose
// intercept gives h(x) a column that all actions share. Where actions have features no posterior
// needs contexts of norm 1, and models of the reward lose by it.
func (l *learning) scaling() logs.Scaling {
	s := l.o.Scaling
	if l.log.Choices == nil {
		s.Kind = cmp.Or(s.Kind, "robust")
		return s
	}
	s.Kind, s.Unit = cmp.Or(s.Kind, "standard"), false
	return s
}

// A table has at most mostColumns features, or mostWide of them, numbers among them or in many rows. What is wider is
// learned from by gradients, and up to mostWide by [train.Recipe.Linear].
const (
	mostColumns = 512
	mostWide    = 4096
	mostRead    = 1 << 30 // features of all rows together, where they are more than mostColumns: models read no more
)

// leastLayered is how many rows a table needs for layers to be a candidate that nobody asked for.
const leastLayered = 30_000

// narrow reports that the log is narrow enough for models of the reward by [train.Direct].
func (l *learning) narrow() bool {
	gradients := func(name string) bool { return name != Rules && !train.IsDirect(name) }
	named := slices.DeleteFunc(slices.Clone(l.o.Learners), gradients)
	if l.o.Learners != nil && len(named) == 0 {
		return false
	}
	dim := l.encoded.Dim()
	columns, numbers := l.width()
	asked := l.o.Settings.Representation // who asks for layers alone has them compete as on images
	told := numbers > 0 || l.encoded.Len() >= 2*leastLayered ||
		slices.ContainsFunc(named, func(name string) bool { return name != "linear" })
	read := columns <= mostColumns || asked == "" || asked == "none" || slices.ContainsFunc(named, train.IsDirect)
	return l.listed() && l.log.K()*dim <= mostCoefficients && (dim <= mostColumns || told && read &&
		dim <= mostWide && dim*l.encoded.Len() <= mostRead)
}

// width counts the columns of contexts, and the numbers among them.
func (l *learning) width() (columns, numbers int) {
	columns, numbers = l.encoded.Dim(), len(l.encoder.Names)
	for _, of := range l.encoder.Categories() {
		columns, numbers = columns-len(of)+1, numbers-len(of)
	}
	return columns, numbers
}

// mostActions is how many actions have a model each, of mostCoefficients in all, and mostRuled how many rules may
// choose from.
const mostActions, mostCoefficients, mostRuled = 10_000, 1 << 20, 100

// listed reports that the log has a list of actions that is short enough for models of each.
func (l *learning) listed() bool { return l.log.Choices == nil && l.log.K() <= mostActions }

// mostOffered is of how many actions with features the scores are joint, in logs of any length, and mostJoint
// of how many pairs of a row and an action in others. mostPaired is how many products of actions' features,
// with each other and with those of contexts, there are then.
const mostOffered, mostJoint, mostPaired = 256, 500_000_000, 1000

// paired reports that actions have features, few enough for models of contexts and actions together.
func (l *learning) paired() bool {
	if l.items == nil {
		return false
	}
	if n := l.encoded.MostOptions(); n > max(mostOffered, mostJoint/l.encoded.Len()) {
		return false
	}
	d, p := l.encoded.Dim(), l.items.Encoder.Dim()
	return p*d+p*(p+1)/2 <= mostPaired && d+l.items.Dim() <= mostColumns
}

// recipe learns by [train.Recipe], whose mixture it certifies.
func (l *learning) recipe(ctx context.Context) error {
	t, c := &l.out.Training, l.config
	w := newWatch(l.encoded, l.teaching, l.o.Seed, math.Inf(-1))
	softmax := w.epoch(policies.Softmax{})
	c.Epoch = func(p train.Epoch) bool { return !p.Prior || softmax(p) }
	c.Prior, c.Threads = l.prior, runtime.GOMAXPROCS(0)
	r := train.Recipe{Floor: l.o.Floor, Gamma: l.o.Gamma, Teaching: l.teaching, Start: l.start,
		Largest:   l.o.Policy == policyfile.ArgMax,
		LayerRate: t.LayerRate, Learners: l.o.Learners}
	ruled := l.listed() && l.log.K() <= mostRuled && l.encoded.Dim() <= mostWide
	if slices.Contains(l.o.Learners, Rules) && (l.log.K() > mostRuled || l.rulesAlone() && !ruled) {
		return errWide
	}
	if ruled {
		r.Rules, r.Simple = &train.Rules{Depth: l.o.Depth, Encoder: l.encoder, Threads: c.Threads}, l.o.Simple
	}
	if l.narrow() || l.paired() {
		r.Direct = &train.Direct{Encoder: l.encoder, Items: l.items, Threads: c.Threads}
		if columns, _ := l.width(); columns <= mostColumns && l.o.Settings.Representation == "" {
			r.Direct.Layers = leastLayered
			if l.encoded.Dim() > mostColumns { // layers of them won by the chance of the choice
				c.Representation = nil
			}
		}
	} else if dim := l.encoded.Dim(); l.listed() && dim > mostColumns && dim <= mostWide {
		r.Linear = &train.Direct{Encoder: l.encoder, Threads: c.Threads}
	}
	if r.Rules == nil && (l.o.Simple || slices.Contains(l.o.Learners, Rules)) {
		l.warn("no rules were tried: %v", errWide)
	}
	if l.o.Distil != nil {
		r.Rules.Of, r.Start, c.Prior.Mean = r.Start, nil, nil // what is distilled is no candidate
		if l.encoder.Unit {
			return errUnit
		}
	}
	judge, err := l.certifier()
	if err != nil {
		return err
	}
	got, err := r.LearnChunks(ctx, judge, l.encoded, c, l.chunks)
	if err != nil {
		return err
	}
	l.mixture, l.out.Certificate, l.out.Policy, l.out.Posterior = got, got.Certificate, got.Policy, got.Posterior
	var learners []string
	for _, p := range got.Policies {
		learners = append(learners, p.Learner)
	}
	t.Learner, t.Curve = strings.Join(learners, ", "), w.curve
	return nil
}

// viewThrough replaces the contexts of some rows, nil for all, by what a representation makes of them. It keeps the
// layers.
func (l *learning) viewThrough(r *train.Representation, rows []int) (err error) {
	if r == nil {
		return nil
	}
	if l.layers, err = r.Layers(); err != nil {
		return err
	}
	l.encoded, err = r.View(l.encoded, rows, runtime.GOMAXPROCS(0))
	return err
}

// represent learns a representation on the rows that teach, for a posterior on the others.
func (l *learning) represent(ctx context.Context, c *train.Config) error {
	t := &l.out.Training
	in, prior, err := train.Represent(ctx, l.encoded, l.teaching, *c, t.LayerRate)
	if err == nil {
		err = l.viewThrough(in, nil)
	}
	if err != nil {
		return err
	}
	l.encoded.X = logs.Hold(l.encoded.X, room)
	c.Representation, c.Prior = nil, prior
	if t.Learner = "likelihood"; l.o.Prior == ZeroPrior {
		c.Prior.Mean = make([]float64, len(prior.Mean))
	}
	return nil
}

// fit trains an objective, at each prior scale, and keeps the one of the best
// guarantee.
func (l *learning) fit(ctx context.Context) error {
	t, c := &l.out.Training, l.config
	c.Prior = l.prior
	switch {
	case l.frozen():
		if err := l.represent(ctx, &c); err != nil {
			return err
		}
	case c.Representation != nil: // learning starts at zero
		c.Prior.Mean = nil
	case l.o.Prior == LearnedPrior:
		learned, name, err := train.LearnPrior(ctx, l.encoded, l.teaching, c)
		if err != nil {
			return err
		}
		c.Prior, t.Learner = learned, name
	}
	scales := t.PriorScales
	if len(scales) == 0 || !l.family.HasPosterior() {
		scales = []float64{1}
	}
	t.PriorScales, t.Tried = scales, len(scales)
	judge, err := l.certifier()
	if err != nil {
		return err
	}
	search := train.Search{Log: l.encoded, Rows: l.certifying, Judge: judge, Options: certify.Options{Delta: c.Delta,
		Gamma: l.o.Gamma, Seed: c.Seed, Threads: runtime.GOMAXPROCS(0)}}
	var watches []*watch // by scale
	best, res, _, err := search.FitScales(ctx, c, scales, func(c *train.Config) func(*train.Result) {
		w := newWatch(l.encoded, l.certifying, l.o.Seed, l.o.MinESS)
		watches = append(watches, w)
		c.Epoch = w.epoch(c.Policy)
		return func(res *train.Result) {
			if w.stopped != "" && w.last != nil {
				res.Posterior = *w.last
			}
		}
	})
	if err != nil {
		return err
	}
	w := watches[best]
	in := res.Represented
	if w.stopped != "" && w.last != nil {
		in = train.Layered(w.layers)
	}
	if err := l.viewThrough(in, l.certifying); err != nil {
		return err
	}
	l.out.Policy, l.out.Posterior, l.out.Certificate, t.Curve, t.Stopped = c.Policy, search.Best,
		search.Certificate, w.curve, w.stopped
	if w.stopped != "" && w.last != nil {
		t.Stopped += "; the policy of the epoch before is kept"
	}
	return nil
}

// estimate estimates what the policy earns.
func (l *learning) estimate() (err error) {
	t, out := &l.out.Training, l.out
	var said *provenance.Circumstances // of the certificate
	if out.Certificate != nil {
		said = out.Certificate.Statement().Circumstances
	}
	switch {
	case said != nil && l.log.Lists != nil: // of lists, and not of slots below what the logging policy showed
		t.Estimate = said.Estimate
	case said != nil && l.mixture != nil && len(l.o.Requirements) == 0 && said.Estimate.Rows == len(l.certifying): // all of which it played
		t.Estimate = said.Estimate
	default:
		t.Estimate, err = l.estimateOf(l.encoded)
	}
	return err
}

// estimateOf is what the rows that certify say of the policy by the costs of a log.
func (l *learning) estimateOf(log *logs.Log) (certify.Estimate, error) {
	if l.mixture == nil {
		return certify.SelfNormalized(certify.Logged(l.out.Policy, l.out.Posterior, log, few(log, l.certifying))), nil
	}
	return estimateChunks(l.mixture.Policies, log)
}

// few are rows, evenly spaced, for an estimate that nothing is decided by: all, unless the scores of what they offer
// take seconds.
func few(log *logs.Log, rows []int) []int {
	every := 1 + len(rows)/max(1000, 500_000_000/log.MostOptions())
	var some []int
	for i := 0; i < len(rows); i += every {
		some = append(some, rows[i])
	}
	return some
}

// estimateChunks is what the rows that certify say of the recipe's mixture, each of the policy that it certifies.
func estimateChunks(learned []*train.ChunkPolicy, log *logs.Log) (certify.Estimate, error) {
	var pi, pi0, cost []float64
	all := make([]float64, log.MostOptions())
	for _, p := range learned {
		play, err := p.Play(log, runtime.GOMAXPROCS(0))
		if err != nil {
			return certify.Estimate{}, err
		}
		for _, r := range p.Rows {
			_ = play(all[:log.Options(r)], r) // of contexts that are encoded, which does not fail
			pi, pi0, cost = append(pi, all[log.Chosen(r)]), append(pi0, log.Propensity[r]), append(cost, log.Cost[r])
		}
	}
	return certify.SelfNormalized(pi, pi0, cost), nil
}

// remark warns of what the estimate says of the policy, and says why nothing is proven.
func (l *learning) remark() {
	t, out := &l.out.Training, l.out
	if t.Stopped != "" {
		l.warn("training stopped: %s; a floor, a stronger penalty or another weight keeps the policy nearer to the "+
			"log", t.Stopped)
	}
	if t.Estimate.Effective < l.o.MinESS && t.Stopped == "" {
		units := "rows"
		if l.log.Lists != nil {
			units = "lists"
		}
		l.warn("the weights π/π₀ of the %d %s are worth %.1f: what the log says of the policy rests on a handful of %s",
			t.Estimate.Rows, units, t.Estimate.Effective, units)
	}
	if !t.Estimate.Tells() {
		l.warn("the rows hardly show what the policy does: nothing is known of what it earns; serve it with its " +
			"floor to a share of the decisions, and certify it on what it logs")
	}
	if out.Worse = t.Estimate.Tells() && t.Estimate.Reward < l.logged()-1e-9; out.Worse {
		out.Undecided = t.Estimate.Reward+t.Estimate.SE > l.logged()
		l.warn("by the estimate the policy earns less than the logging policy: keep the policy that plays, or log " +
			"more rows")
	}
	if c, n := out.Certificate, len(l.log.Policies); n > 0 && l.o.PriorFile == nil && !(c != nil && c.Statement().Proven()) {
		l.warn("policy %.12s logged rows: setting prior with its file makes it a candidate, if it is what plays",
			l.log.Policies[n-1])
	}
	if c := out.Certificate; l.log.Lists == nil && l.log.Formula == nil && !(c != nil && c.Statement().Proven()) {
		if hint := cut(l.log, l.teaching); hint != "" {
			l.warn("%s", hint)
		}
	}
	switch {
	case l.log.Estimated:
		out.Unproven = "the propensities are estimates: no guarantee holds"
	case l.log.Unrewarded > 0:
		out.Unproven = provenance.NoRewards(l.log.Unrewarded)
	case l.items != nil && !l.objective.Recipe:
		out.Unproven = "a " + t.Policy + " policy is one parameter chosen from the data: nothing can be guaranteed " +
			"of it on this log; the certified recipe leaves rows for that"
	case !l.family.HasPosterior() && !l.objective.Recipe:
		out.Unproven = "a " + t.Policy + " policy is one parameter chosen from the data: nothing can be guaranteed " +
			"of it on this log; a gaussian policy has a posterior"
	}
}

// makeFile makes the policy file.
func (l *learning) makeFile() (err error) {
	t, out, mixture := &l.out.Training, l.out, l.mixture
	if mixture == nil {
		one := &train.ChunkPolicy{Posterior: out.Posterior, Rows: l.certifying, Components: []train.Component{{Weight: 1,
			Theta: out.Posterior.Mu, In: train.Layered(l.layers)}}}
		mixture = &train.Chunked{Policies: []*train.ChunkPolicy{one}, Weights: []float64{1}}
	}
	made := provenance.Made{Taught: l.teaching, Chosen: l.certifying, Seed: l.seed, Tried: t.Tried,
		Loggers: l.o.Loggers}
	f := &policyfile.File{Actions: l.log.Actions, Columns: l.o.Columns, Floor: l.o.Floor, Created: train.ThisVersion()}
	if l.items != nil {
		f.Actions = nil // rows say what there is
		if from := l.log.Catalogue(); from != nil {
			f.Actions = from.Actions
			if f.Catalogue, err = from.Served(); err != nil {
				return err
			}
		}
	}
	f.RewardMin, f.RewardMax = l.log.RewardRange()
	if l.log.Numbers != nil {
		f.Numbers = &l.log.Numbers.Of
	}
	for k, p := range mixture.Policies {
		q := p.Posterior
		for _, m := range p.Models {
			f.RewardModels = append(f.RewardModels, policyfile.RewardModel{Component: len(f.Components) +
				len(p.Components) - 1, Kind: m.Kind, Weights: matrix(m.Theta, q.Actions), Dispersion: m.Dispersion})
		}
		for _, s := range p.Components {
			rows, kind := q.Actions, t.Policy
			if s.Drawn {
				kind = policyfile.Softmax
			}
			if s.In.Joint() {
				rows = 1
			} else if l.items != nil {
				rows = l.items.Dim()
			}
			c := policyfile.Component{Weight: mixture.Weights[k] * s.Weight, Kind: kind, Sigma: q.Sigma,
				Encoder: l.encoder, Items: l.items, Joint: s.In.Joint(), Weights: matrix(s.Theta, rows)}
			if c.Layers, err = s.In.Layers(); err != nil {
				return err
			}
			if !l.objective.Recipe {
				c.Prior = &policyfile.Prior{Scale: cmp.Or(q.Prior.Scale, 1), Mean: matrix(q.Prior.Mean, q.Actions)}
			}
			f.Components, made.Chunks = append(f.Components, c), append(made.Chunks, p.Rows)
		}
	}
	if l.o.PriorFile != nil {
		made.Before = l.o.PriorFile.File()
	}
	l.judge.Record(f, made)
	if n := len(f.Rows()); n < t.Rows {
		t.Distinct = &n
	}
	if f.Training, err = json.Marshal(t); err == nil && out.Certificate != nil {
		f.Certificate, err = json.Marshal(out.Certificate)
	}
	if out.File = f; err == nil {
		out.Served, err = policyfile.New(f)
	}
	return err
}

// logged is the mean reward of the rows that certify.
func (l *learning) logged() float64 {
	sum := 0.
	for _, r := range l.certifying {
		sum -= l.log.Cost[r]
	}
	return sum / float64(len(l.certifying))
}

// matrix is [k×d] as rows.
func matrix(flat []float64, k int) policyfile.Matrix {
	d := len(flat) / k
	m := make(policyfile.Matrix, k)
	for a := range m {
		m[a] = flat[a*d : (a+1)*d : (a+1)*d]
	}
	return m
}

// names lists actions in messages.
func names(actions []string) string {
	if len(actions) > 5 {
		return fmt.Sprintf("%s, … (%d)", strings.Join(actions[:5], ", "), len(actions))
	}
	return strings.Join(actions, ", ")
}
