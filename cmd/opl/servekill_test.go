//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"opl/policies/features"
	"opl/policies/policyfile"
)

// decided is what a server answers.
type decided struct {
	ID         string  `json:"decision_id"`
	Name       string  `json:"action_name"`
	Propensity float64 `json:"propensity"`
	Hash       string  `json:"policy_hash"`
}

// served is a server with its log in a folder, and what it has answered in all its lives.
type served struct {
	t                  *testing.T
	folder, log, archi string
	full               string // takes the room of the disk; "": the disk is no small one
	client             *http.Client
	url                string
	cmd                *exec.Cmd
	stderr             bytes.Buffer
	n                  atomic.Int64 // answered in this life
	refused            atomic.Int64 // 503 in this life
	mu                 sync.Mutex
	answered           map[string]decided
	last               []string // ids of the last life
}

// policy writes a policy whose hash depends on its number.
func (s *served) policy(name string, number int) {
	e, err := features.New(features.Encoder{Names: []string{"age"}, Scale: []float64{0.1}, Intercept: true})
	if err != nil {
		s.t.Fatal(err)
	}
	f := &policyfile.File{Floor: 0.1, RewardMax: 1, Actions: []string{"left", "middle", "right"}, Components: []policyfile.Component{{
		Weight: 1, Kind: policyfile.Softmax, Encoder: e, Weights: policyfile.Matrix{{0.1, float64(number)}, {0, 1}, {0, 0}}}}}
	if err := policyfile.Save(filepath.Join(s.folder, name), f); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) start(args ...string) {
	s.t.Helper()
	addr := filepath.Join(s.folder, "addr")
	_ = os.Remove(addr) // there is none before the first
	s.cmd = exec.Command("opl", append([]string{"serve", "policy.json", "--listen", "127.0.0.1:0", "--address-file", "addr", "--log", s.log}, args...)...)
	s.cmd.Dir, s.cmd.Stderr = s.folder, &s.stderr
	s.stderr.Reset()
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if b, err := os.ReadFile(addr); err == nil {
			s.url = "http://" + strings.TrimSpace(string(b))
			break
		}
		if time.Now().After(end) {
			s.kill()
			s.t.Fatalf("no server: %s", &s.stderr)
		}
	}
	s.n.Store(0)
	s.refused.Store(0)
}

func (s *served) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // killed
	s.client.CloseIdleConnections()
}

// ask asks by an id; ok is a decision, err the server's end.
func (s *served) ask(id string, age int) (d decided, ok bool, err error) {
	resp, err := s.client.Post(s.url+"/decide", "application/json", strings.NewReader(fmt.Sprintf(`{"decision_id":%q,"context":{"age":%d}}`, id, age)))
	if err != nil {
		return d, false, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return d, false, err
	case resp.StatusCode == http.StatusServiceUnavailable:
		s.refused.Add(1)
		time.Sleep(time.Millisecond)
		return d, false, nil
	case resp.StatusCode != http.StatusOK:
		s.t.Errorf("%s: %s: %s", id, resp.Status, b)
		return d, false, io.ErrUnexpectedEOF
	}
	if err = json.Unmarshal(b, &d); err != nil {
		s.t.Errorf("%s: %s: %v", id, b, err)
	}
	return d, err == nil, err
}

// load asks from 8 clients until the server is gone.
func (s *served) load(round int) *sync.WaitGroup {
	wg := new(sync.WaitGroup)
	s.last = nil
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d/%d/%d", round, g, i)
				d, ok, err := s.ask(id, g)
				if err != nil {
					return
				}
				if ok {
					s.mu.Lock()
					s.answered[id] = d
					s.last = append(s.last, id)
					s.mu.Unlock()
					s.n.Add(1)
				}
			}
		})
	}
	return wg
}

// until waits for a condition, for as long as a server may need.
func (s *served) until(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Errorf("never %s: %s", what, &s.stderr)
			return
		}
	}
}

// more waits for so many answers from now on.
func (s *served) more(n int64) {
	s.t.Helper()
	want := s.n.Load() + n
	s.until(fmt.Sprintf("%d more answers", n), func() bool { return s.n.Load() >= want })
}

func (s *served) must(errs ...error) {
	s.t.Helper()
	for _, err := range errs {
		if err != nil {
			s.t.Error(err)
		}
	}
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

// store moves away what the log was renamed to, as who joins it would.
func (s *served) store(round int) {
	files, err := filepath.Glob(s.log + ".*")
	s.must(err)
	for _, f := range files {
		if filepath.Ext(f) == ".torn" {
			continue
		}
		s.must(copyFile(f, filepath.Join(s.archi, fmt.Sprintf("%06d-%s", round, filepath.Base(f)))), os.Remove(f))
	}
}

// What may befall a server before it is killed.
var befalls = []struct {
	name string
	max  string // bytes of a log that is renamed
	do   func(s *served, r *rand.Rand, round int)
}{
	{"nothing", "30000", func(*served, *rand.Rand, int) {}},
	{"reload", "30000", func(s *served, r *rand.Rand, round int) {
		for range 1 + r.IntN(3) {
			s.policy("policy.json", 2*round+r.IntN(2))
			s.must(s.cmd.Process.Signal(syscall.SIGHUP))
			s.more(int64(r.IntN(20)))
		}
	}},
	{"a bad reload", "30000", func(s *served, r *rand.Rand, round int) {
		path := filepath.Join(s.folder, "policy.json")
		b, err := os.ReadFile(path)
		s.must(err, os.WriteFile(path, b[:r.IntN(len(b))], 0o600), s.cmd.Process.Signal(syscall.SIGHUP))
		s.more(int64(r.IntN(20)))
		s.must(os.WriteFile(path, b, 0o600))
	}},
	{"renamed", "30000", func(s *served, r *rand.Rand, round int) {
		err := os.Rename(s.log, s.log+".1")
		if os.IsNotExist(err) { // it is being renamed
			return
		}
		s.must(err)
		if r.IntN(2) == 0 {
			s.must(s.cmd.Process.Signal(syscall.SIGUSR1))
		}
		s.more(int64(r.IntN(20)))
	}},
	{"full", "30000", func(s *served, r *rand.Rand, round int) {
		if s.full == "" {
			return
		}
		fill, err := os.Create(s.full)
		s.must(err)
		_, err = io.Copy(fill, io.LimitReader(zeros{}, 1<<30))
		if err == nil {
			s.t.Error("the disk is not full")
		}
		s.must(fill.Close())
		s.until("full", func() bool { return s.refused.Load() > 0 })
		if resp, err := http.Get(s.url + "/healthz"); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			s.t.Errorf("full: /healthz answers %v, %v", resp, err)
		} else {
			s.must(resp.Body.Close())
		}
		if r.IntN(3) > 0 { // else it is killed so
			s.must(os.Remove(s.full))
			s.more(1)
		}
	}},
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// Killed again and again, with its log renamed when it is full, or by others, with
// reloads, canaries and full disks, a server loses no decision that it answered, gives it again
// to who asks again after a restart, and its logs join. OPL_LONG=1 kills it a thousand times. For full disks it
// mounts a small file system, which needs an administrator; who is none goes without, and it is said.
func TestServeKilled(t *testing.T) {
	kills := 12
	if os.Getenv("OPL_LONG") != "" {
		kills = 1000
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	s := &served{t: t, folder: t.TempDir(), archi: t.TempDir(), answered: map[string]decided{}, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	small := filepath.Join(s.folder, "small")
	s.must(os.Mkdir(small, 0o700))
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=32m"); err == nil {
		s.full = filepath.Join(small, "filler")
		t.Cleanup(func() { s.must(syscall.Unmount(small, syscall.MNT_DETACH)) })
	} else {
		t.Logf("without full disks: no file system can be mounted: %v", err)
	}
	s.log = filepath.Join(small, "served.jsonl")
	s.policy("policy.json", 0)
	s.policy("next.json", -7)
	did, what := map[string]int{}, map[int]string{}
	refused := int64(0)
	before := false // was there a canary
	for round := range kills {
		b := befalls[r.IntN(len(befalls))]
		did[b.name]++
		what[round] = b.name
		args := []string{"--fsync", []string{"interval", "never", "each"}[r.IntN(3)], "--log-max-bytes", b.max}
		if r.IntN(3) == 0 {
			args = append(args, "--canary", "next.json", "--canary-share", "0.3")
			did["canary"]++
		}
		if s.full != "" && slices.Contains(args, "--canary") && !before { // the disk has no room for the file of a new mixture
			_ = os.Remove(s.full) // if it is there
		}
		before = slices.Contains(args, "--canary")
		s.start(args...)
		if s.full != "" {
			_ = os.Remove(s.full)
		}
		// Who asks again gets the same.
		for _, id := range s.last[max(0, len(s.last)-4):] {
			var again decided
			s.until("answered again", func() (ok bool) {
				var err error
				again, ok, err = s.ask(id, int(id[strings.Index(id, "/")+1]-'0'))
				return ok || err != nil
			})
			if again != s.answered[id] {
				t.Errorf("%s was answered %+v, and now %+v", id, s.answered[id], again)
			}
		}
		s.store(round)
		wg := s.load(round)
		s.more(int64(r.IntN(100)))
		b.do(s, r, round)
		time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
		s.kill()
		wg.Wait()
		refused += s.refused.Load()
		if t.Failed() {
			t.Fatalf("round %d, seed %d, %s: %s", round, seed, b.name, &s.stderr)
		}
	}
	s.store(kills)
	files, err := filepath.Glob(filepath.Join(s.archi, "*"))
	s.must(err)
	if _, err := os.Stat(s.log); err == nil { // else it was stored last, and nothing was decided since
		files = append(files, s.log)
	}
	bytes := int64(0)
	for _, f := range files {
		info, err := os.Stat(f)
		s.must(err)
		bytes += info.Size()
	}
	s.must(os.WriteFile(filepath.Join(s.folder, "rewards.csv"), []byte("decision_id,reward\nnone,1\n"), 0o600))
	cmd := exec.Command("opl", slices.Concat([]string{"join"}, files, []string{"rewards.csv", "--missing-reward", "0", "--out", "joined.jsonl"})...)
	cmd.Dir = s.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	} else {
		t.Logf("%s", out)
	}
	joined, err := os.Open(filepath.Join(s.folder, "joined.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer joined.Close()
	rows := 0
	for in := bufio.NewScanner(joined); in.Scan(); rows++ {
		var d struct {
			ID         string  `json:"decision_id"`
			Action     string  `json:"action"`
			Propensity float64 `json:"propensity"`
			Policy     string  `json:"policy"`
		}
		s.must(json.Unmarshal(in.Bytes(), &d))
		if a, was := s.answered[d.ID]; was && a != (decided{d.ID, d.Action, d.Propensity, d.Policy}) {
			t.Errorf("%s: answered %+v, joined %+v", d.ID, a, d)
		}
		delete(s.answered, d.ID)
	}
	t.Logf("seed %d: %d kills, %v; %d decisions in %d files of %d bytes, %d answers of 503", seed, kills, did, rows, len(files), bytes, refused)
	for id, a := range s.answered {
		var round int
		_, err := fmt.Sscan(strings.Split(id, "/")[0], &round)
		t.Errorf("%+v is in no log: answered before %s, %v", a, what[round], err)
	}
}
