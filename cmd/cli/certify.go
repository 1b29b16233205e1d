package cli

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/pipeline"
	"opl/train/provenance"
	"opl/train/report/html"
	"opl/train/report/render"
)

type certifyFlags struct {
	readFlags
	provenance.Options
	outcomes outcomeFlags
	force    bool
	format   string
	write    bool
	part     partFlags
	page     reportFlag
}

func certifyCommand(lib library.Library) *cobra.Command {
	f := certifyFlags{readFlags: reading(lib)}
	cmd := &cobra.Command{
		Use:   "certify POLICY FILE [FILE ...]",
		Short: "state what logs guarantee of a policy",
		Long: `certify gives a lower bound on the reward of the policy in a file. The bound holds with
probability 1-δ over a log: the one that the policy was learned from, or a later one.

The policy file records which rows taught its prior, its scaling of features and its
model of the reward. Those rows do not certify. On a log that had no part in the policy
all rows certify. The bound is then tighter: nothing is paid for a prior, and a model of
the reward from the rows before helps.

A statement is for one look, at rows whose number was fixed before. With --any-time it
holds at every look as rows come. Several files certify together, at any time. Give them
in the order of their time. Only the last file may grow, at its end, by rows whose
rewards are final. No row may wait for its reward while later rows are in. Logging
policies, formats and order of actions may differ. The gain is over what logged the
rows. A folder, pattern or URL is one such file. A decision_id counts once. A group
counts with its rows that stand together first, once another row follows. A file that
certifies nothing is an error.

Rows are told apart by decision_id, or by their content if the log has no ids. Where
that cannot tell whether rows are the same, --fresh says that they are not. Actions and
the range of rewards are those of the policy file unless you give them.

Exit status 0: better than the logging policy with probability 1-δ. 3: something is
guaranteed, but not that, or the log contradicts what the bounds assume. 4: nothing is
guaranteed. 1: an error. Rows of a group, repeated ids and copies count as one.

--guardrail, --guardrail-by and --budget ask more, and certify answers: ship, harm shown, or
undecided with the rows still needed. Outcomes are columns reward_NAME (more is better) and
cost_NAME (less is better). "Ship" says that the reward rises, that no guardrail gets worse
by more than its margin, and that costs are within budget. It is false with probability δ at
most. The status is 0 for ship, else 3. A missing outcome counts as the worst, unless you set
--missing-at-random. --guardrail-by is about the reward in each segment of a column that has
at least 5 % of the rows.

The statement is about one policy. If you pick the best of several policies or trainings
on the same rows, divide δ among them. If statements of several rounds are to hold all
together, their δ add up. The policy that logged the rows is never better than itself.

certify computes the guarantee anew and does not read the stored one. It believes the
file's list of rows that taught, as far as the log does not contradict it. The digest is
no signature: trust the file as much as whoever could write it.

` + readHelp,
		Example: `  opl certify policy.json decisions.parquet
  opl certify policy.json next.parquet --delta 0.01 --write
  opl certify policy.json monday.csv tuesday.parquet     at any time, on the rows of both`,
		Args: some("a policy file", "a file"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1:]) },
	}
	fl := cmd.Flags()
	f.part.add(fl)
	f.outcomes.add(fl)
	f.page.add(fl)
	addProbability(fl, &f.Delta, "delta", 0, "failure probability δ (default: that of the training)")
	addGamma(fl, &f.Gamma, "the guarantee holds for all propensities within this factor of those logged")
	fl.BoolVar(&f.AnyTime, "any-time", false, "a statement that holds at every look as rows come; of several files "+
		"it always does")
	addFormat(fl, &f.format)
	addVerbose(fl)
	fl.BoolVar(&f.write, "write", false, "write the certificate into the policy file, whose hash changes with it")
	fl.BoolVar(&f.Fresh, "fresh", false, "no row of the log had a part in the policy, where that cannot be seen")
	fl.BoolVar(&f.force, "force", false, "certify on a log that is unusable, too")
	f.add(fl)
	return cmd
}

// check refuses flags that do not go together.
func (f *certifyFlags) check(cmd *cobra.Command, logs int) error {
	if logs > 1 && (f.Cache != "" || f.BadRows != "") {
		return errors.New("--cache and --skip-bad name a file for one log: leave them out, or certify by one file")
	}
	if err := cmp.Or(f.part.check(cmd, "format", "write", "report"), f.page.check(cmd)); err != nil ||
		f.part.shard.Of == 0 {
		return err
	}
	switch {
	case f.outcomes.asked():
		return errors.New("--shard does not go together with --guardrail, --guardrail-by and --budget: certify the " +
			"files as one log")
	case logs > 1:
		return errors.New("--shard: several FILEs are rounds, each a log of its own, which shards by files cannot " +
			"tell apart: " +
			"give one, a folder or a pattern in quotes, or leave --shard out")
	case !f.AnyTime:
		return errors.New("--shard wants --any-time: for one look the values of ℓ depend on all rows, " +
			"and a model of the reward is learned from rows before, one by one")
	}
	f.Share = f.part.shard
	return nil
}

func (f *certifyFlags) run(cmd *cobra.Command, policy string, paths []string) error {
	if err := f.check(cmd, len(paths)); err != nil {
		return err
	}
	var err error
	if f.Requirements, err = f.outcomes.read(&f.readFlags); err != nil {
		return err
	}
	p, err := policyfile.Load(policy)
	if err != nil {
		return err
	}
	f.known(p)
	if t, err := pipeline.TrainingOf(p.File()); err == nil {
		f.Delta = cmp.Or(f.Delta, t.Delta)
	}
	show := newStages(cmd.ErrOrStderr(), "")
	defer show.stop()
	f.Progress = show.read
	var judges provenance.Pool
	for _, path := range paths {
		show.next("reading " + path)
		log, err := f.open(cmd, path)
		if err != nil {
			return err
		}
		defer log.Close()
		show.next("inspecting " + path)
		judge, err := f.judge(log)
		if err != nil {
			return err
		}
		judges = append(judges, judge)
	}
	show.next("certifying")
	if f.part.shard.Of > 0 {
		part, err := judges[0].Partial(cmd.Context(), p, f.Options)
		if err != nil {
			return err
		}
		return f.part.write(cmd, f.Bucket, "certify", part)
	}
	certify := judges.File
	if len(judges) == 1 {
		certify = judges[0].File
	}
	c, err := certify(cmd.Context(), p, f.Options)
	if err != nil {
		return err
	}
	show.stop()
	if f.write {
		file := *p.File()
		if file.Certificate, err = json.Marshal(c); err != nil {
			return err
		}
		if err := policyfile.Save(policy, &file); err != nil {
			return err
		}
	}
	g := c.Statement()
	page := func() (html.Page, error) {
		page := render.CertificatePage(g)
		for i, judge := range judges {
			checks := render.Checks(judge.Found())
			if len(judges) > 1 {
				checks.Title += " " + paths[i]
			}
			page.Sections = append(page.Sections, checks)
		}
		return page, nil
	}
	return conclusion{certifiedOf(g), shown(render.Certificate, g), shown(render.BriefCertificate, g), page,
		statusOf(g)}.write(cmd, f.format, &f.page)
}

// judge inspects a log, or a shard's files of it.
func (f *certifyFlags) judge(log *logs.Log) (judge *provenance.Judge, err error) {
	if f.part.shard.Of > 0 {
		judge, err = provenance.OfShard(log, f.Gamma, f.part.shard)
	} else {
		judge = provenance.Within(log, f.Gamma)
	}
	if err == nil && f.force {
		judge.Force()
	}
	return judge, err
}

// statusOf returns the exit status of a guarantee, as an error that ends the command.
func statusOf(g provenance.Statement) error {
	switch {
	case g.Decided() == nil && g.Verdict == provenance.Vacuous:
		return exitStatus(nothing)
	case !g.Ships():
		return exitStatus(notShown)
	}
	return nil
}
