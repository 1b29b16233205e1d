package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	mathbig "math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const ask = `{"context":{"x_0":1}}`

// What a web page can make a browser send is refused, and not logged.
func TestDecide_RefusesWhatAWebPageCanSend(t *testing.T) {
	s, l := testServer(t, testPolicy(t, 2, 1, nil), Config{Hosts: []string{"opl.internal"}})
	for _, c := range []struct {
		method, path, host, kind string
		headers                  []string
		status                   int
	}{
		{"POST", "/decide", "127.0.0.1:8080", "application/json", nil, 200},
		{"POST", "/decide", "[::1]:8080", "application/json; charset=utf-8", nil, 200},
		{"POST", "/decide", "LOCALHOST", "application/json", nil, 200},
		{"POST", "/decide", "opl.internal:80", "application/json", []string{"Sec-Fetch-Site", "none"}, 200},
		{"POST", "/decide", "localhost:1", "application/json", []string{"Origin", "http://localhost:1"}, 200},
		{"POST", "/decide", "evil.example", "application/json", nil, 403}, // a name that resolves to 127.0.0.1
		{"POST", "/decide", "127.0.0.1.evil.example:8080", "application/json", nil, 403},
		{"GET", "/metrics", "evil.example", "", nil, 403},
		{"GET", "/healthz", "evil.example", "", nil, 403},
		{"POST", "/decide", "localhost", "application/json", []string{"Origin", "http://evil.example"}, 403},
		{"POST", "/decide", "localhost:8080", "application/json", []string{"Origin", "http://localhost:3000"}, 403},
		{"POST", "/decide", "localhost", "application/json", []string{"Origin", "null"}, 403},
		{"POST", "/decide", "localhost", "application/json", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", "/decide", "localhost", "application/json", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"POST", "/decide", "localhost", "text/plain", nil, 415},
		{"POST", "/decide", "localhost", "text/plain; application/json", nil, 415},
		{"POST", "/decide", "localhost", "application/x-www-form-urlencoded", nil, 415},
		{"POST", "/decide", "localhost", "", nil, 415},
		{"OPTIONS", "/decide", "localhost", "", []string{"Access-Control-Request-Method", "POST"}, 405},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(ask))
		r.Host = c.host
		if c.kind != "" {
			r.Header.Set("Content-Type", c.kind)
		}
		if c.headers != nil {
			r.Header.Set(c.headers[0], c.headers[1])
		}
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != c.status || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
	}
	if n := len(lines(t, l.path)); n != 5 {
		t.Errorf("%d decisions are in the log, want 5", n)
	}
}

func TestTokens_AreAskedForAndReadFromAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	for _, text := range []string{"short\n", "a token with spaces in\n", strings.Repeat("#", maxKeys+1)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadTokens(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := os.WriteFile(path, []byte("# ours\nfirst-token-01234\n\nsecond-token-0123\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	s, l := testServer(t, testPolicy(t, 2, 1, nil), Config{})
	s.SetTokens(tokens)
	for header, status := range map[string]int{"": 401, "Bearer": 401, "Bearer ": 401, "Bearer # ours": 401, "Basic first-token-01234": 401, "Bearer first-token-0123": 401,
		"Bearer first-token-01234": 200, "bearer second-token-0123": 200} {
		for _, path := range []string{"/decide", "/metrics"} {
			r := asked(map[string]string{"/decide": "POST", "/metrics": "GET"}[path], path, strings.NewReader(ask))
			r.Host = "any.example"
			r.Header.Set("Authorization", header)
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, r); w.Code != status || (w.Header().Get("WWW-Authenticate") != "") != (status == 401) {
				t.Errorf("%q: %s: %d %s", header, path, w.Code, w.Body)
			}
		}
	}
	if w := do(s, "GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("healthz: %d", w.Code)
	}
	if n := len(lines(t, l.path)); n != 2 {
		t.Errorf("%d decisions are in the log, want 2", n)
	}
	// A file that was emptied revokes all.
	if err := os.WriteFile(path, []byte("# none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if tokens, err = ReadTokens(path); err != nil {
		t.Fatal(err)
	}
	s.SetTokens(tokens)
	r := asked("POST", "/decide", strings.NewReader(ask))
	r.Header.Set("Authorization", "Bearer first-token-01234")
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 401 {
		t.Errorf("without tokens: %d %s", w.Code, w.Body)
	}
}

// A certificate out of its time, or with a short key, is refused.
func TestCertificate_IsRefusedWhenExpiredOrWeak(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		after time.Duration
		bits  uint
		want  string
	}{"sound": {time.Hour, 2048, ""}, "expired": {25 * time.Hour, 2048, "expired on 2026-01-02"}, "not valid yet": {-time.Hour, 2048, "not valid before"},
		"short key": {time.Hour, 1024, "1024 bits"}} {
		t.Run(name, func(t *testing.T) {
			of := &x509.Certificate{NotBefore: begin, NotAfter: begin.Add(24 * time.Hour),
				PublicKey: &rsa.PublicKey{N: new(mathbig.Int).Lsh(mathbig.NewInt(1), c.bits-1), E: 65537}}
			switch err := strong(of, begin.Add(c.after)); {
			case err == nil && c.want == "":
			case err == nil || c.want == "" || !strings.Contains(err.Error(), c.want):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A reload that takes long is told, and in the metrics until it ends.
func TestReload_ThatIsSlowIsReported(t *testing.T) {
	s, _ := testServer(t, testPolicy(t, 2, 1, nil), Config{})
	none := "opl_reload_under_way_seconds 0\n"
	told := make(chan bool)
	end := s.Reloading(time.Millisecond, func() { close(told) })
	<-told
	if text := do(s, "GET", "/metrics", "").Body.String(); strings.Contains(text, none) || !strings.Contains(text, "opl_reload_under_way_seconds 0.") {
		t.Error(text)
	}
	end()
	if text := do(s, "GET", "/metrics", "").Body.String(); !strings.Contains(text, none) {
		t.Error(text)
	}
	s.Reloading(time.Hour, func() { t.Error("told of a short one") })()
}

// writePair writes a certificate of localhost and its key.
func writePair(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: mathbig.NewInt(serial), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	for path, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Certificates are replaced under a running server; bad ones are not taken.
func TestTLS_TakesNewCertificatesUnderARunningServer(t *testing.T) {
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	writePair(t, cert, key, 1)
	c, err := ReadCertificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := testServer(t, testPolicy(t, 2, 1, nil), Config{Certificate: c})
	url, _ := started(t, s)
	address := strings.TrimPrefix(url, "http://")
	serial := func() int64 {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	if a, err := post(client, "https://"+address, ask); err != nil || a.Hash != s.Hash() {
		t.Errorf("%+v, %v", a, err)
	}
	if resp, err := http.Get(url + "/healthz"); err == nil {
		resp.Body.Close()
		if resp.StatusCode == 200 {
			t.Error("without TLS it answers")
		}
	}
	if n := serial(); n != 1 {
		t.Errorf("serial %d", n)
	}
	writePair(t, cert, key, 2)
	if err := c.Read(); err != nil || serial() != 2 {
		t.Errorf("serial %d, %v", serial(), err)
	}
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Read(); err == nil || !strings.Contains(err.Error(), key) || serial() != 2 {
		t.Errorf("serial %d, %v", serial(), err)
	}
}

// One address does not get all connections, and the admin's listener has its own.
func TestConnections_OfOneAddressAreLimited(t *testing.T) {
	s, _ := testServer(t, testPolicy(t, 2, 1, nil), Config{MaxConns: 8, MaxEach: 2, Admin: true})
	url, _ := started(t, s)
	host := strings.TrimPrefix(url, "http://")
	hold := func(from string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	taken := func(c net.Conn) bool {
		fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		b := make([]byte, 12)
		_, _ = c.Read(b)
		return string(b) == "HTTP/1.1 200"
	}
	for i, c := range []net.Conn{hold("127.0.0.2"), hold("127.0.0.2"), hold("127.0.0.2"), hold("127.0.0.3")} {
		if got := taken(c); got != (i != 2) {
			t.Errorf("connection %d is taken: %t", i, got)
		}
	}
	for i := range 5 { // all eight are held
		hold(fmt.Sprintf("127.0.0.%d", 10+i))
	}
	if taken(hold("127.0.0.50")) {
		t.Error("a ninth connection is taken")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.ServeAdmin(ctx, l) }()
	for path, status := range map[string]int{"/healthz": 200, "/metrics": 200, "/decide": 404} {
		t.Run(path, func(t *testing.T) {
			resp, err := http.Get("http://" + l.Addr().String() + path)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Body.Close(); resp.StatusCode != status {
				t.Errorf("the admin's %s: %s", path, resp.Status)
			}
		})
	}
	if w := do(s, "GET", "/metrics", ""); w.Code != 404 {
		t.Errorf("metrics for everybody: %d", w.Code)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestNetworks_AreAddressesOrTheFirstHalfOfIPv6(t *testing.T) {
	of := func(ip string) string {
		return addressOf(from{net.TCPAddr{IP: net.ParseIP(ip)}}).String()
	}
	if of("1.2.3.4") != of("::ffff:1.2.3.4") || of("1.2.3.4") == of("1.2.3.5") || of("2001:db8::1") != of("2001:db8::ffff:2") || of("2001:db8::1") == of("2001:db8:0:1::1") {
		t.Error(of("1.2.3.4"), of("2001:db8::1"))
	}
}

type from struct{ net.TCPAddr }

func (f from) RemoteAddr() net.Addr             { return &f.TCPAddr }
func (from) LocalAddr() net.Addr                { return nil }
func (from) Read([]byte) (int, error)           { return 0, nil }
func (from) Write([]byte) (int, error)          { return 0, nil }
func (from) Close() error                       { return nil }
func (from) SetDeadline(time.Time) error        { return nil }
func (from) SetReadDeadline(t time.Time) error  { return nil }
func (from) SetWriteDeadline(t time.Time) error { return nil }

// What a context may cost is bounded, and what a large one took is not kept.
func TestContext_ThatIsLargeIsBoundedAndNotKept(t *testing.T) {
	s, l := testServer(t, testPolicy(t, 2, 1, nil), Config{})
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, `,"n%x":0`, i)
	}
	deep := `{"context":{"x_0":1,"` + strings.Repeat("n", 1000) + `":[` + strings.Repeat("0,", 3000) + `0]}}`
	for body, want := range map[string]string{`{"context":{"x_0":1` + many.String() + `}}`: "more than 4102 names", deep: "flat, it has more than 1048576 bytes"} {
		t.Run(body, func(t *testing.T) {
			if w := do(s, "POST", "/decide", body); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%d %s, want %s", w.Code, w.Body, want)
			}
			if k := s.pool.Get().(*work); cap(k.body)+cap(k.req.context) > 4*largeBody || len(k.req.other) > 1000 {
				t.Errorf("%d bytes and %d names are kept", cap(k.body)+cap(k.req.context), len(k.req.other))
			}
		})
	}
	// Large ones have to wait.
	for range maxLarge {
		s.large <- struct{}{}
	}
	large := `{"context":{"x_0":1}}` + strings.Repeat(" ", largeBody)
	if w := do(s, "POST", "/decide", large); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(s, "POST", "/decide", ask); w.Code != 200 {
		t.Errorf("a small one: %d %s", w.Code, w.Body)
	}
	<-s.large
	for range 3 { // the place is given back
		if w := do(s, "POST", "/decide", large); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if n := len(lines(t, l.path)); n != 4 {
		t.Errorf("%d decisions are in the log, want 4", n)
	}
}
