package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"opl/graph/kernel"
	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/server"
	"opl/train/experiment"
	"opl/train/logs"
	"opl/train/logs/join"
)

// A kind is a file that is damaged, and what reads it: an error, or what it says in a few words.
type kind struct {
	name string
	text []byte
	// summed: what is read is what was written, or an error, or part of it where the reader says that
	// lines were left out. Else a damage that leaves a file of the format may be read: what it says is
	// then within its domain, which read checks.
	summed bool
	read   func(path string) ([]string, error)
}

// readLog is a log's rows.
func readLog(o logs.Options) func(path string) ([]string, error) {
	return func(path string) (said []string, err error) {
		l, err := logs.Open(context.Background(), path, o)
		if err != nil {
			if !strings.Contains(err.Error(), filepath.Base(path)) || strings.Contains(err.Error(), "\n") {
				return nil, fmt.Errorf("WRONG: no error of one line that names the file: %w", err)
			}
			return nil, err
		}
		defer l.Close()
		var d logs.Decision
		for i := range l.Len() {
			l.Decision(i, &d)
			ok := d.Cost >= -1 && d.Cost <= 0 && d.Action >= 0 && d.Action < l.Options(i) && d.Weight >= 0 && d.Weight-d.Weight == 0 &&
				(l.Propensity == nil || d.Propensity > 0 && d.Propensity <= 1)
			for _, v := range d.Context {
				ok = ok && v.Number-v.Number == 0
			}
			sum := 0.0
			for _, p := range d.Propensities {
				ok, sum = ok && p >= 0, sum+p
			}
			if !ok || d.Propensities != nil && !(sum > 0.9 && sum < 1.1) {
				return nil, fmt.Errorf("WRONG: row %d: %+v", i, d)
			}
			said = append(said, fmt.Sprint(d))
		}
		return said, l.Check()
	}
}

// damaged is a text with some of its bytes changed, cut, doubled or exchanged.
func damaged(r *rand.Rand, text []byte) []byte {
	b := slices.Clone(text)
	for range 1 + r.IntN(3) {
		if len(b) == 0 {
			return b
		}
		i := r.IntN(len(b))
		j := min(len(b), i+1+r.IntN(1+r.IntN(64)))
		switch r.IntN(10) {
		case 0, 1:
			b[i] ^= 1 << r.IntN(8)
		case 2:
			b[i] = byte(r.Uint32())
		case 3: // another digit
			for k := range b {
				if at := (i + k) % len(b); b[at] >= '0' && b[at] <= '9' {
					b[at] = byte('0' + r.IntN(10))
					break
				}
			}
		case 4:
			b = b[:i]
		case 5:
			b = slices.Delete(b, i, j)
		case 6:
			b = slices.Insert(b, i, b[i:j]...)
		case 7:
			clear(b[i:j])
		case 8:
			words := []string{"NaN", "1e999", "-1e308", "18446744073709551616", "2147483647", "\x00", "null", "{", "[[", "\"", "\n", "\xff\xff\xff\xff\xff\xff\xff\x7f", "e9", "-", ","}
			b = slices.Insert(b, i, []byte(words[r.IntN(len(words))])...)
		case 9:
			k := r.IntN(len(b) - (j - i) + 1)
			copy(b[k:], slices.Clone(b[i:j]))
		}
	}
	return b
}

// kinds are all files that are read, beside pictures of the reproduction.
func kinds(t *testing.T, dir string) []kind {
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, name))
		must(err)
		return b
	}
	policy := func(path string) ([]string, error) {
		p, err := policyfile.Load(path)
		if err != nil {
			return nil, err
		}
		b, err := json.Marshal(p.File())
		return []string{p.Hash() + string(b)}, err
	}
	var all []kind
	// Policies.
	e, err := features.New(features.Encoder{Names: []string{"age", "city=Oslo", "b", "c"}, Scale: []float64{1, 2, 1, 1}})
	must(err)
	c := policyfile.Component{Weight: 1, Kind: policyfile.Softmax, Encoder: e, Weights: policyfile.Matrix{{0.1, 0.2, 0.3, 1}, {0, 1, 0, 0.5}, {0, 0, 1, 0}}}
	plain := &policyfile.File{Floor: 0.1, RewardMax: 1, Actions: []string{"x", "y", "z"}, Components: []policyfile.Component{c}}
	conv := &policyfile.File{Floor: 0.1, RewardMax: 1, Actions: plain.Actions, Components: []policyfile.Component{c}}
	conv.Components[0].Layers = []features.Layer{{Activation: features.ReLU, Weights: [][]float64{{0.5, 1, 0, -1}, {1, 0, 0, 1}, {0, 1, 1, 0}, {1, 1, 1, 1}},
		Image: &features.Image{Convolution: kernel.Convolution{Height: 2, Width: 2, Channels: 1, Size: 2}}}}
	z, err := features.New(features.Encoder{Names: []string{"price", "color=red"}, Scale: []float64{1, 1}})
	must(err)
	items, err := features.NewItems(z, nil)
	must(err)
	shop := &policyfile.File{Floor: 0.1, RewardMax: 1, Actions: []string{"p", "q", "r"}, Components: []policyfile.Component{{Weight: 1, Kind: policyfile.Softmax, Encoder: e,
		Items: items, Weights: policyfile.Matrix{{0, -1, 1, 0}, {0, 0.5, 1, 0}}}}}
	shop.Catalogue, err = policyfile.NewCatalogue(shop.Actions, func(a int) []features.Value {
		return []features.Value{{Name: "price", Number: float64(a + 1)}, {Name: "color=red", Number: 1}}
	})
	must(err)
	for name, f := range map[string]*policyfile.File{"policy.json": plain, "conv.json": conv, "shop.json": shop} {
		must(policyfile.Save(filepath.Join(dir, name), f))
		all = append(all, kind{name, read(name), true, policy})
	}
	// Logs of the served policies, and rewards.
	for name, bodies := range map[string][]string{
		"policy.json": {`{"context":{"age":1}}`, `{"context":{"age":2,"city":"Oslo"},"decision_id":"d2"}`, `{"context":{"b":2}}`},
		"shop.json":   {`{"context":{"age":1}}`, `{"context":{"age":2},"top":2,"decision_id":"d2"}`},
	} {
		p, err := policyfile.Load(filepath.Join(dir, name))
		must(err)
		path := filepath.Join(dir, "served-"+name+"l")
		l, err := server.OpenLog(path, server.LogOptions{Fsync: server.FsyncNever})
		must(err)
		s, err := server.New(p, l, server.Config{})
		must(err)
		for _, body := range bodies {
			w, q := httptest.NewRecorder(), httptest.NewRequest("POST", "/decide", strings.NewReader(body))
			q.Host = "localhost"
			q.Header.Set("Content-Type", "application/json")
			if s.ServeHTTP(w, q); w.Code != 200 {
				t.Fatalf("%s: %s", body, w.Body)
			}
		}
		must(l.Close())
		rewards := filepath.Join(dir, "rewards.csv")
		must(os.WriteFile(rewards, []byte("decision_id,reward\nd2,0.5\n"), 0o600))
		all = append(all, kind{filepath.Base(path), read(filepath.Base(path)), true, func(path string) (said []string, err error) {
			r, err := join.ReadRewards(rewards, join.Refuse)
			if err != nil {
				return nil, err
			}
			var bad bytes.Buffer
			l, err := join.Open([]string{path}, join.First, &bad)
			if err != nil {
				return nil, err
			}
			defer l.Close()
			s, err := l.Join(r, func(d *logs.Decision) error {
				d.Row = 0
				d.Unrewarded = 0
				name := ""
				if l.Actions != nil { // of those that were taken, and are left
					name, d.Action = l.Actions[d.Action], 0
				}
				said = append(said, fmt.Sprint(name, *d))
				return nil
			}, join.Options{Duplicates: join.First, Missing: new(float64)})
			if err == nil && s.Plain > 0 { // a line whose checksum's name was damaged: it is said
				return nil, nil
			}
			return said, err
		}})
	}
	served := read("served-policy.jsonl")
	must(os.WriteFile(filepath.Join(dir, "served.keep"), served, 0o600))
	for name, text := range map[string]string{"rewards.csv": "decision_id,reward\nd2,0.5\nd3,1\nd4,\n", "rewards.jsonl": `{"decision_id":"d2","reward":0.5}` + "\n" + `{"decision_id":"d3","reward":null}` + "\n"} {
		all = append(all, kind{name, []byte(text), false, func(path string) (said []string, err error) {
			r, err := join.ReadRewards(path, join.Refuse)
			if err != nil {
				return nil, err
			}
			l, err := join.Open([]string{filepath.Join(dir, "served.keep")}, join.Refuse, nil)
			if err != nil {
				return nil, err
			}
			defer l.Close()
			_, err = l.Join(r, func(d *logs.Decision) error {
				if !(d.Cost >= -1 && d.Cost <= 0) {
					return fmt.Errorf("WRONG: %+v", *d)
				}
				said = append(said, fmt.Sprint(d.Cost))
				return nil
			}, join.Options{Missing: new(float64)})
			return said, err
		}})
	}
	// Logs in every format, and one in the cache.
	var rows []logs.Decision
	for i := range 6 {
		rows = append(rows, logs.Decision{ID: strconv.Itoa(i), Time: time.Unix(int64(1700000000+i), 0), Context: []features.Value{{Name: "x_a", Number: float64(i) / 4}, {Name: "x_b", Number: 1}},
			Action: i % 2, Cost: -float64(i%3) / 2, Propensity: 0.25 + 0.5*float64(i%2), Propensities: []float64{0.25, 0.75}, Weight: 1})
	}
	for _, name := range []string{"log.csv", "log.jsonl", "log.parquet", "log.csv.gz", "log.jsonl.zst"} {
		w, err := logs.Create(filepath.Join(dir, name), logs.WriterOptions{Actions: []string{"l", "r"}, Names: []string{"x_a", "x_b"}})
		must(err)
		for _, d := range rows {
			must(w.Write(&d))
		}
		must(w.Close())
		all = append(all, kind{name, read(name), strings.Contains(name, "csv.gz"), readLog(logs.Options{})})
	}
	all = append(all,
		kind{"log.vw", []byte("1 2:-1:0.4 3 'first |user age:2 male |:0.5 x x:3\n3:0:0.5 1 2 'second|u age:1\n"), false, readLog(logs.Options{})},
		kind{"sets.vw", []byte("shared 't|a x:2\n|b y\n0:-1:0.25 |c z:3\n\nshared | a\n0:0:0.5 'u| b a:2 a:3\n| c\n"), false, readLog(logs.Options{})},
		kind{"log.dsjson", []byte(`{"_label_cost":-1,"_label_probability":0.7,"_label_Action":2,"_labelIndex":1,"EventId":"e","Timestamp":"2020-01-02T03:04:05.6Z","a":[2,1],"p":[0.7,0.3],"c":{"u":{"age":3},"_multi":[{"b":1},{"b":2}]},"pdrop":0.5}` + "\n" +
			`{"_label_cost":0,"_label_probability":0.7,"_labelIndex":0,"EventId":"f","Timestamp":"2020-01-02T03:04:05.6Z","a":[1,2],"p":[0.7,0.3],"c":{"u":{"age":3,"x":1},"_multi":[{"b":2},{"b":1}]},"pdrop":0.5}` + "\n"), false, readLog(logs.Options{})})
	csv := filepath.Join(dir, "cached.csv")
	must(os.WriteFile(csv, read("log.csv"), 0o600))
	cache := filepath.Join(dir, "cached.opl-cache")
	fromCache := readLog(logs.Options{Cache: cache})
	_, err = fromCache(csv)
	must(err)
	all = append(all, kind{"cache", read("cached.opl-cache"), true, func(path string) ([]string, error) {
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(cache, b, 0o600)
		}
		if err != nil {
			return nil, err
		}
		return fromCache(csv)
	}})
	for name, text := range map[string]string{"catalogue.csv": "action,z_a,z_b\nx,1,red\ny,2,blue\n", "catalogue.jsonl": `{"action":"x","z_a":2,"z_b":"c"}` + "\n" + `{"action":"y","z_b":"d","z_a":1e30}` + "\n"} {
		all = append(all, kind{name, []byte(text), false, func(path string) (said []string, err error) {
			c, err := logs.ReadCatalogue(path)
			if err != nil {
				return nil, err
			}
			for a := range c.Actions {
				v := c.Features(a, nil)
				for _, v := range v {
					if v.Number-v.Number != 0 {
						return nil, fmt.Errorf("WRONG: %+v", v)
					}
				}
				said = append(said, c.Actions[a]+fmt.Sprint(v))
			}
			return said, nil
		}})
	}
	// Results.
	must(os.WriteFile(filepath.Join(dir, "g.yaml"), []byte("limit: 60\nepochs: 2\nsamples: 2\nruns:\n  - objectives: [l2]\n  - objectives: [theorem1]\n    weights: [clip, har]\n"), 0o600))
	cmd, stderr := opl(t, dir, "run", "g.yaml", "--out", "runs")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	return append(all, kind{"runs.jsonl", read("runs/runs.jsonl"), true, func(path string) (said []string, err error) {
		at := filepath.Join(dir, "damagedruns")
		b, err := os.ReadFile(path)
		if err == nil {
			err = errors.Join(os.MkdirAll(at, 0o700), os.WriteFile(filepath.Join(at, experiment.ResultsFile), b, 0o600))
		}
		if err != nil {
			return nil, err
		}
		s, err := experiment.ReadStore(at)
		if err != nil {
			return nil, err
		}
		for _, note := range s.Notes() {
			if strings.Contains(note, "no checksum") { // it is said
				return nil, nil
			}
		}
		for _, rec := range s.Records() {
			b, err := json.Marshal(rec)
			if err != nil {
				return nil, err
			}
			said = append(said, string(b))
		}
		return said, nil
	}})
}

// Of files of every kind, damaged at random, none is read as other numbers than were written, where it has a
// checksum, or as numbers that cannot be, where it has none; none ends in a panic, lasts, or takes a gigabyte.
// OPL_LONG=1 damages 100,000.
func TestDamagedFiles_AreNeverReadAsOtherNumbers(t *testing.T) {
	n := 600
	if os.Getenv("OPL_LONG") != "" {
		n = 100_000
	}
	seed := uint64(time.Now().UnixNano())
	all := kinds(t, t.TempDir())
	slices.SortFunc(all, func(a, b kind) int { return strings.Compare(a.name, b.name) })
	dir := t.TempDir()
	for i, k := range all {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		path := filepath.Join(dir, k.name)
		write := func(b []byte) {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(k.text)
		want, err := k.read(path)
		if err != nil || len(want) == 0 {
			t.Fatalf("%s: %v, %v", k.name, want, err)
		}
		refused, same, part, other := 0, 0, 0, 0
		var most time.Duration
		var memory uint64
		for range n / len(all) {
			b := damaged(r, k.text)
			write(b)
			hang := time.AfterFunc(2*time.Minute, func() { panic(fmt.Sprintf("%s: hangs, seed %d: %q", k.name, seed, b)) })
			begin := time.Now()
			said, err := k.read(path)
			hang.Stop()
			most = max(most, time.Since(begin))
			var m runtime.MemStats
			if runtime.ReadMemStats(&m); m.Sys > memory {
				memory = m.Sys
			}
			known := !slices.ContainsFunc(said, func(s string) bool { return !slices.Contains(want, s) })
			switch {
			case err != nil && strings.Contains(err.Error(), "WRONG"):
				t.Errorf("%s: %v of %q", k.name, err, b)
			case err != nil:
				refused++
			case slices.Equal(said, want):
				same++
			case known:
				part++
			default:
				if other++; k.summed {
					t.Errorf("%s: says %q of %q", k.name, said, b)
				}
			}
		}
		t.Logf("%s: of %d, %d refused, %d as written, %d in part, %d otherwise; at most %v", k.name, n/len(all), refused, same, part, other, most.Round(time.Millisecond))
		if memory > 1<<30 {
			t.Errorf("%s: %d bytes of memory", k.name, memory)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
