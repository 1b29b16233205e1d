package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
	part     shardFlags
	page     reportFlag
}

func certifyCommand(lib library.Library) *cobra.Command {
	f := certifyFlags{readFlags: reading(lib)}
	cmd, fl := command("certify", some("a policy file", "a file"), func(cmd *cobra.Command, args []string) error {
		return f.run(cmd, args[0], args[1:])
	})
	f.part.add(fl)
	f.outcomes.add(fl)
	f.page.add(fl)
	addProbability(fl, &f.Delta, "delta", 0)
	addGamma(fl, &f.Gamma)
	bind(fl, &f.AnyTime, "any-time", false)
	addFormat(fl, &f.format)
	addVerbose(fl)
	bind(fl, &f.write, "write", false)
	bind(fl, &f.Fresh, "fresh", false)
	bind(fl, &f.force, "force", false)
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
	f.readLike(p)
	var limits []provenance.Limit // of the file, where flags do not say them
	if f.part.shard.Of == 0 {
		limits = f.limitsOf(p, f.Requirements)
	}
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
		if err := provenance.Fits(p.File(), log); err != nil { // before the log is unusable for want of a catalogue
			return fmt.Errorf("%s: %w", path, err)
		}
		limits = provenance.Testable(limits, log)
		if f.write {
			if err := sameRange(log, p); err != nil {
				return fmt.Errorf("--write: %w", err)
			}
		}
		show.next("inspecting " + path)
		judge, err := f.judge(log)
		if err != nil {
			return err
		}
		judges = append(judges, judge)
	}
	f.Requirements = append(f.Requirements, asBefore(cmd, limits)...)
	f.Untested = provenance.Untested(p.File(), f.Requirements)
	show.next("certifying")
	if f.part.shard.Of > 0 {
		if f.Untested != nil {
			cmd.PrintErrf("opl: not tested, which the policy's file has: %s\n", strings.Join(f.Untested, ", "))
		}
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
	return conclusion{answer: certifiedOf(g), text: shown(render.Certificate, g),
		brief: shown(render.BriefCertificate, g), page: page, end: statusOf(g)}.write(cmd, f.format, &f.page)
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
