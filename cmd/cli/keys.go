package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"opl/policies/server"
)

// keys are what lets clients in: the files of certificates and tokens, and how they were when they were
// read.
type keys struct {
	certificate *server.Certificate
	files       []string
	tokens      string
	were        []os.FileInfo
}

// keys reads the certificate; the tokens are for a server to read.
func (f *serveFlags) keys() (*keys, error) {
	k := &keys{tokens: f.tokens}
	if (f.cert == "") != (f.key == "") {
		return nil, errors.New("--tls-cert and --tls-key: want both or none")
	}
	var err error
	if f.cert != "" {
		k.files = []string{f.cert, f.key}
		if k.certificate, err = server.ReadCertificate(f.cert, f.key); err != nil {
			return nil, fmt.Errorf("--tls-cert: %w", err)
		}
	}
	if f.tokens != "" {
		k.files = append(k.files, f.tokens)
	}
	k.were = stats(k.files)
	return k, nil
}

func (k *keys) scheme() string {
	if k.certificate != nil {
		return "https"
	}
	return "http"
}

// stats are of files, nil of those that are not there.
func stats(files []string) (all []os.FileInfo) {
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			info = nil
		}
		all = append(all, info)
	}
	return all
}

// read reads the tokens.
func (k *keys) read(s *server.Server) error {
	t, err := server.ReadTokens(k.tokens)
	if err != nil {
		return fmt.Errorf("--token-file: %w", err)
	}
	s.SetTokens(t)
	return nil
}

// reload reads the files again if they have changed, or all the same. What cannot be read stays as it was.
func (k *keys) reload(s *server.Server, tell *slog.Logger, always bool) {
	now := stats(k.files)
	for i, info := range now {
		was := k.were[i]
		always = always || (info == nil) != (was == nil) ||
			info != nil && (!os.SameFile(info, was) || info.Size() != was.Size() || !info.ModTime().Equal(was.ModTime()))
	}
	if !always || len(k.files) == 0 {
		return
	}
	k.were = now
	var errs []error
	if k.certificate != nil {
		errs = append(errs, k.certificate.Read())
	}
	if k.tokens != "" {
		errs = append(errs, k.read(s))
	}
	if err := errors.Join(errs...); err != nil {
		tell.Error("certificates and tokens that cannot be read stay as they were: " + err.Error())
		return
	}
	tell.Info("certificates and tokens were read again: " + strings.Join(k.files, ", "))
}

// open listens on an address. One that other machines can reach needs tokens.
func (f *serveFlags) open(flag, address string, tokens bool) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	if !loopback(l) && !tokens && !f.insecure {
		why := "--token-file keeps them out, or --insecure lets all in"
		if flag == "admin" {
			why = "it has no tokens: give an address of this machine alone, or --insecure"
		}
		return nil, errors.Join(fmt.Errorf("--%s %s: other machines can reach it: %s", flag, address, why), l.Close())
	}
	return l, nil
}

// loopback reports that other machines cannot reach a listener.
func loopback(l net.Listener) bool {
	tcp, ok := l.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
