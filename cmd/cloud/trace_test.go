package cloud_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"opl/cmd/cli"
	"opl/cmd/cloud"
	"opl/train/library"
)

// A decision is a span within the trace of its request, which reaches the collector before the command ends, and
// probes are none. Without a collector nothing wraps the server.
func TestTracing_MakesDecisionsSpansOfTheirRequests(t *testing.T) {
	if wrap, _ := cloud.Tracing(t.Context()); wrap != nil {
		t.Fatal("without a collector decisions are traced")
	}
	var sent atomic.Value
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		sent.Store(text)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	lib := library.Standard()
	var flush func()
	lib.Around, flush = cloud.Tracing(t.Context())
	dir := t.TempDir()
	log, policy, at := filepath.Join(dir, "log.csv"), filepath.Join(dir, "policy.json"), filepath.Join(dir, "at")
	rows := "action,reward,propensity,x_a\n" + strings.Repeat("a,1,0.5,1\nb,0,0.5,2\na,0,0.5,3\nb,1,0.5,1.5\n", 50)
	if err := os.WriteFile(log, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := cli.Run(lib, []string{"train", log, "--out", policy, "--objective", "l2", "--epochs", "1", "--force"}, io.Discard, os.Stderr); got != 0 {
		t.Fatalf("train ends with %d", got)
	}
	ended := make(chan int)
	go func() {
		ended <- cli.Run(lib, []string{"serve", policy, "--listen", "127.0.0.1:0", "--address-file", at, "--log", filepath.Join(dir, "served.jsonl")},
			io.Discard, io.Discard)
	}()
	var address []byte
	for end := time.Now().Add(20 * time.Second); len(address) == 0; time.Sleep(10 * time.Millisecond) {
		if address, _ = os.ReadFile(at); time.Now().After(end) {
			t.Fatal("no server")
		}
	}
	url := "http://" + strings.TrimSpace(string(address))
	const traced, probed = "4bf92f3577b34da6a3ce929d0e0e4736", "5bf92f3577b34da6a3ce929d0e0e4736"
	for _, r := range []struct{ method, path, body, trace string }{{"POST", "/decide", `{"context":{"a":1}}`, traced}, {"GET", "/healthz", "", probed}} {
		req, err := http.NewRequestWithContext(t.Context(), r.method, url+r.path, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Traceparent", "00-"+r.trace+"-00f067aa0ba902b7-01")
		answer, err := http.DefaultClient.Do(req)
		if err != nil || answer.StatusCode != 200 {
			t.Fatalf("%s: %v %v", r.path, err, answer)
		}
		answer.Body.Close()
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != 0 {
		t.Errorf("serve ends with %d", got)
	}
	flush()
	text, _ := sent.Load().([]byte)
	bytesOf := func(id string) []byte { b, _ := hex.DecodeString(id); return b }
	if !bytes.Contains(text, bytesOf(traced)) || !bytes.Contains(text, bytesOf("00f067aa0ba902b7")) || bytes.Contains(text, bytesOf(probed)) {
		t.Errorf("the collector was sent %q", text)
	}
}
