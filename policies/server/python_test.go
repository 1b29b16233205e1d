package server

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"opl/policies/features"
	"opl/policies/policyfile"
)

// asking decides by server and by file, and says what they answer.
const asking = `
import json, sys
sys.path.insert(0, "../python")
import opl_policy
url, file, cert, elsewhere, plain = sys.argv[1:]
p = opl_policy.load(file)
s = opl_policy.Server(url, token="a-token-of-sixteen", cafile=cert)
contexts = [
    {"0": 1, "1": -2.5, "city": "Oslo"}, {"x_0": .25, "x_1": 1e-3, "city": "Bern"}, {"x_0": True, "city": None, "x_1": ""},
    {"x_0": 1, "city": "Rome"}, {"x_0": 1, "other": {"deep": ["a", 2]}}, {"x_0": 3, "kept": 2}, {"x_0": False, "city": ""}, {"city": "Bern", "x_1": -0.0},
    {"x_0": "1"}, {"x_0": 1, "0": 1}, {"nothing": 1}, {"x_0": 1, "city=Oslo": 1, "city": "Oslo"}, {"x_0": {"x": 1}}, {"city": 5, "x_0": 1}, {"city": True, "x_0": 1}, {"x_2": 1, "kept": 1}, {}, {"x_0": 1, "": 1},
    {"x_0": 1, "k=a": "b"}, {"x_0": 1, "city=": True}, {"x_0": 1, "k=a": ""}, {"x_0": 1, "k=a": 2}, {"x_0": 1, "city": 10**400},
    {"x_0": 1, "city": 2}, {"x_0": 1, "city": 2.0}, {"x_0": 1, "city": "2"}, {"x_0": 1, "city": "2.0"}, {"x_0": 1, "city": 2.5}]
assert (p.propensities(contexts[-5:-1]) == p.propensities(contexts[-4])).all()
for c in contexts:
    a = {}
    try:
        d = s.decide(c)
        a["server"] = d["propensities"]
        assert d["propensities"][d["action"]] == d["propensity"] and d["policy_hash"] == p.hash
    except opl_policy.ServerError as e:
        assert e.status == 400, e
    try:
        a["file"] = p.propensities(c).tolist()
    except opl_policy.Error as e:
        a["error"] = str(e)
    print(json.dumps(dict(a, context=c)))
columns = {"0": [1, .5, None], "x_1": [2, float("nan"), 1e3], "kept": [True, False, True], "city": ["Oslo", None, 2.0], "other": [0, 0, 0]}
rows = [{name: c[i] for name, c in columns.items() if c[i] == c[i]} for i in range(3)]
assert (p.propensities_of(columns) == p.propensities(rows)).all() and len({tuple(r) for r in p.propensities(rows).tolist()}) == 3
assert (p.propensities(opl_policy.np.array([[1, 2, 1, 1, 0]])) == p.propensities(rows[:1])).all()
assert s.decide({"x_0": 1}, decision_id="mine") == s.decide({"x_0": 1}, decision_id="mine")
assert s.policy()["policy_hash"] == p.hash

def fails(with_, f):
    try:
        f()
    except Exception as e:
        assert with_ in "%s: %s" % (type(e).__name__, e), repr(e)
        return
    raise AssertionError(with_)

fails("no city, which the policy reads", lambda: p.propensities_of({"0": [1], "x_1": [1], "x_2": [1]}))
fails("column x_1: not all of it are numbers", lambda: p.propensities_of(dict(columns, x_1=["a", 1, 2])))
fails("all of one length", lambda: p.propensities_of(dict(columns, x_1=[1])))
fails("want [n, 5]", lambda: p.propensities(opl_policy.np.zeros((2, 4))))
fails("want a dictionary", lambda: p.propensities(["x"]))
fails("all of them are offered, always", lambda: p.offered({}, ["a"]))
fails("ServerError: 401", lambda: opl_policy.Server(url, token="another-token-0123", cafile=cert).decide({"x_0": 1}))
fails("CERTIFICATE_VERIFY_FAILED", lambda: opl_policy.Server(url, token="a-token-of-sixteen").decide({"x_0": 1}))
fails("ServerError: 302", lambda: opl_policy.Server(elsewhere, token="a-token-of-sixteen", cafile=cert).decide({"x_0": 1}))
fails("in the clear", lambda: opl_policy.Server("http://example.com", token="a-token-of-sixteen"))
fails("want http", lambda: opl_policy.Server("file:///etc/passwd"))
fails("Out of range float", lambda: s.decide({"x_0": float("nan")}))
opl_policy.Server(plain).decide({"x_0": 1})
`

// Python asks over TLS with its token, which it takes nowhere else, and its file reads contexts as the server does.
func TestPython_AsksOverTLSAndReadsContextsAsTheServerDoes(t *testing.T) {
	python := "python3"
	for _, python = range []string{"python3", "/usr/bin/python3", ""} {
		if python == "" {
			t.Skip("no python3 with numpy (Debian's python3-numpy)")
		}
		if exec.Command(python, "-c", "import numpy").Run() == nil {
			break
		}
	}
	p := testPolicy(t, 3, 3, func(f *policyfile.File) {
		f.Columns = map[string]string{"x_2": "kept"}
		e := features.Encoder{Names: []string{"x_0", "x_1", "x_2", "city=Oslo", "city=2"}, Scale: []float64{1, 1, 1, 1, 1}, Intercept: true, Unit: true}
		made, err := features.New(e)
		if err != nil {
			t.Fatal(err)
		}
		f.Components[0].Encoder = made
	})
	dir := t.TempDir()
	file, cert, key := filepath.Join(dir, "policy.json"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := policyfile.Save(file, p.File()); err != nil {
		t.Fatal(err)
	}
	writePair(t, cert, key, 1)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := testServer(t, p, Config{})
	s.SetTokens(Tokens{sha256.Sum256([]byte("a-token-of-sixteen")): true})
	over := func(h http.Handler) *httptest.Server {
		ts := httptest.NewUnstartedServer(h)
		ts.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		ts.StartTLS()
		t.Cleanup(ts.Close)
		return ts
	}
	open, _ := testServer(t, p, Config{})
	plain := httptest.NewServer(open)
	defer plain.Close()
	leaked := false
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked = true }))
	defer thief.Close()
	elsewhere := over(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, thief.URL, http.StatusFound) }))
	cmd := exec.Command(python, "-c", asking, over(s).URL, file, cert, elsewhere.URL, plain.URL)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "no_proxy=*")
	var wrong strings.Builder
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil || leaked {
		t.Fatalf("leaked %v: %v: %s", leaked, err, wrong.String())
	}
	answered := 0
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		var a struct {
			Server, File []float64
			Error        string
			Context      json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		if len(a.Server) != len(a.File) {
			t.Errorf("%s: the server answers %v, the file %v %s", a.Context, a.Server, a.File, a.Error)
			continue
		}
		for i := range a.Server {
			if answered++; !(math.Abs(a.Server[i]-a.File[i]) <= 1e-12) {
				t.Errorf("%s: the server answers %v, the file %v", a.Context, a.Server, a.File)
			}
		}
	}
	if answered < 25 {
		t.Errorf("%d propensities: %s", answered, out)
	}
}
