package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/train/certify"
	"opl/train/library"
	"opl/train/pipeline"
	"opl/train/provenance"
)

func certifyCommand(lib library.Library) *cobra.Command {
	var (
		f      = reading(lib)
		o      provenance.Options
		force  bool
		format = "text"
		write  bool
		part   partFlags
		page   reportFlag
	)
	cmd := &cobra.Command{
		Use:   "certify POLICY FILE [FILE ...]",
		Short: "state what logs guarantee of a policy",
		Long: `certify bounds the reward of the policy in a file, with probability 1-δ over a log: the
one it was learned from, or a later one. The policy file records which rows taught
its prior, its scaling of features and its model of the reward: those do not
certify. On a log that had no part in the policy all rows do, the policy need
pay neither for its distance from a prior nor for the choice of one, and a model
of the reward that is learned from rows before helps.

A statement is for one look, at rows whose number was fixed before. With --any-time it
holds at every look as rows come, day by day, and so it does of several files, which
certify together: give them in the order of their time, and let only the last one grow, at its
end, by rows whose rewards are final, none of which waited for its own while later ones are
in. Their logging policies, formats and order of actions may differ; the gain is that over what
logged the rows. A folder, pattern or URL is one such file. A decision_id counts once. A group counts with its rows that stand
together first, once another row follows. A file that certifies nothing is an error.

Rows are told apart by decision_id, or by their content where the log has none.
Where that cannot tell whether rows are the same, --fresh says that they are not.
Actions and the range of rewards are those of the policy file unless given.

The exit status is 0 if the policy is better than the logging policy with
probability 1-δ, 3 if something is guaranteed but not that, 4 if nothing is, and 1
after an error. It is 3, not 0, if the log contradicts what the bounds assume. Rows of a
group, repeated ids and copies count as one. The statement is of one policy: whoever
certifies several on the same rows and takes the best must share δ among them; so must
who states something of several rounds, each with its own δ, and wants all to hold. The
policy that logged the rows is never shown to be better than itself.

The guarantee is computed anew; what the file says to be guaranteed is not read. Which rows
taught the policy is believed of the file, as far as the log does not contradict it: its digest
is no signature, so trust the file as much as whoever could write it.

` + readHelp,
		Example: `  opl certify policy.json decisions.parquet
  opl certify policy.json next.parquet --delta 0.01 --write
  opl certify policy.json monday.csv tuesday.parquet     at any time, on the rows of both`,
		Args: func(c *cobra.Command, args []string) error {
			return operands("a policy file", "a file")(c, args[:min(2, len(args))])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			switch {
			case len(args) > 2 && (f.Cache != "" || f.BadRows != ""):
				return errors.New("--cache and --skip-bad name a file for one log: leave them out, or certify by one file")
			case cmd.Flags().Changed("delta") && !(o.Delta > 0 && o.Delta < 1):
				return fmt.Errorf("--delta %v: want a number in (0, 1)", o.Delta)
			}
			if err := certify.CheckGamma(o.Gamma); err != nil {
				return fmt.Errorf("--propensity-error %w", err)
			}
			if err := part.check(cmd, "format", "write", "report"); err != nil {
				return err
			}
			if err := page.check(cmd); err != nil {
				return err
			}
			if part.shard.Of > 0 && !o.AnyTime && len(args) == 2 {
				return errors.New("--shard wants --any-time: for one look the values of ℓ hang on all rows, and a model of the reward is learned from rows before, one by one")
			}
			if part.byFiles() {
				if f.Share = part.shard; len(args) > 2 {
					return errors.New("--shard-by files: several FILEs are rounds, each a log of its own, which shards by files cannot tell apart: give one, a folder or a pattern in quotes, or leave --shard-by out")
				}
			}
			p, err := policyfile.Load(args[0])
			if err != nil {
				return err
			}
			f.known(p)
			if t, err := pipeline.TrainingOf(p.File()); err == nil {
				o.Delta = cmp.Or(o.Delta, t.Delta)
			}
			show := newStages(cmd.ErrOrStderr(), "")
			defer show.stop()
			f.Progress = show.read
			var judges provenance.Pool
			for _, path := range args[1:] {
				show.next("reading " + path)
				log, err := f.open(cmd, path)
				if err != nil {
					return err
				}
				defer log.Close()
				show.next("inspecting " + path)
				var judge *provenance.Judge
				if part.byFiles() {
					if judge, err = provenance.Share(log, o.Gamma, part.shard); err != nil {
						return err
					}
				} else {
					judge = provenance.Within(log, o.Gamma)
				}
				if force {
					judge.Force()
				}
				judges = append(judges, judge)
			}
			show.next("certifying")
			if part.shard.Of > 0 {
				sums := func() (provenance.Part, error) { return judges.Part(cmd.Context(), p, o, part.shard) }
				if part.byFiles() {
					sums = func() (provenance.Part, error) { return judges[0].FilesPart(cmd.Context(), p, o) }
				}
				p, err := sums()
				if err != nil {
					return err
				}
				return part.write(cmd, f.Bucket, "certify", p)
			}
			var c *provenance.Certificate
			if len(judges) == 1 {
				c, err = judges[0].File(cmd.Context(), p, o)
			} else {
				c, err = judges.File(cmd.Context(), p, o)
			}
			if err != nil {
				return err
			}
			show.stop()
			g := c.Statement()
			if write {
				file := *p.File()
				if file.Certificate, err = json.Marshal(c); err != nil {
					return err
				}
				if err := policyfile.Save(args[0], &file); err != nil {
					return err
				}
			}
			said := g.Page()
			for i, judge := range judges {
				checks := judge.Found().Checks()
				if len(judges) > 1 {
					checks.Title += " " + args[1+i]
				}
				said.Sections = append(said.Sections, checks)
			}
			if err := page.conclude(cmd, said, certifiedOf(g), statusOf(g)); err != nil {
				return err
			}
			if format == "json" {
				return writeAnswer(cmd.OutOrStdout(), "certify", certifiedOf(g), statusOf(g))
			}
			if err := g.WriteText(cmd.OutOrStdout()); err != nil {
				return err
			}
			return statusOf(g)
		},
	}
	fl := cmd.Flags()
	part.add(fl)
	page.add(fl)
	fl.Float64Var(&o.Delta, "delta", 0, "failure probability δ (default: that of the training)")
	fl.Float64Var(&o.Gamma, "propensity-error", 1, "Γ: the guarantee holds for all propensities within this factor of those logged")
	fl.BoolVar(&o.AnyTime, "any-time", false, "a statement that holds at every look as rows come; of several files it always does")
	fl.StringVar(&format, "format", format, "output: text, json")
	fl.BoolVar(&write, "write", false, "write the certificate into the policy file, whose hash changes with it")
	fl.BoolVar(&o.Fresh, "fresh", false, "no row of the log had a part in the policy, where that cannot be seen")
	fl.BoolVar(&force, "force", false, "certify on a log that is unusable, too")
	f.add(fl)
	return cmd
}

// statusOf is the exit status of a guarantee.
func statusOf(g provenance.Statement) error {
	switch {
	case g.Verdict == provenance.Vacuous:
		return exitStatus(nothing)
	case !g.Proven():
		return exitStatus(notShown)
	}
	return nil
}
