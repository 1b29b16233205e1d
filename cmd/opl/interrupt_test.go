//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A signal has a server wait for the request under way, a second one does not.
func TestServe_EndsAtOnceOnASecondSignal(t *testing.T) {
	s := &served{t: t, folder: t.TempDir(), client: &http.Client{}}
	s.log = filepath.Join(s.folder, "served.jsonl")
	s.policy("policy.json", 0)
	s.start()
	t.Cleanup(s.kill)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST /decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 30\r\n\r\n{")
	time.Sleep(100 * time.Millisecond) // the request is under way
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	s.must(s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-ended:
		t.Fatalf("it did not wait for the request: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	s.must(s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-ended:
		var e *exec.ExitError
		if !errors.As(err, &e) || e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
			t.Errorf("it ended by %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it waits for the request after a second signal")
	}
}
