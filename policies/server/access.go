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

// Tokens are those by which clients may ask, by their SHA-256.
type Tokens map[[sha256.Size]byte]bool

const (
	leastToken = 16      // bytes
	maxKeys    = 1 << 20 // bytes that a file of tokens, a certificate or a key may have
)

// ReadTokens reads a file of tokens, one a line, of at least 16 visible characters each. Blank
// lines and those that begin with # are left out. The tokens of a file without any let nobody in.
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

// SetTokens lets those in who have one of these tokens from now on; nil lets all in.
func (s *Server) SetTokens(t Tokens) { s.tokens.Store(&t) }

// Certificate is a certificate with its key, read from files.
type Certificate struct {
	cert, key string
	now       atomic.Pointer[tls.Certificate]
}

// ReadCertificate reads PEM files.
func ReadCertificate(cert, key string) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key}
	return c, c.Read()
}

// Read reads the files again. After an error those read before stay in use.
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

// strong refuses a certificate that clients would not trust: one out of its time, or with a short key.
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

func (c *Certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil }}
}

// refuse says why a request is not let in, nil if it is. What a web page sends from a browser
// on this machine, or on one that can reach the server, is refused: by its Origin and
// Sec-Fetch-Site; by the type of its body, which it cannot choose without asking first; and, where neither
// a certificate nor a token stands in its way, by the name in Host, if it is one that
// resolves to this server for the page alone.
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

// known reports that a request may call the server so: by an address, by localhost, by a name that it was
// given.
func (s *Server) known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	_, err := netip.ParseAddr(host)
	return host == "" || err == nil || host == "localhost" || slices.ContainsFunc(s.config.Hosts,
		func(name string) bool {
			return strings.EqualFold(name, host)
		})
}
