package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"

	"opl/policies/server"
)

// keys holds what lets clients in: a certificate, and tokens. It reads both again when their files change.
type keys struct {
	certificate *server.Certificate // nil: plain HTTP
	tokens      string              // file; "": all are let in
	server      *server.Server
	files       []*keyFiles
	tell        *slog.Logger
}

// keyFiles are files that are read again together when one of them changes.
type keyFiles struct {
	what  string
	files []string
	were  []os.FileInfo // when they were read
	read  func() error
}

// keys reads the certificate; letIn reads the tokens.
func (f *serveFlags) keys(tell *slog.Logger) (*keys, error) {
	k := &keys{tokens: f.tokens, tell: tell}
	if (f.cert == "") != (f.key == "") {
		return nil, errors.New("--tls-cert and --tls-key: want both or none")
	}
	if f.cert == "" {
		return k, nil
	}
	files := []string{f.cert, f.key}
	were := stats(files)
	var err error
	if k.certificate, err = server.ReadCertificate(f.cert, f.key); err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	k.files = append(k.files, &keyFiles{"certificate and key", files, were, k.certificate.Read})
	return k, nil
}

// letIn reads the tokens for the first time. Then there must be some: a server that refuses everyone is a mistake.
func (k *keys) letIn(s *server.Server) error {
	if k.server = s; k.tokens == "" {
		return nil
	}
	k.files = append(k.files, &keyFiles{"tokens", []string{k.tokens}, stats([]string{k.tokens}), func() error {
		n, err := k.readTokens()
		if err == nil && n == 0 {
			k.tell.Warn(k.tokens + " has no tokens any more: every request is refused")
		}
		return err
	}})
	n, err := k.readTokens()
	if err == nil && n == 0 {
		err = fmt.Errorf("--token-file: %s: no tokens", k.tokens)
	}
	return err
}

// readTokens lets those in who have one of the n tokens of the file.
func (k *keys) readTokens() (n int, err error) {
	t, err := server.ReadTokens(k.tokens)
	if err != nil {
		return 0, fmt.Errorf("--token-file: %w", err)
	}
	k.server.SetTokens(t)
	return len(t), nil
}

// stats describes files, with nil for those that are not there.
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

// reload reads files again if they have changed, or always. If a file cannot be read, the server keeps what it has.
func (k *keys) reload(always bool) {
	for _, w := range k.files {
		now := stats(w.files)
		if !always && slices.EqualFunc(now, w.were, unchanged) {
			continue
		}
		w.were = now
		if err := w.read(); err != nil {
			k.tell.Error(w.what + " cannot be read, and stay as they were: " + err.Error())
			continue
		}
		k.tell.Info(w.what + " read again: " + strings.Join(w.files, ", "))
	}
}

// unchanged reports whether a file is as it was, by identity, size and time of change.
func unchanged(now, was os.FileInfo) bool {
	if now == nil || was == nil {
		return now == nil && was == nil
	}
	return os.SameFile(now, was) && now.Size() == was.Size() && now.ModTime().Equal(was.ModTime())
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

// loopback reports whether a listener is out of reach for other machines.
func loopback(l net.Listener) bool {
	tcp, ok := l.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
