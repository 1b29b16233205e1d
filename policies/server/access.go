package server

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"opl/policies/wholefile"
)

// Tokens holds the SHA-256 of each token that lets a client in. Hashes alone stay in memory, and looking one up
// takes a time that says nothing of the others.
type Tokens map[[sha256.Size]byte]bool

const (
	leastToken = 16      // bytes
	maxKeys    = 1 << 20 // bytes that a file of tokens, a certificate or a key may have
)

// ReadTokens reads a file of tokens, one per line, each of at least 16 visible ASCII characters. It skips blank lines
// and lines that begin with #. A file without tokens is no error: its empty set refuses every client, so that emptying
// the file revokes all tokens.
func ReadTokens(path string) (Tokens, error) {
	b, err := wholefile.Read(path, maxKeys)
	if err != nil {
		return nil, err
	}
	t := Tokens{}
	n := 0
	for line := range bytes.Lines(b) {
		n++
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
			continue
		case len(line) < leastToken || bytes.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r > '~' }):
			return nil, fmt.Errorf("%s: line %d: no token: want %d visible characters or more, of ASCII", path, n,
				leastToken)
		}
		t[sha256.Sum256(line)] = true
	}
	return t, nil
}

// SetTokens replaces the tokens of a running server. nil lets every client in.
func (s *Server) SetTokens(t Tokens) { s.tokens.Store(&t) }

// Certificate keeps a TLS certificate and its key, and reads them again from their files when they are renewed.
type Certificate struct {
	cert, key string
	now       atomic.Pointer[tls.Certificate]
}

// ReadCertificate reads a certificate and its key from PEM files. It refuses a certificate that clients would refuse.
func ReadCertificate(cert, key string) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key}
	return c, c.Read()
}

// Read reads the files again. After an error the server goes on with the certificate that it has.
func (c *Certificate) Read() error {
	cert, err := wholefile.Read(c.cert, maxKeys)
	if err != nil {
		return err
	}
	key, err := wholefile.Read(c.key, maxKeys)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err == nil {
		err = strong(pair.Leaf, time.Now())
	}
	if err != nil {
		return fmt.Errorf("%s, %s: %w", c.cert, c.key, err)
	}
	c.now.Store(&pair)
	return nil
}

// strong refuses a certificate that clients would not trust: one that is expired, not yet valid, or has a short key.
func strong(c *x509.Certificate, now time.Time) error {
	switch key, rsa := c.PublicKey.(*rsa.PublicKey); {
	case now.After(c.NotAfter):
		return fmt.Errorf("the certificate expired on %s", c.NotAfter.Format(time.DateOnly))
	case now.Before(c.NotBefore):
		return fmt.Errorf("the certificate is not valid before %s", c.NotBefore.Format(time.RFC3339))
	case rsa && key.N.BitLen() < 2048:
		return fmt.Errorf("an RSA key of %d bits: want 2,048 or more", key.N.BitLen())
	}
	return nil
}

// refuse returns the status, kind and reason of a request that is not let in, and a nil error for one that is.
//
// A web page in a browser can send requests to any server that the browser reaches, and would draw decisions into the
// log. refuse recognizes such requests by Origin and Sec-Fetch-Site, and by their content type: a page cannot send JSON
// without a preflight. Without TLS and tokens a page can also let its own name resolve to this server (DNS rebinding),
// so Host must then be an address, localhost or one of Config.Hosts.
func (s *Server) refuse(r *http.Request) (status int, kind string, err error) {
	tokens := *s.tokens.Load()
	if s.config.Certificate == nil && tokens == nil && !s.known(r.Host) {
		return http.StatusForbidden, "host", fmt.Errorf("host %.100q: not a name of this server: setting host adds "+
			"one", r.Host)
	}
	if err := s.cross.Check(r); err != nil {
		return http.StatusForbidden, "origin", errors.New("a request of another site's page")
	}
	if tokens != nil && r.URL.Path != "/healthz" {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		// Looked up by a hash, the time says nothing of the tokens.
		if !strings.EqualFold(scheme, "Bearer") || !tokens[sha256.Sum256([]byte(token))] {
			return http.StatusUnauthorized, "token", errors.New("want a token: Authorization: Bearer …")
		}
	}
	if r.URL.Path == "/decide" && r.Method == http.MethodPost {
		if kind := r.Header.Get("Content-Type"); kind != "application/json" {
			if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
				return http.StatusUnsupportedMediaType, "type", fmt.Errorf("content type %.100q: want "+
					"application/json", kind)
			}
		}
	}
	return 0, "", nil
}

// known reports whether a request may name the server like this: by an address, by localhost, or by one of
// Config.Hosts.
func (s *Server) known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	_, err := netip.ParseAddr(host)
	given := func(name string) bool { return strings.EqualFold(name, host) }
	return host == "" || err == nil || host == "localhost" || slices.ContainsFunc(s.config.Hosts, given)
}
