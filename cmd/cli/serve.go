package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/policies/server"
	"opl/policies/wholefile"
	"opl/train/library"
	"opl/train/logs"
	"opl/train/provenance"
)

// reloadPatience is how long a reload of policies may take before the log tells of it.
var reloadPatience = 10 * time.Second

type serveFlags struct {
	listen   string
	log      string
	fsync    string
	address  string
	messages string
	admin    string
	tokens   string
	cert     string
	key      string
	insecure bool
	canary   string
	share    float64
	items    string
	played   played
	were     []os.FileInfo // the files of what is played, when they were read
	seed     uint64
	check    string
	watch    bool
	of       server.LogOptions
	config   server.Config
}

// played holds the policies and the catalogue that serve has read.
type played struct {
	policy, canary *policyfile.Policy
	catalogue      *policyfile.Catalogue // nil: that of the policy
	items          *logs.Catalogue       // that it was read as
}

func serveCommand(lib library.Library) *cobra.Command {
	f := serveFlags{config: server.Config{Around: lib.Around}}
	cmd, fl := command("serve", func(cmd *cobra.Command, args []string) error {
		if f.check != "" {
			return operands()(cmd, args)
		}
		return operands("a policy file")(cmd, args)
	}, func(cmd *cobra.Command, args []string) error {
		if f.check != "" {
			said, err := server.Check(cmd.Context(), f.check, f.config.Timeout)
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), said)
			}
			return err
		}
		if cmd.Flags().Changed("seed") {
			f.config.Seed = &f.seed
		}
		return runServe(cmd.Context(), args[0], f, cmd.ErrOrStderr())
	})
	bind(fl, &f.check, "check", "")
	bind(fl, &f.watch, "watch", false)
	bind(fl, &f.listen, "listen", "127.0.0.1:8080")
	bind(fl, &f.log, "log", "served.jsonl")
	oneOf(fl, &f.fsync, "fsync", string(server.FsyncInterval), string(server.FsyncEach), string(server.FsyncNever))
	bind(fl, &f.of.MaxBytes, "log-max-bytes", 0)
	bind(fl, &f.of.MaxTotal, "log-max-total", 0)
	oneOf(fl, &f.messages, "messages", "text", "json")
	bind(fl, &f.address, "address-file", "")
	positive(fl, &f.config.MaxBody, "max-body", 1<<20)
	bind(fl, &f.items, "catalogue", "")
	bind(fl, &f.canary, "canary", "")
	bind(fl, &f.share, "canary-share", 0.1)
	bind(fl, &f.admin, "admin", "")
	bind(fl, &f.tokens, "token-file", "")
	bind(fl, &f.cert, "tls-cert", "")
	bind(fl, &f.key, "tls-key", "")
	bind(fl, &f.config.Hosts, "host", nil)
	bind(fl, &f.insecure, "insecure", false)
	positive(fl, &f.config.Remember, "remember-bytes", 32<<20)
	positive(fl, &f.config.Timeout, "timeout", server.DefaultTimeout)
	bind(fl, &f.config.Strict, "strict", false)
	bind(fl, &f.seed, "seed", 0)
	return cmd
}

func runServe(ctx context.Context, path string, f serveFlags, stderr io.Writer) (err error) {
	tell := slog.New(plain{stderr})
	if f.messages == "json" {
		tell = slog.New(slog.NewJSONHandler(stderr, nil))
	}
	if err := f.read(path); err != nil {
		return err
	}
	p, err := f.policy(tell)
	if err != nil {
		return err
	}
	out, err := f.openLog(tell)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, out.Close()) }()
	keys, err := f.keys(tell)
	if err != nil {
		return err
	}
	f.config.Certificate, f.config.Admin, f.config.Logger = keys.certificate, f.admin != "", tell
	if name, _, err := net.SplitHostPort(f.listen); err == nil && name != "" {
		f.config.Hosts = append(f.config.Hosts, name)
	}
	s, err := server.New(p, out, f.config)
	if err != nil {
		return err
	}
	if err := keys.letIn(s); err != nil {
		return err
	}
	l, err := f.open("listen", f.listen, f.tokens != "")
	if err != nil {
		return err
	}
	if f.tokens != "" && keys.certificate == nil && !loopback(l) {
		tell.Warn("tokens can be read on the way to " + l.Addr().String() +
			": --tls-cert and --tls-key, or a proxy that has them, keep them secret")
	}
	ctx, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup // the other listener
	defer beside.Wait()
	defer stop()
	if f.admin != "" {
		a, err := f.open("admin", f.admin, false)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		tell.Info("health, metrics and the policy on http://"+a.Addr().String(), "address", a.Addr().String())
		beside.Go(func() { _ = s.ServeAdmin(ctx, a) }) // what clients need is told by Serve
	}
	warnOf(p, tell)
	defer f.follow(ctx, path, s, out, keys, tell)()
	if f.address != "" {
		if err := wholefile.WriteBytes(f.address, []byte(l.Addr().String()+"\n")); err != nil {
			return err
		}
	}
	scheme := "http"
	if keys.certificate != nil {
		scheme = "https"
	}
	tell.Info(fmt.Sprintf("serving policy %.12s%s on %s://%s, logging to %s", s.Hash(), among(p), scheme, l.Addr(), f.log),
		"policy_hash", s.Hash(), "address", l.Addr().String(), "log", f.log)
	if err := s.Serve(ctx, l); err != nil {
		return err
	}
	tell.Info("stopped")
	return nil
}

// openLog opens the log of decisions.
func (f *serveFlags) openLog(tell *slog.Logger) (*server.Log, error) {
	f.of.Fsync, f.of.Logger = server.Fsync(f.fsync), tell
	out, err := server.OpenLog(f.log, f.of)
	if err != nil {
		return nil, fmt.Errorf("--log: %w", err)
	}
	if n := out.Torn(); n > 0 {
		tell.Warn(fmt.Sprintf("%s: the last line was cut off and never answered: its %d bytes are in %s.torn", f.log,
			n, f.log), "log", f.log, "bytes", n)
	}
	return out, nil
}

// follow reads policies again on SIGHUP, keys on SIGHUP and when their files change, and opens the log again
// on SIGUSR1, until ctx ends or it is stopped. Policies are read beside the others, as a slow disk must not
// keep a revoked token valid.
func (f *serveFlags) follow(ctx context.Context, path string, s *server.Server, out *server.Log, keys *keys,
	tell *slog.Logger) (stop func()) {
	signals, policies := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(signals, append(reopenSignals, syscall.SIGHUP)...)
	go every(ctx, time.Second, policies, func() {
		if f.watch && !slices.EqualFunc(f.files(path), f.were, unchanged) {
			f.reload(s, path, tell)
		}
	}, func(struct{}) { f.reload(s, path, tell) })
	go every(ctx, time.Second, signals, func() { keys.reload(false) }, func(sig os.Signal) {
		if sig != syscall.SIGHUP {
			_ = out.Reopen() // it is told, and tried again
			return
		}
		select {
		case policies <- struct{}{}:
		default: // one is due already
		}
		keys.reload(true)
	})
	return func() { signal.Stop(signals) }
}

// read reads the files of policies and catalogue. What cannot be read stays as it was.
func (f *serveFlags) read(path string) error {
	load := func(to **policyfile.Policy, path string) error {
		p, err := policyfile.Load(path)
		if err == nil {
			*to = p
		}
		return err
	}
	f.were = f.files(path)
	err := load(&f.played.policy, path)
	if f.canary != "" {
		if wrong := load(&f.played.canary, f.canary); wrong != nil {
			err = errors.Join(err, fmt.Errorf("--canary: %w", wrong))
		}
	}
	if f.items != "" {
		c, items, wrong := readServed(f.items, f.played.policy, f.played.canary)
		if wrong != nil {
			return errors.Join(err, fmt.Errorf("--catalogue: %w", wrong))
		}
		f.played.catalogue, f.played.items = c, items
	}
	return err
}

// files says how the files of what is served are by now.
func (f *serveFlags) files(path string) []os.FileInfo {
	return stats([]string{path, f.canary, f.items})
}

// maxCatalogue is how large a catalogue that is served may be, in bytes.
const maxCatalogue = 4 << 30

// readServed reads a catalogue from a regular file alone: a pipe would keep the server waiting.
func readServed(path string, of ...*policyfile.Policy) (*policyfile.Catalogue, *logs.Catalogue, error) {
	if f, _, err := wholefile.Open(path, maxCatalogue); err != nil {
		return nil, nil, err
	} else if err := f.Close(); err != nil {
		return nil, nil, err
	}
	return readCatalogue(path, of...)
}

// readCatalogue reads a catalogue as policy files and served logs know it, by its hash. Columns that policies know codes
// of are names.
func readCatalogue(path string, of ...*policyfile.Policy) (*policyfile.Catalogue, *logs.Catalogue, error) {
	var codes []string
	action := ""
	for _, p := range of {
		if p != nil {
			action = cmp.Or(action, p.File().Columns["action"])
			codes = append(codes, provenance.Codes(p.File())...)
		}
	}
	items, err := logs.ReadCatalogueAs(path, action, codes...)
	if err != nil {
		return nil, nil, err
	}
	c, err := items.Served()
	return c, items, err
}

// policy returns the policy to serve: that of the file, or its mixture with the canary, with the catalogue. It writes a
// file of the mixture, which later rounds need.
func (f *serveFlags) policy(tell *slog.Logger) (*policyfile.Policy, error) {
	with := func(p *policyfile.Policy) (*policyfile.Policy, error) {
		if f.played.catalogue == nil {
			return p, nil
		}
		w, err := p.WithCatalogue(f.played.catalogue, f.played.items.Actions)
		if err != nil {
			return nil, fmt.Errorf("--catalogue: %w", err)
		}
		return w, nil
	}
	if f.played.items != nil {
		for _, note := range f.played.items.Notes() {
			tell.Warn(note)
		}
	}
	p, err := with(f.played.policy)
	if err != nil || f.canary == "" {
		return p, err
	}
	c, err := with(f.played.canary)
	if err != nil {
		return nil, err
	}
	if own, other := provenance.RewardOf(c.File()), provenance.RewardOf(p.File()); own.Differs(other) {
		return nil, fmt.Errorf("--canary %s: its rewards are %s, those of the policy that plays %s: a log has one reward",
			f.canary, own, other)
	}
	mixed, err := server.Mix(p, c, f.share)
	if err != nil {
		return nil, fmt.Errorf("--canary %s: %w", f.canary, err)
	}
	m, err := policyfile.New(mixed)
	if err != nil {
		return nil, err
	}
	to := filepath.Join(filepath.Dir(f.log), fmt.Sprintf("canary-%.12s.json", m.Hash()))
	// a full disk has room for what is there
	if there, err := policyfile.Load(to); err != nil || there.Hash() != m.Hash() {
		if err := policyfile.Save(to, mixed); err != nil {
			return nil, fmt.Errorf("--canary: the file of the mixture, without which its log says little, cannot "+
				"be written: %w", err)
		}
	}
	tell.Info(fmt.Sprintf("policy %.12s plays %.12s, and %.12s in a share of %v: its file is %s", m.Hash(), p.Hash(),
		c.Hash(), f.share, to), "policy_hash", m.Hash(), "share", f.share, "file", to)
	return with(m)
}

// reload serves what the files hold now, and says why a file is refused.
func (f *serveFlags) reload(s *server.Server, path string, tell *slog.Logger) {
	defer s.Reloading(reloadPatience, func() {
		tell.Warn(fmt.Sprintf("the files of the policy are still being read, after %v: policy %.12s is served "+
			"until they are", reloadPatience, s.Hash()), "policy_hash", s.Hash())
	})()
	before := f.played
	wrong := f.read(path)
	taken := f.played.policy != before.policy || f.played.canary != before.canary ||
		f.played.catalogue != before.catalogue
	if taken {
		p, err := f.policy(tell)
		if err == nil {
			err = s.Reload(p)
		}
		if err != nil {
			f.played, taken, wrong = before, false, errors.Join(wrong, err)
		}
	}
	s.Reloaded(wrong)
	switch {
	case wrong != nil && taken:
		tell.Error("not taken, so what it was stays: "+oneLine(wrong), "policy_hash", s.Hash())
	case wrong != nil:
		tell.Error(fmt.Sprintf("still serving policy %.12s: %s", s.Hash(), oneLine(wrong)), "policy_hash", s.Hash())
	}
	if taken {
		tell.Info(fmt.Sprintf("serving policy %.12s%s", s.Hash(), among(s.Policy())), "policy_hash", s.Hash())
		warnOf(s.Policy(), tell)
	}
}

// among says which catalogue is served.
func among(p *policyfile.Policy) string {
	c := p.Catalogue()
	if c == nil {
		return ""
	}
	return fmt.Sprintf(" among the %d actions of catalogue %.12s", p.Len(), c.Hash)
}

// warnOf warns of a policy that never plays some actions, whose log cannot judge policies that do, and of one whose
// certificate is not of what is served, or does not show that it earns more than what played.
func warnOf(p *policyfile.Policy, tell *slog.Logger) {
	if p.File().Floor == 0 {
		tell.Warn("the policy has no floor: propensities may be 0, and its log may say little about other policies")
	}
	if not := server.Uncovered(p); not != "" {
		tell.Warn(not)
	}
	var certified struct{ Verdict provenance.Verdict }
	_ = json.Unmarshal(p.File().Certificate, &certified) // checked where the file was read; there may be none
	if v := certified.Verdict; v != "" && v != provenance.Better {
		tell.Warn(fmt.Sprintf("by its file the policy is not shown to earn more than what was logged (verdict: %s)", v))
	}
}

// plain writes a line "opl: …" a message, without the attributes, which messages say in words.
type plain struct{ io.Writer }

func (plain) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }
func (h plain) WithAttrs([]slog.Attr) slog.Handler         { return h }
func (h plain) WithGroup(string) slog.Handler              { return h }
func (h plain) Handle(_ context.Context, r slog.Record) error {
	_, err := io.WriteString(h, "opl: "+strings.Join(strings.Fields(r.Message), " ")+"\n")
	return err
}
