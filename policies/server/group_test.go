package server

import (
	"strings"
	"testing"
)

// A request's group is in the log, whichever way the request is read; it is a part of what was asked.
func TestGroup_IsLoggedWithTheDecision(t *testing.T) {
	s, l := testServer(t, testPolicy(t, 2, 1, nil), Config{})
	for _, c := range []struct {
		body   string
		status int
		group  string // in the last line of the log
	}{
		{`{"context":{"x_0":1},"decision_id":"a","group":"user 7"}`, 200, "user 7"},
		{`{"context":{"x_0":1},"decision_id":"b","group":"user \u0038"}`, 200, "user 8"}, // by the decoder
		{`{"group":"user 7","context":{"x_0":2},"decision_id":"c"}`, 200, "user 7"},
		{`{"context":{"x_0":1},"decision_id":"d"}`, 200, ""},
		{`{"context":{"x_0":1},"decision_id":"a","group":"user 9"}`, 409, ""},
		{`{"context":{"x_0":1},"group":""}`, 400, ""},
		{`{"context":{"x_0":1},"group":7}`, 400, ""},
		{`{"context":{"x_0":1},"group":"a","group":"b"}`, 400, ""},
		{`{"context":{"x_0":1},"group":"` + strings.Repeat("a", maxID+1) + `"}`, 400, ""},
	} {
		before := len(lines(t, l.path))
		if w := do(s, "POST", "/decide", c.body); w.Code != c.status {
			t.Errorf("%.60s: %d %s", c.body, w.Code, w.Body)
		}
		all := lines(t, l.path)
		if c.status != 200 {
			if len(all) != before {
				t.Errorf("%.60s is logged", c.body)
			}
			continue
		}
		if group := all[len(all)-1].Group; group != c.group {
			t.Errorf("%.60s: group %q", c.body, group)
		}
	}
}

// An error says where a request is wrong, and does not send it back.
func TestErrors_DoNotSendTheRequestBack(t *testing.T) {
	s, _ := testServer(t, testPolicy(t, 2, 1, nil), Config{})
	long := strings.Repeat("ü", 50_000)
	for _, body := range []string{`{"` + long + `":1}`, `{"context":{"` + long + `":{"` + long + `":1}}}`, `{"context":{"x_0":1,"` + long + `":1e999}}`, `{"context":{"x_0":1` + strings.Repeat("0", 50_000) + `}}`} {
		if w := do(s, "POST", "/decide", body); w.Code != 400 || w.Body.Len() > maxError+100 {
			t.Errorf("%.40s: %d, %d bytes", body, w.Code, w.Body.Len())
		}
	}
	if w := do(s, "POST", "/decide", `{"`+long+`":1}`); !strings.Contains(w.Body.String(), "unknown field, want context") {
		t.Errorf("the answer to a long name does not say what is wanted: %s", w.Body)
	}
}
