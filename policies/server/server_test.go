package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
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

	"opl/graph/kernel"
	"opl/policies/features"
	"opl/policies/policyfile"
	"opl/policies/wholefile"
)

// child, if set, is the folder that the test binary serves in, until it is killed.
const child = "OPL_SERVER_CHILD"

func TestMain(m *testing.M) {
	if folder := os.Getenv(child); folder != "" {
		serveUntilKilled(folder)
	}
	os.Exit(m.Run())
}

func testPolicy(t testing.TB, k, d int, change func(*policyfile.File)) *policyfile.Policy {
	t.Helper()
	var e features.Encoder
	for j := range d {
		e.Names = append(e.Names, fmt.Sprintf("x_%d", j))
		e.Scale = append(e.Scale, 1)
	}
	e.Names, e.Scale = append(e.Names, "city=Oslo", "city=Bern"), append(e.Scale, 1, 1)
	e.Intercept, e.Unit = true, true
	made, err := features.New(e)
	if err != nil {
		t.Fatal(err)
	}
	f := &policyfile.File{Floor: 0.01, RewardMax: 1, Components: []policyfile.Component{{Weight: 1, Kind: policyfile.Gaussian, Sigma: 0.3, Encoder: made}}}
	c := &f.Components[0]
	for a := range k {
		f.Actions = append(f.Actions, fmt.Sprintf("a\"%d", a))
		row := make([]float64, made.Dim())
		for j := range row {
			row[j] = math.Sin(float64(a*31 + j*7))
		}
		c.Weights = append(c.Weights, row)
	}
	if change != nil {
		change(f)
	}
	p, err := policyfile.New(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func testLog(t testing.TB) *Log {
	t.Helper()
	l, err := OpenLog(filepath.Join(t.TempDir(), "log.jsonl"), LogOptions{Fsync: FsyncNever})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func testServer(t testing.TB, p *policyfile.Policy, c Config) (*Server, *Log) {
	t.Helper()
	l := testLog(t)
	s, err := New(p, l, c)
	if err != nil {
		t.Fatal(err)
	}
	return s, l
}

func do(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, asked(method, path, strings.NewReader(body)))
	return w
}

// asked is a request as clients send it.
func asked(method, path string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, path, body)
	r.Host = "localhost:8080"
	r.Header.Set("Content-Type", "application/json")
	return r
}

type answer struct {
	ID           string    `json:"decision_id"`
	Action       int       `json:"action"`
	Name         string    `json:"action_name"`
	Propensity   float64   `json:"propensity"`
	Propensities []float64 `json:"propensities"`
	Unknown      int       `json:"unknown"`
	Hash         string    `json:"policy_hash"`
}

type line struct {
	ID           string         `json:"decision_id"`
	Time         time.Time      `json:"timestamp"`
	Context      map[string]any `json:"context"`
	Group        string         `json:"group"`
	Action       string         `json:"action"`
	Propensity   float64        `json:"propensity"`
	Propensities []float64      `json:"propensities"`
	Actions      []string       `json:"actions"`
	Unknown      int            `json:"unknown"`
	Hash         string         `json:"policy_hash"`
}

func unsealed(t testing.TB, b []byte) []byte {
	t.Helper()
	object, sealed, err := wholefile.Unseal(bytes.TrimSuffix(b, []byte("\n")))
	if !sealed || err != nil {
		t.Fatalf("%s: sealed %t, %v", b, sealed, err)
	}
	return object
}

func strict(t testing.TB, b []byte, v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
}

// lines reads a log of whole lines.
func lines(t testing.TB, path string) (all []line) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 0 && b[len(b)-1] != '\n' {
		t.Fatalf("the last line is torn: %q", b[max(0, len(b)-80):])
	}
	for raw := range bytes.Lines(b) {
		var l line
		strict(t, unsealed(t, raw), &l)
		all = append(all, l)
	}
	return all
}

func TestDecide_DrawsFromItsPropensitiesAndLogsThem(t *testing.T) {
	p := testPolicy(t, 3, 2, func(f *policyfile.File) {
		c := &f.Components[0]
		c.Encoder.Names, c.Encoder.Scale = append(c.Encoder.Names, "geo.lat", "zip=123", "vip=true"), append(c.Encoder.Scale, 1, 1, 1)
		for a := range c.Weights {
			c.Weights[a] = append(c.Weights[a], .1, -.2, .3*float64(a))
		}
	})
	s, l := testServer(t, p, Config{Seed: new(uint64)})
	for i, c := range []struct {
		body    string
		values  []features.Value
		context string
		id      string
		unknown int
	}{
		{`{"context":{"x_0":1.5,"x_1":-2e0}}`, []features.Value{{Name: "x_0", Number: 1.5}, {Name: "x_1", Number: -2}}, `{"x_0":1.5,"x_1":-2e0}`, "", 0},
		{" {\n\"decision_id\" : \"ord\\u00e9r\\n1\",\t\"context\" : { \"x_0\" : 3 , \"city\":\"Bern\" } } ", []features.Value{{Name: "x_0", Number: 3}, {Name: "city=Bern", Number: 1}}, `{"x_0":3,"city":"Bern"}`, "ordér\n1", 0},
		{`{"context":{"x_0":1},"decision_id":"\ud83d\ude00!"}`, []features.Value{{Name: "x_0", Number: 1}}, `{"x_0":1}`, "😀!", 0},
		{`{"context":[1,2,0,1,0,0,0]}`, []features.Value{{Name: "x_0", Number: 1}, {Name: "x_1", Number: 2}, {Name: "city=Bern", Number: 1}}, `{"x_0":1,"x_1":2,"city=Oslo":0,"city=Bern":1,"geo.lat":0,"zip=123":0,"vip=true":0}`, "", 0},
		{`{"context":{}}`, nil, `{}`, "", 0},
		{`{"context":{"x_0":true,"x_1":false,"extra":"\u00e9\"","city":null}}`, []features.Value{{Name: "x_0", Number: 1}}, `{"x_0":1,"x_1":0,"extra":"\u00e9\"","city":null}`, "", 1},
		{`{"context":{"geo":{"l\u0061t":2.5,"x":[true,{}]},"zip":123,"vip":true,"city":""}}`, []features.Value{{Name: "geo.lat", Number: 2.5}, {Name: "zip=123", Number: 1}, {Name: "vip=true", Number: 1}}, `{"geo.l\u0061t":2.5,"geo.x.0":true,"zip":"123","vip":true,"city":""}`, "", 1},
		{`{"context":{"city":"Rome","x_\u0030":1}}`, []features.Value{{Name: "x_0", Number: 1}}, `{"city":"Rome","x_\u0030":1}`, "", 1},
	} {
		w := do(s, "POST", "/decide", c.body)
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%s: %d %s", c.body, w.Code, w.Body)
		}
		var a answer
		strict(t, w.Body.Bytes(), &a)
		want := make([]float64, 3)
		if err := p.Propensities(want, c.values); err != nil {
			t.Fatal(err)
		}
		for j, v := range a.Propensities {
			if v != want[j] {
				t.Errorf("%s: propensities %v, want %v", c.body, a.Propensities, want)
			}
		}
		if c.id != "" && a.ID != c.id || a.ID == "" || a.Propensity != want[a.Action] || a.Name != p.Actions()[a.Action] || a.Hash != p.Hash() || a.Unknown != c.unknown {
			t.Errorf("%s: answer %+v", c.body, a)
		}
		all := lines(t, l.path)
		if len(all) != i+1 {
			t.Fatalf("%d lines after %d decisions", len(all), i+1)
		}
		got := all[i]
		if got.ID != a.ID || got.Action != a.Name || got.Propensity != a.Propensity || fmt.Sprint(got.Propensities) != fmt.Sprint(a.Propensities) ||
			got.Hash != a.Hash || got.Unknown != c.unknown || fmt.Sprint(got.Actions) != fmt.Sprint(p.Actions()) || time.Since(got.Time) > time.Minute {
			t.Errorf("%s: line %+v of answer %+v", c.body, got, a)
		}
		b, _ := os.ReadFile(l.path)
		if !strings.Contains(string(b), `"context":`+c.context+`,`) {
			t.Errorf("%s: logged %s, want the context %s", c.body, b, c.context)
		}
	}
}

func TestServer_RefusesBadRequests(t *testing.T) {
	s, l := testServer(t, testPolicy(t, 3, 2, nil), Config{MaxBody: 2000})
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/", "", 404, "no such path"},
		{"GET", "/decide", "", 405, "want POST"},
		{"DELETE", "/metrics", "", 405, "want GET"},
		{"POST", "/decide", "", 400, "the body: want a JSON object"},
		{"POST", "/decide", "x", 400, "the body: want a JSON object"},
		{"POST", "/decide", "{}", 400, "context: missing"},
		{"POST", "/decide", `{"context":{}`, 400, "ends"},
		{"POST", "/decide", `{"context":{}}{}`, 400, "more follows"},
		{"POST", "/decide", `{"context":{},}`, 400, "the body: invalid character ','"},
		{"POST", "/decide", `{"context":{},"context":{}}`, 400, "context: comes twice"},
		{"POST", "/decide", `{"contxt":{}}`, 400, `"contxt": unknown field`},
		{"POST", "/decide", `{"context":3}`, 400, "context: want an object"},
		{"POST", "/decide", `{"context":{"x_0":[1]}}`, 400, "none of its 1 names"},
		{"POST", "/decide", `{"context":{"x_1":1,"x_0":[1}}`, 400, "context.x_0: invalid character '}' after array element"},
		{"POST", "/decide", `{"context":{"x_0":` + strings.Repeat("[", 40), 400, "deeper than 32"},
		{"POST", "/decide", `{"context":{"geo":{"lat":1},"geo.lat":1}}`, 400, "context.geo.lat: comes twice"},
		{"POST", "/decide", `{"context":{"x_0":"1"}}`, 400, "context.x_0: a string"},
		{"POST", "/decide", `{"context":{"x_0":1e999}}`, 400, "context.x_0: 1e999 is out of range"},
		{"POST", "/decide", `{"context":{"x_0":NaN}}`, 400, "context.x_0: invalid character 'N'"},
		{"POST", "/decide", `{"context":{"x_0":01}}`, 400, "context: invalid character '1'"},
		{"POST", "/decide", `{"context":{"x_0":1.}}`, 400, "context.x_0: invalid character '}' in number"},
		{"POST", "/decide", `{"context":{"x_0":-}}`, 400, "context.x_0: invalid character '}' in number"},
		{"POST", "/decide", `{"context":{"x_0":1,"x_0":1}}`, 400, "context.x_0: comes twice"},
		{"POST", "/decide", `{"context":{"x_0":1,"y":1,"y":1}}`, 400, "context.y: comes twice"},
		{"POST", "/decide", `{"context":{"city":"Oslo","city=Oslo":1}}`, 400, "city=Oslo: comes twice"},
		{"POST", "/decide", `{"context":{"city":"Oslo","city":"Bern"}}`, 400, "context.city: comes twice"},
		{"POST", "/decide", `{"context":{"y":1}}`, 400, "none of its 1 names is one of the policy's: x_0, x_1, city"},
		{"POST", "/decide", `{"context":{"x_0" 1}}`, 400, "expecting ':'"},
		{"POST", "/decide", `{"context":{"x_0":1 "x_1":1}}`, 400, "expecting ',' or '}'"},
		{"POST", "/decide", `{"context":[1,2]}`, 400, "a list of 2 values, the policy has 4"},
		{"POST", "/decide", `{"context":[1,2,3,4,5]}`, 400, "a list of 5 values"},
		{"POST", "/decide", `{"context":[1,"2",0,0]}`, 400, "context[1]: want a number"},
		{"POST", "/decide", `{"context":[1,2,0,0`, 400, "ends"},
		{"POST", "/decide", `{"context":[1,2,0,0,]}`, 400, "context: invalid character ','"},
		{"POST", "/decide", `{"context":{},"decision_id":7}`, 400, "decision_id: want a string"},
		{"POST", "/decide", `{"context":{},"decision_id":""}`, 400, "decision_id: 0 bytes"},
		{"POST", "/decide", `{"context":{},"decision_id":"` + strings.Repeat("x", 257) + `"}`, 400, "decision_id: 257 bytes"},
		{"POST", "/decide", `{"context":{},"decision_id":"a`, 400, "decision_id: the JSON ends"},
		{"POST", "/decide", `{"context":{},"decision_id":"\x"}`, 400, "escape"},
		{"POST", "/decide", `{"context":{},"decision_id":"\u12g4"}`, 400, "escape"},
		{"POST", "/decide", `{"context":{},"decision_id":"\u12`, 400, "the JSON ends"},
		{"POST", "/decide", `{"context":{},"decision_id":"a\u0000"}`, 400, "decision_id: the character zero"},
		{"POST", "/decide", `{"context":{"city":"\u0000"}}`, 400, "context.city: the character zero"},
		{"POST", "/decide", `{"context":{"\u0000":1}}`, 400, "the character zero"},
		{"POST", "/decide", `{"context":{},"decision_id":"\ud83d"}`, 400, "decision_id: invalid surrogate pair"},
		{"POST", "/decide", `{"context":{},"decision_id":"\ud83d\u0041"}`, 400, "decision_id: invalid surrogate pair"},
		{"POST", "/decide", `{"context":{},"decision_id":"\ude00\ud83d"}`, 400, "decision_id: invalid surrogate pair"},
		{"POST", "/decide", `{"context":{},"decision_id":"\ud83d\u`, 400, "the JSON ends"},
		{"POST", "/decide", "{\"context\":{},\"decision_id\":\"a\nb\"}", 400, "control character"},
		{"POST", "/decide", "{\"context\":{\"\xff\":1}}", 400, "UTF-8"},
		{"POST", "/decide", "\x00", 400, "the body"},
		{"POST", "/decide", strings.Repeat(" ", 3000), 413, "larger than 2000"},
	} {
		w := do(s, c.method, c.path, c.body)
		var e struct{ Error string }
		strict(t, w.Body.Bytes(), &e)
		if w.Code != c.status || !strings.Contains(e.Error, c.want) {
			t.Errorf("%s %s %.60q: %d %q, want %d %q", c.method, c.path, c.body, w.Code, e.Error, c.status, c.want)
		}
	}
	// Chunked bodies have no length to refuse beforehand.
	r := asked("POST", "/decide", io.MultiReader(strings.NewReader(strings.Repeat(" ", 3000))))
	r.ContentLength = -1
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 413 {
		t.Errorf("a chunked body too large: %d", w.Code)
	}
	if n := len(lines(t, l.path)); n != 0 {
		t.Errorf("%d bad requests are in the log", n)
	}
	b := do(s, "GET", "/metrics", "").Body.String()
	for _, want := range []string{`opl_errors_total{kind="path"} 1`, `opl_errors_total{kind="method"} 2`, `opl_errors_total{kind="too_large"} 2`, "opl_decisions_total 0"} {
		if !strings.Contains(b, want+"\n") {
			t.Errorf("metrics lack %q:\n%s", want, b)
		}
	}
}

func TestStrict_RefusesUnknownAndMissingValues(t *testing.T) {
	s, _ := testServer(t, testPolicy(t, 3, 2, nil), Config{Strict: true})
	for body, want := range map[string]string{
		`{"context":{"x_0":1,"city":"Oslo","x_1":2,"y":1}}`: "context.y: the policy does not know the name",
		`{"context":{"x_0":1,"x_1":2,"city":"Rome"}}`:       `context.city: the policy does not know the category \"Rome\"`,
		`{"context":{"x_0":1,"city":"Oslo"}}`:               "context.x_1: missing",
		`{"context":{"x_0":1,"x_1":2}}`:                     "context.city: missing",
		`{"context":{"x_0":1,"x_1":2,"city":null}}`:         "",
		`{"context":{"x_0":1,"1":2,"city":"Oslo"}}`:         "",
	} {
		t.Run(body, func(t *testing.T) {
			switch w := do(s, "POST", "/decide", body); {
			case want == "" && w.Code != 200, want != "" && (w.Code != 400 || !strings.Contains(w.Body.String(), want)):
				t.Errorf("%d %s, want %s", w.Code, w.Body, want)
			}
		})
	}
}

// The log's failure is the client's to know: no decision is answered.
func TestDecide_FailsWhenTheLogFails(t *testing.T) {
	s, l := testServer(t, testPolicy(t, 2, 1, nil), Config{})
	if w := do(s, "GET", "/healthz", ""); w.Code != 200 || !strings.Contains(w.Body.String(), s.Hash()) {
		t.Errorf("healthz: %d %s", w.Code, w.Body)
	}
	l.segment.f.Close()
	if w := do(s, "POST", "/decide", `{"context":{"x_0":1}}`); w.Code != 503 || !strings.Contains(w.Body.String(), "could not be logged") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(s, "GET", "/healthz", ""); w.Code != 503 {
		t.Errorf("healthz: %d %s", w.Code, w.Body)
	}
}

func TestMetrics_CountDecisionsAndUnknownValues(t *testing.T) {
	s, _ := testServer(t, testPolicy(t, 2, 1, nil), Config{})
	for range 3 {
		do(s, "POST", "/decide", `{"context":{"x_0":1,"z":0}}`)
	}
	s.Reloaded(nil)
	b := do(s, "GET", "/metrics", "").Body.String()
	for _, want := range []string{"opl_decisions_total 3", "opl_unknown_values_total 3", `opl_decide_seconds_bucket{le="+Inf"} 3`, "opl_decide_seconds_count 3",
		"opl_log_lines_total 3", `opl_reloads_total{result="ok"} 1`, `opl_policy_info{hash="` + s.Hash() + `",kind="gaussian"} 1`, "opl_in_flight_requests 0"} {
		if !strings.Contains(b, want+"\n") {
			t.Errorf("metrics lack %q:\n%s", want, b)
		}
	}
}

// started serves on a port of its own until the test ends.
func started(t *testing.T, s *Server) (url string, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { stop() })
	return "http://" + l.Addr().String(), stop
}

// slow is a body that ends when told to.
type slow struct{ end chan struct{} }

func (s slow) Read(b []byte) (int, error) {
	<-s.end
	return copy(b, "not JSON"), io.EOF
}

func TestServer_RefusesOverloadAndDrains(t *testing.T) {
	s, _ := testServer(t, testPolicy(t, 2, 1, nil), Config{MaxInFlight: 1})
	url, stop := started(t, s)
	end := make(chan struct{})
	first := make(chan int)
	go func() {
		resp, err := http.Post(url+"/decide", "application/json", slow{end})
		if err != nil {
			t.Error(err)
			first <- 0
			return
		}
		resp.Body.Close()
		first <- resp.StatusCode
	}()
	for s.metrics.inFlight.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	resp, err := http.Post(url+"/decide", "application/json", strings.NewReader(`{"context":{"x_0":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the second request at a time: %s", resp.Status)
	}
	// The request under way is answered although the server stops.
	stopped := make(chan error)
	go func() { stopped <- stop() }()
	time.Sleep(20 * time.Millisecond)
	close(end)
	if code := <-first; code != 400 {
		t.Errorf("the request under way: %d", code)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestTimeout_EndsARequestWhoseBodyDoesNotCome(t *testing.T) {
	s, _ := testServer(t, testPolicy(t, 2, 1, nil), Config{Timeout: time.Second})
	url, _ := started(t, s)
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST /decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: 100\r\n\r\n{")
	c.SetDeadline(time.Now().Add(time.Minute))
	if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 408 ") || !strings.Contains(string(b), "the body did not come within 1s") {
		t.Errorf("a body that does not come: %q, %v", b, err)
	}
}

func TestServer_LimitsConnections(t *testing.T) {
	s, _ := testServer(t, testPolicy(t, 2, 1, nil), Config{MaxConns: 1})
	url, _ := started(t, s)
	host := strings.TrimPrefix(url, "http://")
	first, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	second, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if b, _ := io.ReadAll(second); string(b) != tooMany {
		t.Errorf("the second connection reads %q", b)
	}
	first.Close()
	for end := time.Now().Add(5 * time.Second); ; {
		resp, err := http.Get(url + "/healthz")
		if err == nil && resp.StatusCode == 200 {
			resp.Body.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after the first closed: %v, %v", resp, err)
		}
	}
	if s.metrics.refused.Load() == 0 {
		t.Error("nothing is counted as refused")
	}
}

// A log of decisions among other actions is refused at the start, as on a reload.
func TestServer_RefusesALogOfOtherActions(t *testing.T) {
	s, l := testServer(t, testPolicy(t, 3, 2, nil), Config{})
	if w := do(s, "POST", "/decide", `{"context":{}}`); w.Code != 200 {
		t.Fatal(w.Body)
	}
	b, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	for k, want := range map[int]string{3: "", 4: "among other actions"} {
		again, err := OpenLog(path, LogOptions{Fsync: FsyncNever})
		if err != nil {
			t.Fatal(err)
		}
		_, err = New(testPolicy(t, k, 2, nil), again, Config{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d actions: %v", k, err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Reloads under load fail no request; answers are by a policy that was there.
func TestReload_FailsNoRequest(t *testing.T) {
	one := testPolicy(t, 3, 2, nil)
	two := testPolicy(t, 3, 2, func(f *policyfile.File) { f.Floor = 0.5 })
	s, l := testServer(t, one, Config{})
	if err := s.Reload(testPolicy(t, 4, 2, nil)); err == nil || !strings.Contains(err.Error(), "other actions") || s.Hash() != one.Hash() {
		t.Errorf("other actions: %v", err)
	}
	url, _ := started(t, s)
	var done atomic.Bool
	var wg sync.WaitGroup
	var hashes sync.Map
	var n atomic.Int64
	for range 4 {
		wg.Go(func() {
			for !done.Load() {
				a, err := post(http.DefaultClient, url, `{"context":{"x_0":1}}`)
				if err != nil {
					t.Error(err)
					return
				}
				n.Add(1)
				hashes.Store(a.Hash, true)
				if least := 0.01 / 3; a.Hash == two.Hash() {
					least = 0.5 / 3
					if min(a.Propensities[0], a.Propensities[1], a.Propensities[2]) < least {
						t.Errorf("propensities %v are not of the policy named", a.Propensities)
					}
				}
			}
		})
	}
	for i := range 50 {
		if err := s.Reload([]*policyfile.Policy{two, one}[i%2]); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Millisecond)
	}
	done.Store(true)
	wg.Wait()
	for _, p := range []*policyfile.Policy{one, two} {
		if _, ok := hashes.Load(p.Hash()); !ok {
			t.Errorf("policy %.8s never answered", p.Hash())
		}
	}
	if got := len(lines(t, l.path)); got != int(n.Load()) {
		t.Errorf("%d lines of %d answers", got, n.Load())
	}
}

func post(c *http.Client, url, body string) (a answer, err error) {
	resp, err := c.Post(url+"/decide", "application/json", strings.NewReader(body))
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != 200 {
		err = fmt.Errorf("%s: %s", resp.Status, b)
	}
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	return a, err
}

// serveUntilKilled is the child of TestServer_LosesNoAnsweredDecisionWhenKilled.
func serveUntilKilled(folder string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	p, err := policyfile.Load(filepath.Join(folder, "policy.json"))
	fail(err)
	l, err := OpenLog(filepath.Join(folder, "log.jsonl"), LogOptions{Fsync: FsyncInterval})
	fail(err)
	s, err := New(p, l, Config{})
	fail(err)
	n, err := net.Listen("tcp", "127.0.0.1:0")
	fail(err)
	fmt.Println(n.Addr())
	fail(s.Serve(context.Background(), n))
	os.Exit(0)
}

// A server killed while it writes loses no decision that it answered, and its log
// opens again.
func TestServer_LosesNoAnsweredDecisionWhenKilled(t *testing.T) {
	folder := t.TempDir()
	if err := policyfile.Save(filepath.Join(folder, "policy.json"), testPolicy(t, 10, 50, nil).File()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "log.jsonl")
	var mu sync.Mutex
	answered := map[string]answer{}
	rounds := 4
	if os.Getenv("OPL_LONG") != "" {
		rounds = 100
	}
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), child+"="+folder)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var addr string
		if _, err := fmt.Fscan(out, &addr); err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
		var wg sync.WaitGroup
		var n atomic.Int64
		for g := range 8 {
			wg.Go(func() {
				for i := 0; ; i++ {
					a, err := post(client, "http://"+addr, fmt.Sprintf(`{"context":{"x_0":%d,"x_7":0.25},"decision_id":"%d-%d-%d"}`, i, round, g, i))
					if err != nil {
						return // killed
					}
					n.Add(1)
					mu.Lock()
					answered[a.ID] = a
					mu.Unlock()
				}
			})
		}
		for n.Load() < int64(200+37*round) {
			time.Sleep(time.Millisecond)
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		cmd.Wait()
		client.CloseIdleConnections()
		// A death within a write(2) is rare; what it would leave:
		if round%2 == 1 {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(f, `{"decision_id":"torn`)
			f.Close()
		}
	}
	l, err := OpenLog(path, LogOptions{Fsync: FsyncNever})
	if err != nil {
		t.Fatal(err)
	}
	if rounds%2 == 0 && l.Torn() == 0 {
		t.Error("the torn line was not seen")
	}
	l.Close()
	logged := map[string]line{}
	for _, l := range lines(t, path) {
		if _, twice := logged[l.ID]; twice {
			t.Errorf("%s is logged twice", l.ID)
		}
		logged[l.ID] = l
	}
	for id, a := range answered {
		if l, ok := logged[id]; !ok || l.Action != a.Name || l.Propensity != a.Propensity {
			t.Errorf("%s was answered by %+v, the log has %+v", id, a, l)
		}
	}
	t.Logf("%d answered, %d logged, %d rounds", len(answered), len(logged), rounds)
}

// No Gorgonia in a server.
func TestServer_DoesNotImportGorgonia(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "opl/policies/server").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "opl/policies/policyfile\n") {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.Contains(string(out), "gorgonia") || strings.Contains(string(out), "opl/graph\n") {
		t.Errorf("the server's imports bring Gorgonia: %s", out)
	}
}

// big is a request of K = 10 actions and 50 features.
func big() string {
	var b strings.Builder
	for j := range 50 {
		fmt.Fprintf(&b, `,"x_%d":%.6f`, j, math.Sin(float64(j)))
	}
	return `{"context":{` + b.String()[1:] + `}}`
}

// layered puts 256 units between the features of a policy and its scores.
func layered(f *policyfile.File) {
	c := &f.Components[0]
	l := features.Layer{Bias: make([]float64, 256), Activation: features.ReLU}
	for o := range l.Bias {
		row := make([]float64, c.Encoder.Dim())
		for j := range row {
			row[j] = math.Sin(float64(o*17 + j*5))
		}
		l.Weights = append(l.Weights, row)
	}
	for a := range c.Weights {
		c.Weights[a] = slices.Clone(l.Bias)
		c.Weights[a][a] = 1
	}
	c.Layers = []features.Layer{l}
}

// convolved puts 8 kernels of 3×3 pixels between the features, a row of pixels, and the scores.
func convolved(f *policyfile.File) {
	c := &f.Components[0]
	l := features.Layer{Activation: features.ReLU, Image: &features.Image{Convolution: kernel.Convolution{Height: 1, Width: c.Encoder.Dim(), Channels: 1, Size: 3, Pad: 2}, Pool: 2}}
	for o := range 8 {
		row := make([]float64, 9)
		for j := range row {
			row[j] = math.Sin(float64(o*17 + j*5))
		}
		l.Weights = append(l.Weights, row)
	}
	for a := range c.Weights {
		c.Weights[a] = make([]float64, l.Out())
		c.Weights[a][a] = 1
	}
	c.Layers = []features.Layer{l}
}

// forested puts 50 trees an action of 16 leaves, beside pieces of 10 features, between the features and the scores.
func forested(f *policyfile.File) {
	c := &f.Components[0]
	in, k := c.Encoder.Dim(), len(c.Weights)
	trees := &features.Forest{In: in, Base: make([]float64, k), Sets: [][]int32{{1, 2, 3}}}
	var grow func(depth int)
	grow = func(depth int) {
		i := len(trees.Feature)
		trees.Feature, trees.Value, trees.Right = append(trees.Feature, -1), append(trees.Value, math.Sin(float64(i))), append(trees.Right, 0)
		if depth == 4 {
			return
		}
		if trees.Feature[i] = int32(i * 31 % in); i%7 == 0 {
			trees.Feature[i], trees.Value[i] = -2, 0
		}
		grow(depth + 1)
		trees.Right[i] = int32(len(trees.Feature) - i)
		grow(depth + 1)
	}
	for t := range 50 * k {
		grow(0)
		trees.Outputs, trees.Sizes = append(trees.Outputs, int32(t%k)), append(trees.Sizes, 31)
	}
	pieces := &features.Pieces{In: in, Keep: []int32{}}
	for j := range 10 {
		pieces.Features, pieces.Knots = append(pieces.Features, int32(j)), append(pieces.Knots, []float64{-1, -.5, 0, .5, 1})
	}
	c.Layers = []features.Layer{{Branches: &features.Branches{In: in, Chains: [][]features.Layer{{{Trees: trees}}, {{Pieces: pieces}}}}}}
	for a := range c.Weights {
		c.Weights[a] = make([]float64, c.Dim())
		c.Weights[a][a] = 1
	}
}

var depths = map[string]func(*policyfile.File){"linear": nil, "256 units": layered, "kernels": convolved, "500 trees": forested}

// All but net/http: parsing, choosing, logging, the answer.
func TestDecide_DoesNotAllocate(t *testing.T) {
	for name, change := range depths {
		s, _ := testServer(t, testPolicy(t, 10, 50, change), Config{})
		k := &work{body: []byte(big())}
		if n := testing.AllocsPerRun(200, func() {
			if _, _, err := s.choose(k, s.current.Load(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}); n > mayAllocate {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	for name, change := range depths {
		b.Run(name, func(b *testing.B) {
			s, _ := testServer(b, testPolicy(b, 10, 50, change), Config{})
			k := &work{body: []byte(big())}
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.choose(k, s.current.Load(), time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	c := newColumns(testPolicy(b, 10, 50, nil).Inputs(), 1<<20)
	var q request
	body := []byte(big())
	b.ReportAllocs()
	for b.Loop() {
		if err := q.parse(body, c); err != nil {
			b.Fatal(err)
		}
	}
}
