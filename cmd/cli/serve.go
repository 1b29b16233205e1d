package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/policies/server"
	"opl/policies/wholefile"
)

type serveFlags struct {
	listen  string
	log     string
	fsync   string
	address string
	seed    uint64
	config  server.Config
}

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve POLICY",
		Short: "choose actions by a policy file over HTTP and log each decision",
		Long: `serve answers POST /decide with an action drawn from the policy, and its
propensity. Each decision is appended to the log before it is answered; "opl join"
turns the log and the rewards into one to learn from.

  POST /decide   {"context": {"name": value, ...}, "decision_id": "optional"}
  GET  /healthz  200 while decisions can be logged
  GET  /metrics  Prometheus' text format

SIGHUP reads the policy file again: a file that is refused leaves the policy as it
is. SIGINT and SIGTERM stop the server once the requests under way are answered.

A decision that was answered survives the death of the process. --fsync is about
power cuts: each waits for the disk before it answers, interval may lose the last
second, never what the system has not written yet. There is no authentication:
who can reach the address can decide.`,
		Example: `  opl serve policy.json --log served.jsonl
  curl -d '{"context":{"age":41,"city":"Oslo"}}' http://127.0.0.1:8080/decide`,
		Args: operands("a policy file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("seed") {
				f.config.Seed = &f.seed
			}
			return runServe(cmd.Context(), args[0], f, cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address to listen on; port 0 takes a free one")
	fl.StringVar(&f.log, "log", "served.jsonl", "`file` that decisions are appended to")
	fl.StringVar(&f.fsync, "fsync", string(server.FsyncInterval), "when the log is forced to the disk: each, interval (1 s) or never")
	fl.StringVar(&f.address, "address-file", "", "write the address listened on to this `file`")
	fl.Int64Var(&f.config.MaxBody, "max-body", 1<<20, "largest request, bytes")
	fl.IntVar(&f.config.MaxInFlight, "max-requests", 1024, "requests at a time; more are answered 503")
	fl.IntVar(&f.config.MaxConns, "max-connections", 4096, "connections at a time; more are answered 503")
	fl.DurationVar(&f.config.Timeout, "timeout", server.DefaultTimeout, "for reading a request, and for writing its answer")
	fl.DurationVar(&f.config.Idle, "idle", server.DefaultIdle, "how long a connection may wait for its next request")
	fl.DurationVar(&f.config.Drain, "drain", server.DefaultDrain, "for the requests under way when the server stops")
	fl.BoolVar(&f.config.Strict, "strict", false, "refuse contexts with names or categories that the policy does not know")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of the actions drawn, for tests (default: from the system)")
	return cmd
}

func runServe(ctx context.Context, path string, f serveFlags, stderr io.Writer) (err error) {
	c := f.config
	for _, limit := range []struct {
		flag string
		n    int64
	}{{"max-body", c.MaxBody}, {"max-requests", int64(c.MaxInFlight)}, {"max-connections", int64(c.MaxConns)},
		{"timeout", int64(c.Timeout)}, {"idle", int64(c.Idle)}, {"drain", int64(c.Drain)}} {
		if limit.n <= 0 {
			return fmt.Errorf("--%s: want more than 0", limit.flag)
		}
	}
	p, err := policyfile.Load(path)
	if err != nil {
		return err
	}
	out, err := server.OpenLog(f.log, server.Fsync(f.fsync))
	if err != nil {
		return fmt.Errorf("--log: %w", err)
	}
	defer func() { err = cmp.Or(err, out.Close()) }()
	if n := out.Torn(); n > 0 {
		fmt.Fprintf(stderr, "opl: %s: the last line was cut off and never answered: its %d bytes are in %s.torn\n", f.log, n, f.log)
	}
	f.config.ErrorLog = log.New(stderr, "opl: ", 0)
	s, err := server.New(p, out, f.config)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		fmt.Fprintf(stderr, "opl: %s can be reached from other machines, and there is no authentication\n", l.Addr())
	}
	warnOfFloor(p, stderr)
	if f.address != "" {
		if err := wholefile.WriteBytes(f.address, []byte(l.Addr().String()+"\n")); err != nil {
			return err
		}
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer close(hup)
	defer signal.Stop(hup)
	go func() {
		for range hup {
			reload(s, path, stderr)
		}
	}()
	fmt.Fprintf(stderr, "opl: serving policy %.12s on http://%s, logging to %s\n", s.Hash(), l.Addr(), f.log)
	if err := s.Serve(ctx, l); err != nil {
		return err
	}
	fmt.Fprintln(stderr, "opl: stopped")
	return nil
}

// reload serves what the policy file holds by now, or says why not.
func reload(s *server.Server, path string, stderr io.Writer) {
	p, err := policyfile.Load(path)
	if err == nil {
		err = s.Reload(p)
	}
	s.Reloaded(err)
	if err != nil {
		fmt.Fprintf(stderr, "opl: still serving policy %.12s: %s\n", s.Hash(), oneLine(err))
		return
	}
	fmt.Fprintf(stderr, "opl: serving policy %.12s\n", s.Hash())
	warnOfFloor(p, stderr)
}

func warnOfFloor(p *policyfile.Policy, stderr io.Writer) {
	if p.File().Floor == 0 {
		fmt.Fprintln(stderr, "opl: the policy has no floor: propensities may be 0, and its log may say little about other policies")
	}
}
