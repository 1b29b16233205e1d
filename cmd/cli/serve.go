package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/policies/server"
	"opl/policies/wholefile"
	"opl/train/logs"
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
	actions        []string
}

// serveHelp is the long help of serve.
const serveHelp = `serve chooses actions by a policy file over HTTP and logs each decision.

It answers POST /decide with an action drawn from the policy, and its propensity. Each
decision is in the log before it is answered. "opl join" turns the log and the rewards
into the log of the next round.

  POST /decide        {"context": {"name": value, ...}, "decision_id": "optional"}
                      where actions have features also "actions": [{"id": "...", name: value, ...}, ...]
                      or "offered": ["id", ...] of the catalogue, else all of it; "top": 5
  GET  /healthz       200 while decisions can be logged
  GET  /policy        hash, guarantee, actions, features with their ranges
  GET  /metrics       Prometheus' text format
  GET  /openapi.json  the OpenAPI document of these

SIGHUP reads the policy file and the catalogue again, and so does a change of the files
with --watch. A refused file changes nothing; a reload that takes longer than 10 s is
reported. SIGINT and SIGTERM stop the server once
the requests under way are answered.

After a rename or removal of the log the server begins a new one, within a second, or
at once by SIGUSR1. --log-max-bytes renames a full log to FILE.000001, FILE.000002 and so
on. Nothing is ever deleted: above --log-max-total decisions are refused until you move
files away. While the log cannot be written, as on a full disk, /decide and /healthz
answer 503.

An answered decision survives the death of the process. --fsync is about power cuts: each
waits for the disk before it answers, interval may lose the last second, never what the
system has not written yet.

--catalogue replaces the policy file's list of actions. New actions are played by their
features; actions that are gone are not played. The log has the hash of the catalogue of
each decision. The guarantee is about the policy file's own catalogue.

--canary plays another policy in a share of the decisions. What is served is the mixture,
a policy of its own whose file is written beside the log. Its propensities are those of
the mixture, so you can learn from its log. Give the file to join --policy and train
--logged-by.

The same decision_id with the same context gets the same answer and one line in the log,
also after a restart. With another context it is refused (409). Requests of web pages
are refused, by their Origin, Content-Type and Host (--host adds names). With --token-file
clients send "Authorization: Bearer TOKEN". An address that other machines reach needs
--token-file or --insecure. Certificates, keys and tokens are read again when their files
change, and at SIGHUP. An emptied file of tokens revokes all tokens.`

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve POLICY",
		Short: "choose actions by a policy file over HTTP and log each decision",
		Long:  serveHelp,
		Example: `  opl serve policy.json --log served.jsonl
  curl --json '{"context":{"age":41,"city":"Oslo"}}' http://127.0.0.1:8080/decide
  opl serve --check 127.0.0.1:8080
  opl serve policy.json --listen :8443 --tls-cert cert.pem --tls-key key.pem \
    --token-file tokens --admin 127.0.0.1:9090`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.check != "" {
				return operands()(cmd, args)
			}
			return operands("a policy file")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
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
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.check, "check", "", "ask the server at this `address` or URL whether it is ready, and exit "+
		"by 0 or 1")
	fl.BoolVar(&f.watch, "watch", false, "read policy and catalogue again when their files change, as at SIGHUP")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address to listen on; port 0 takes a free one")
	fl.StringVar(&f.log, "log", "served.jsonl", "`file` that decisions are appended to")
	oneOf(fl, &f.fsync, "fsync", "when the log is forced to the disk: each, interval (1 s) or never",
		string(server.FsyncInterval), string(server.FsyncEach), string(server.FsyncNever))
	fl.Int64Var(&f.of.MaxBytes, "log-max-bytes", 0, "size of a log that is renamed for a new one; 0: none is")
	fl.Int64Var(&f.of.MaxTotal, "log-max-total", 0, "bytes that the log and those renamed may take; 0: no limit")
	fl.StringVar(&f.messages, "messages", "text", "form of what is told on stderr: text or json")
	fl.StringVar(&f.address, "address-file", "", "write the address listened on to this `file`")
	positive(fl, &f.config.MaxBody, "max-body", 1<<20, "largest request, bytes")
	positive(fl, &f.config.MaxInFlight, "max-requests", 1024, "requests at a time; more are answered 503")
	positive(fl, &f.config.MaxConns, "max-connections", 4096, "connections at a time; more are answered 503")
	positive(fl, &f.config.MaxEach, "max-per-address", 1024, "connections at a time of one address (of a /64 of IPv6)")
	fl.StringVar(&f.items, "catalogue", "", "`file` of the actions to choose among and their features z_*: "+
		"parquet, csv or jsonl")
	fl.StringVar(&f.canary, "canary", "", "policy `file` that plays in a share of the decisions")
	fl.Float64Var(&f.share, "canary-share", 0.1, "that share")
	fl.StringVar(&f.admin, "admin", "", "`address` of a listener of its own for all but decisions, without TLS and "+
		"tokens")
	fl.StringVar(&f.tokens, "token-file", "", "`file` of tokens, one a line, of which clients need one")
	fl.StringVar(&f.cert, "tls-cert", "", "`file` of the certificate, PEM")
	fl.StringVar(&f.key, "tls-key", "", "`file` of its key, PEM")
	fl.StringSliceVar(&f.config.Hosts, "host", nil, "names that requests may call the server by, beside addresses "+
		"and localhost")
	fl.BoolVar(&f.insecure, "insecure", false, "listen where other machines can reach without a token")
	positive(fl, &f.config.Remember, "remember-bytes", 32<<20, "memory for answers that are given again to the same "+
		"decision_id")
	positive(fl, &f.config.Timeout, "timeout", server.DefaultTimeout,
		"for reading a request, and for writing its answer")
	positive(fl, &f.config.Idle, "idle", server.DefaultIdle, "how long a connection may wait for its next request")
	positive(fl, &f.config.Drain, "drain", server.DefaultDrain, "for the requests under way when the server stops")
	fl.BoolVar(&f.config.Strict, "strict", false,
		"refuse contexts with names or categories that the policy does not know, or without those that it reads")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of the actions drawn, for tests (default: from the system)")
	return cmd
}

func runServe(ctx context.Context, path string, f serveFlags, stderr io.Writer) (err error) {
	tell, err := messages(f.messages, stderr)
	if err != nil {
		return err
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
	warnOfFloor(p, tell)
	defer f.follow(ctx, path, s, out, keys, tell)()
	if f.address != "" {
		if err := wholefile.WriteBytes(f.address, []byte(l.Addr().String()+"\n")); err != nil {
			return err
		}
	}
	tell.Info(fmt.Sprintf("serving policy %.12s%s on %s://%s, logging to %s", s.Hash(), among(p), keys.scheme(),
		l.Addr(), f.log),
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
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if f.watch && !slices.EqualFunc(f.files(path), f.were, unchanged) {
					f.reload(s, path, tell)
				}
			case <-policies:
				f.reload(s, path, tell)
			}
		}
	}()
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				keys.reload(false)
			case sig := <-signals:
				if sig != syscall.SIGHUP {
					_ = out.Reopen() // it is told, and tried again
					continue
				}
				select {
				case policies <- struct{}{}:
				default: // one is due already
				}
				keys.reload(true)
			}
		}
	}()
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
		c, actions, wrong := readCatalogue(f.items)
		if wrong != nil {
			return errors.Join(err, fmt.Errorf("--catalogue: %w", wrong))
		}
		f.played.catalogue, f.played.actions = c, actions
	}
	return err
}

// files says how the files of what is served are by now.
func (f *serveFlags) files(path string) []os.FileInfo {
	return stats([]string{path, f.canary, f.items})
}

// readCatalogue reads a catalogue as policy files and served logs know it, by its hash.
func readCatalogue(path string) (*policyfile.Catalogue, []string, error) {
	of, err := logs.ReadCatalogue(path)
	if err != nil {
		return nil, nil, err
	}
	c, err := of.Served()
	return c, of.Actions, err
}

// policy returns the policy to serve: that of the file, or its mixture with the canary, with the catalogue. It writes a
// file of the mixture, which later rounds need.
func (f *serveFlags) policy(tell *slog.Logger) (*policyfile.Policy, error) {
	with := func(p *policyfile.Policy) (*policyfile.Policy, error) {
		if f.played.catalogue == nil {
			return p, nil
		}
		w, err := p.WithCatalogue(f.played.catalogue, f.played.actions)
		if err != nil {
			return nil, fmt.Errorf("--catalogue: %w", err)
		}
		return w, nil
	}
	p, err := with(f.played.policy)
	if err != nil || f.canary == "" {
		return p, err
	}
	c, err := with(f.played.canary)
	if err != nil {
		return nil, err
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
		c.Hash(), f.share, to),
		"policy_hash", m.Hash(), "share", f.share, "file", to)
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
		warnOfFloor(s.Policy(), tell)
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

// warnOfFloor warns of a policy that never plays some actions: its log cannot judge policies that do.
func warnOfFloor(p *policyfile.Policy, tell *slog.Logger) {
	if p.File().Floor == 0 {
		tell.Warn("the policy has no floor: propensities may be 0, and its log may say little about other policies")
	}
}
