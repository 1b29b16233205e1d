package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/provenance"
)

func monitorCommand(lib library.Library) *cobra.Command {
	var (
		f      = reading(lib)
		delta  float64
		claim  float64
		format string
	)
	cmd, fl := command("monitor", operands("a policy file", "a file"), func(cmd *cobra.Command, args []string) error {
		p, err := policyfile.Load(args[0])
		if err != nil {
			return err
		}
		of, among := claim, ""
		if !cmd.Flags().Changed("claim") {
			var promised bool
			among = p.File().Among()
			if of, promised = p.File().Guaranteed(); !promised {
				return fmt.Errorf("%s: nothing is guaranteed in the file: give --claim", args[0])
			}
		}
		f.readLike(p)
		log, err := f.open(cmd, args[1])
		if err != nil {
			return err
		}
		defer log.Close()
		if err := sameCatalogue(log, p, among); err != nil {
			return fmt.Errorf("%s: %w", args[1], err)
		}
		if !cmd.Flags().Changed("claim") {
			if err := cmp.Or(sameRange(log, p), sameLists(log, p)); err != nil {
				return err
			}
		}
		if log.Lists != nil {
			log.Lists.SlotWeights = cmp.Or(log.Lists.SlotWeights, provenance.SlotWeights(p.File()))
		}
		warnings := takeAlike(log, p)
		log = rowsOf(log, p.Hash())
		if !cmd.Flags().Changed("claim") {
			if err := sameLengths(log, p.File().Lists()); err != nil {
				return err
			}
		}
		judge := provenance.Within(log, 1)
		rewards, looks, rows, left, err := rewardsOf(log, p.Hash(), clusters(log, judge))
		if err != nil {
			return fmt.Errorf("%s: %w", args[1], err)
		}
		u := log.Units()
		if cmd.Flags().Changed("claim") {
			of = (claim - u.Low) / u.Span()
			if !(of >= 0 && of < 1) {
				return fmt.Errorf("--claim %v: want one in [%v, %v)", claim, u.Low, u.High)
			}
		}
		w, err := certify.Monitor(rewards, of, looks...)
		if err != nil {
			return fmt.Errorf("--claim: %w", err)
		}
		if left > 0 {
			warnings = append(warnings, fmt.Sprintf("%d rows do not count: a group counts with its rows that stand together "+
				"first, once another row follows", left))
		}
		for _, d := range judge.Found().Against() {
			warnings = append(warnings, fmt.Sprintf("%s: %s: %s", d.Check, d.Measured, d.Means))
		}
		others, lacking, err := watchOutcomes(log, p, clusters(log, judge), delta)
		if err != nil {
			return fmt.Errorf("%s: %w", args[1], err)
		}
		var end error
		refuted := w.Refuted(delta/float64(1+len(others))) || slices.ContainsFunc(others, refutedOutcome)
		if refuted {
			end = exitStatus(notShown)
		}
		w.Mean, w.SE, w.Claim = u.At(w.Mean), w.SE*u.Span(), u.At(w.Claim)
		next, half := "let it play", logs.Half(w.SE)
		before := u.At(p.File().Logged())
		if !cmd.Flags().Changed("claim") && half > 0 && before > max(w.Claim, w.Mean+half) {
			d := logs.Places(half)
			next = fmt.Sprintf("test --claim %.*f, which the logging policy earned", d, before)
			warnings = append(warnings, fmt.Sprintf("it earns %.*f ± %.*f, and the logging policy earned %.*f in the log that "+
				"certified: --claim %.*f tests whether it still earns that", d, w.Mean, d, half, d, before, d, before))
		}
		text := func(out io.Writer) error {
			writeWatch(out, w, others, lacking, next, p, rows, delta)
			for _, doubt := range warnings {
				fmt.Fprintf(out, "warning     %s\n", doubt)
			}
			return nil
		}
		return conclusion{answer: watched{p.Hash(), refuted, delta, rows, w, others, list(append(warnings, lacking...))},
			text: text, end: end}.write(cmd, format, nil)
	})
	bind(fl, &claim, "claim", 0)
	addProbability(fl, &delta, "delta", 0.05)
	addFormat(fl, &format)
	f.add(fl)
	return cmd
}

// sameRange refuses rewards of another range, or otherwise made, than what the policy file promises is about.
func sameRange(log *logs.Log, p *policyfile.Policy) error {
	if own, is := provenance.RewardOf(p.File()), provenance.RewardIn(log); own.Differs(is) {
		return fmt.Errorf("what the policy file promises is about rewards %s, and the log is read with rewards %s: "+
			"leave --reward-min, --reward-max, --reward and --reward-map out", own, is)
	}
	return nil
}

// sameLists refuses decisions of one action if the policy file promises what lists earn, lists if it does not, and
// slots that are weighed in another way.
func sameLists(log *logs.Log, p *policyfile.Policy) error {
	switch spec := provenance.SlotWeights(p.File()); {
	case spec == "" && log.Lists != nil:
		return errors.New("the log has lists, and what the policy file promises is about decisions of one action: " +
			"give --claim")
	case spec != "" && log.Lists == nil:
		return errors.New("the log has decisions of one action, and what the policy file promises is about lists: " +
			"give --claim")
	case log.Lists != nil && log.Lists.SlotWeights != "" && log.Lists.SlotWeights != spec:
		return fmt.Errorf("what the policy file promises weighs slots by %s: leave --slot-weights out, or give "+
			"--claim", spec)
	}
	return nil
}

// sameLengths refuses lists of other lengths than those of which something is promised.
func sameLengths(log *logs.Log, of policyfile.Lengths) error {
	if log.Lists == nil || of.Most == 0 {
		return nil
	}
	starts := log.Lists.Starts()
	for i, first := range starts[:len(starts)-1] {
		if n := starts[i+1] - first; n < of.Least || n > of.Most {
			return fmt.Errorf("row %d: a list of %d slots, and what the policy file promises is about lists of %v, and not "+
				"of these: give --claim", log.Row(first), n, of)
		}
	}
	return nil
}

// byList gives the first row of each list the cost of the list, and NaN to the others, which do not count.
func byList(log *logs.Log) (*logs.Log, error) {
	if log.Lists == nil {
		return log, nil
	}
	of, how := *log, *log.Lists
	how.Assume, of.Lists = "", &how
	lists, err := provenance.ListsOf(&of, nil, make([]float64, log.Len()), nil) // their cost is all that is read
	if err != nil {
		return nil, err
	}
	of.Cost = slices.Repeat([]float64{math.NaN()}, log.Len())
	for i, c := range lists.Log.Cost {
		of.Cost[lists.Starts[i]] = c
	}
	return &of, nil
}

// sameCatalogue refuses rows among other actions than those of which something is claimed: a catalogue, by its hash, or
// sets; "": the policy file's own catalogue, all of it or sets.
func sameCatalogue(log *logs.Log, p *policyfile.Policy, claimed string) error {
	is := provenance.Among(log)
	if own := p.Catalogue(); own != nil && claimed == "" {
		if claimed = own.Hash; is == policyfile.Sets {
			is = log.Among
		}
	}
	if is == "" || claimed == "" || is == claimed {
		return nil
	}
	named := func(among string) string {
		if among == policyfile.Sets {
			return "sets that each decision offers"
		}
		return fmt.Sprintf("the whole catalogue %.12s", among)
	}
	return fmt.Errorf("the log's decisions are among %s, and what is claimed of the policy is of decisions among %s",
		named(is), named(claimed))
}

// clusters says which rows may depend on one another: those of a group, or of one decision id; without ids
// those that the inspection found to be written twice.
func clusters(log *logs.Log, judge *provenance.Judge) func(i int) (key uint64, ok bool) {
	of := []int32(nil)
	if !log.HasIDs() {
		of = judge.Clusters()
	}
	return func(i int) (uint64, bool) {
		switch {
		case log.Group != nil && log.Group[i] >= 0:
			return provenance.Hash(1, uint64(log.Group[i])), true
		case log.HasIDs():
			return log.Keys[i], true
		case of != nil:
			return uint64(of[i]), true
		}
		return 0, false
	}
}

// takeAlike finds the rows of p where none has its hash. certify --write changes the hash of a file, and not what it
// plays. So the rows of another hash count as those of p if p has their logged propensities in all of them.
func takeAlike(log *logs.Log, p *policyfile.Policy) (warnings []string) {
	if slices.Contains(log.Policies, p.Hash()) || log.Propensity == nil || log.Lists != nil {
		return nil
	}
	of, err := log, error(nil)
	if !p.HasItems() {
		of, err = log.WithActions(p.File().Actions)
	}
	if err != nil || provenance.Fits(p.File(), of) != nil {
		return nil
	}
	pi, err := provenance.Logged(p, of, logs.Every(log.Len()), runtime.GOMAXPROCS(0))
	differs := make([]bool, len(log.Policies))
	for i, by := range log.Logger {
		if by >= 0 && !(math.Abs(pi[i]-log.Propensity[i]) <= 1e-9*pi[i]) {
			differs[by] = true
		}
	}
	if at := slices.Index(differs, false); err == nil && at >= 0 {
		if by := log.Policies[at]; len(by) < 6 || !strings.HasPrefix(p.Hash(), strings.ToLower(by)) { // else it is short
			warnings = []string{fmt.Sprintf("the rows were logged by policy %.12s, which plays in all of them as this "+
				"file does: certify --write changes the hash of a file; rows that gave a guarantee are no test of it", by)}
		}
		log.Policies = slices.Clone(log.Policies)
		log.Policies[at] = p.Hash()
	}
	return warnings
}

// rowsOf is the log of the rows of a policy, if there are some.
func rowsOf(log *logs.Log, hash string) *logs.Log {
	at := slices.Index(log.Policies, hash)
	other := func(i int) bool { return int(log.Logger[i]) != at }
	if at < 0 || !slices.ContainsFunc(logs.Every(log.Len()), other) {
		return log
	}
	return log.Subset(slices.DeleteFunc(logs.Every(log.Len()), other))
}

// rewardsOf collects the rewards of a policy's rows in the order of time. Rows that may depend on one
// another count as one, which nothing that comes later changes, as the e-value must hold at every look: of a decision
// id the first row; of a group the mean of the rows that stand together first, once another row follows. The order of
// rows of one time is not known, nor that of a log without times: looks has the numbers of rewards before and after
// such rows, and those of a group stand together. left counts the rows of groups that do not count.
func rewardsOf(log *logs.Log, hash string, cluster func(i int) (key uint64, ok bool)) (rewards []float64,
	looks []int, rows, left int, err error) {
	if log.Unrewarded > 0 {
		return nil, nil, 0, 0, errors.New(provenance.NoRewards(log.Unrewarded))
	}
	if w := log.Weight; w != nil && slices.Min(w) != slices.Max(w) {
		return nil, nil, 0, 0, errors.New("rows have different weights, and the claim is about decisions as they came: remove the " +
			"column weight, or give all decisions")
	}
	if log, err = byList(log); err != nil {
		return nil, nil, 0, 0, err
	}
	at := slices.Index(log.Policies, hash)
	if at < 0 {
		return nil, nil, 0, 0, fmt.Errorf("no row was logged by policy %.12s: the column policy, which opl join writes, has "+
			"%.12q, none of which plays in all of its rows as this policy does", hash, log.Policies)
	}
	var of []int
	for i, by := range log.Logger {
		if int(by) == at && log.Cost[i] == log.Cost[i] {
			of = append(of, i)
		}
	}
	groups := make([]uint64, log.Len()) // 0: a row is of none
	before, ended := uint64(0), map[uint64]bool{}
	for _, i := range of {
		if log.Grouped(i) {
			groups[i], _ = cluster(i)
		}
		if groups[i] != before {
			ended[before] = true
		}
		if before = groups[i]; log.Time == nil && before != 0 && ended[before] {
			return nil, nil, 0, 0, fmt.Errorf("row %d: its group comes back after other rows, and the rows have no time, so that "+
				"it is not known what each look saw: add the column timestamp, or let rows of a group stand together", log.Row(i))
		}
	}
	slices.SortStableFunc(of, func(i, j int) int {
		if log.Time != nil && log.Time[i] != log.Time[j] {
			return cmp.Compare(log.Time[i], log.Time[j])
		}
		return cmp.Compare(groups[i], groups[j])
	})
	seen := map[uint64]bool{}
	var group, n uint64 // that may go on, and its rows
	mean, open := 0., false
	for k, i := range of {
		key, repeats := cluster(i)
		if open && groups[i] != group {
			rewards, open, n = append(rewards, mean), false, 0
		}
		switch again := repeats && seen[key]; {
		case open:
			n++
			mean += (0 - log.Cost[i] - mean) / float64(n)
		case again && groups[i] != 0:
			left++
		case again:
		case groups[i] != 0:
			group, mean, open, n = key, 0-log.Cost[i], true, 1
		default:
			rewards = append(rewards, 0-log.Cost[i])
		}
		seen[key] = true
		if k+1 == len(of) || log.Time != nil && log.Time[of[k+1]] > log.Time[i] {
			looks = append(looks, len(rewards))
		}
	}
	left += int(n)
	return rewards, looks, len(of) - left, left, nil
}

// watchedOutcome is what speaks against the limit of another outcome, in its own units.
type watchedOutcome struct {
	Name          string `json:"name"`
	Column        string `json:"column"`
	AtMost        bool   `json:"at_most"`
	Missing       int    `json:"missing"` // rows
	Refuted       bool   `json:"refuted"`
	certify.Watch        // whose Mean and SE are those of rows that have it, if any has
	relative      bool   // its limit is relative to the logging policy, of the log that certified
	has           int    // rows, or their groups, with a value
	lacks         string // how many rows have none, and how they count
}

func refutedOutcome(o watchedOutcome) bool { return o.Refuted }

// watchOutcomes bets against the limits that a policy's file says to be kept, of which, and of the claim on the reward,
// each has its share of delta. A row that lacks the outcome counts as the best, by which no true claim is refuted, or
// is left out if it is missing at random. lacking says which outcomes are not tested, or hardly.
func watchOutcomes(log *logs.Log, p *policyfile.Policy, cluster func(i int) (uint64, bool),
	delta float64) (all []watchedOutcome, lacking []string, err error) {
	column := func(o provenance.Outcome) int {
		return slices.IndexFunc(log.Outcomes, func(l logs.Outcome) bool { return l.Column == o.Column })
	}
	claims := slices.DeleteFunc(provenance.Claims(p.File()), func(o provenance.Outcome) bool {
		lacks := column(o) < 0
		if lacks {
			lacking = append(lacking, o.Column+" was not tested, as the log has no such column")
		}
		return lacks
	})
	for _, o := range claims {
		of := *log
		of.Outcomes = []logs.Outcome{log.Outcomes[column(o)]}
		of.Outcomes[0].Range, of.Logger = logs.Units{Low: o.Low, High: o.High}, slices.Clone(log.Logger)
		b, err := of.Beside(o.Name)
		if err != nil {
			return nil, nil, err
		}
		for i, is := range b.Missing {
			if is {
				b.Logger[i], b.Cost[i] = -1, -1
			}
		}
		has, looks, _, _, err := rewardsOf(b.Log, p.Hash(), cluster)
		rewards, counts := has, "are left out"
		if err == nil && b.Missing != nil && !o.AtRandom {
			b.Logger, counts = log.Logger, "count as the best"
			rewards, looks, _, _, err = rewardsOf(b.Log, p.Hash(), cluster)
		}
		if err != nil {
			return nil, nil, err
		}
		lacks := fmt.Sprintf("%d of %d rows lack ", b.Lacking, log.Len())
		switch {
		case len(has) == 0:
			lacking = append(lacking, o.Column+" was not tested, as no row has it")
		case !o.AtRandom && 20*b.Lacking > log.Len():
			lacking = append(lacking, lacks+o.Column)
		}
		sign := 1.
		if o.AtMost {
			sign = -1
		}
		claim, left := o.Claim(delta / float64(1+len(claims)))
		scaled := (sign*claim - b.Units.Low) / b.Units.Span() // at 0 and below it says nothing
		w, err := certify.Monitor(rewards, max(0, min(scaled, 1-1e-9)), looks...)
		if err != nil {
			return nil, nil, err
		}
		if len(has) > 0 {
			of, _ := certify.Monitor(has, 0) // they are rewards, as before
			w.Mean, w.SE = of.Mean, of.SE
		}
		w.Mean, w.SE, w.Claim = sign*b.Units.At(w.Mean), w.SE*b.Units.Span(), claim
		all = append(all, watchedOutcome{o.Name, o.Column, o.AtMost, b.Lacking, w.Refuted(left), w, o.Bounded != "mean",
			len(has), lacks + "it, and " + counts})
	}
	return all, lacking, nil
}

// writeWatch prints the verdict, which outcomes it lacks, and what to do, then the numbers behind it.
func writeWatch(out io.Writer, w certify.Watch, others []watchedOutcome, lacking []string, next string,
	p *policyfile.Policy, rows int, delta float64) {
	units, share := "", delta/float64(1+len(others))
	if rows != w.Rows {
		units = fmt.Sprintf(" in %d groups", w.Rows)
	}
	verdict := "nothing speaks against the claim at this level"
	if lacking != nil {
		next = "join what is missing, and look again"
	}
	if i := slices.IndexFunc(others, refutedOutcome); i >= 0 && !w.Refuted(share) {
		verdict = fmt.Sprintf("%s breaks its limit (wrong with probability at most %.2g)", others[i].Column, delta)
		if next = "go back to the policy before"; others[i].relative {
			next += ", or certify again: the limit is relative to what the logging policy had in the log that certified, " +
				"and what all actions give may have changed since"
		}
	} else if w.Refuted(share) {
		verdict = fmt.Sprintf("the claim is false (wrong with probability at most %.2g): its largest e-value came "+
			"after row %d", delta, w.At)
		next = "go back to the policy before"
	}
	verdict = strings.Join(append([]string{verdict}, lacking...), "; ") + "; next: " + next
	half := logs.Half(w.SE)
	d := logs.Places(half)
	fmt.Fprintf(out, "%s\npolicy %.12s: %d rows%s\nearned      %.*f ± %.*f on average\nclaimed     %s or more\n",
		verdict, p.Hash(), rows, units, d, w.Mean, d, half, logs.Units{}.Least(w.Claim, half))
	fmt.Fprintf(out, "e-value     %.2g against the claim, at most %.2g so far; %.3g refutes it\n", w.E, w.Most, 1/share)
	for _, o := range others {
		side, said, d := "or more", "not refuted", logs.Places(logs.Half(o.SE))
		if o.AtMost {
			side = "or less"
		}
		if o.Refuted {
			said = fmt.Sprintf("refuted after row %d", o.At)
		}
		mean := fmt.Sprintf("%.*f ± %.*f on average", d, o.Mean, d, logs.Half(o.SE))
		if o.has == 0 {
			mean = "not known"
		} else if o.Missing > 0 {
			mean += " where a row has it"
		}
		if o.Missing > 0 {
			said += "; " + o.lacks
		}
		fmt.Fprintf(out, "%-11s %s, claimed %.4g %s; e-value at most %.2g: %s\n", o.Name, mean, o.Claim, side, o.Most, said)
	}
}
