package server

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"opl/policies/policyfile"
)

// Who asks again with an id gets the same answer, also of a server that was started since, and the log
// has one line; nobody else can take the id.
func TestAnswers_AreRepeatedForTheSameID(t *testing.T) {
	p := testPolicy(t, 5, 2, nil)
	s, l := testServer(t, p, Config{})
	bodies := map[string]string{}
	for i := range 20 {
		body := fmt.Sprintf(`{"context":{"x_0":%d,"other":"<é"},"decision_id":"d<%d"}`, i, i)
		w := do(s, "POST", "/decide", body)
		if w.Code != 200 {
			t.Fatal(w.Body)
		}
		bodies[body] = w.Body.String()
	}
	check := func(s *Server) {
		t.Helper()
		for range 3 {
			for body, answer := range bodies {
				// Spelled otherwise it is the same id.
				for _, again := range []string{body, strings.Replace(body, `"d<`, `"\u0064<`, 1)} {
					if w := do(s, "POST", "/decide", again); w.Code != 200 || w.Body.String() != answer {
						t.Errorf("%s: %d %s, want %s", again, w.Code, w.Body, answer)
					}
				}
			}
		}
		if w := do(s, "POST", "/decide", `{"context":{"x_0":-1},"decision_id":"d<3"}`); w.Code != 409 {
			t.Errorf("another context: %d %s", w.Code, w.Body)
		}
	}
	check(s)
	// Another server, whose policy is another, after half of the log was renamed.
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	more := `{"context":{"x_0":7},"decision_id":"more"}`
	bodies[more] = do(s, "POST", "/decide", more).Body.String()
	next, err := New(testPolicy(t, 5, 2, func(f *policyfile.File) { f.Floor = .3 }), l, Config{})
	if err != nil {
		t.Fatal(err)
	}
	check(next)
	if n := len(lines(t, l.path)) + len(lines(t, l.path+".1")); n != 21 {
		t.Errorf("%d lines of 21 decisions", n)
	}
}

// At the same time, too.
func TestAnswers_AreRepeatedForConcurrentRequests(t *testing.T) {
	s, l := testServer(t, testPolicy(t, 5, 2, nil), Config{})
	var mu sync.Mutex
	answers := map[string]int{}
	for i := range 20 {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				w := do(s, "POST", "/decide", fmt.Sprintf(`{"context":{"x_0":1},"decision_id":"%d"}`, i))
				mu.Lock()
				answers[w.Body.String()]++
				mu.Unlock()
			})
		}
		wg.Wait()
	}
	if n := len(lines(t, l.path)); n != 20 || len(answers) != 20 {
		t.Errorf("%d lines and %d answers to 20 ids", n, len(answers))
	}
}

// An id whose decision could not be logged is free; those that the server gives are not.
func TestID_IsFreeWhenItsDecisionWasNotLogged(t *testing.T) {
	s, l := testServer(t, testPolicy(t, 5, 2, nil), Config{})
	body := `{"context":{"x_0":1},"decision_id":"d"}`
	l.segment.f.Close()
	if w := do(s, "POST", "/decide", body); w.Code != 503 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	if w := do(s, "POST", "/decide", body); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	var a answer
	strict(t, do(s, "POST", "/decide", ask).Body.Bytes(), &a)
	for _, id := range []string{a.ID, "0123456789abcdef-1", `\u0030123456789abcdef-ff`} {
		if w := do(s, "POST", "/decide", `{"context":{},"decision_id":"`+id+`"}`); w.Code != 400 {
			t.Errorf("%s: %d %s", id, w.Code, w.Body)
		}
	}
}

// The oldest are forgotten.
func TestAnswers_ForgetTheOldest(t *testing.T) {
	s, _ := testServer(t, testPolicy(t, 2, 1, nil), Config{Remember: 100_000})
	for i := range 5000 {
		do(s, "POST", "/decide", fmt.Sprintf(`{"context":{"x_0":1},"decision_id":"%d"}`, i))
	}
	if n := len(s.answers.now) + len(s.answers.before); n < 60 || n > 300 {
		t.Errorf("%d answers in 100,000 bytes", n)
	}
}
