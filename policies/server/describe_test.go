package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"opl/policies/policyfile"
)

type schema struct {
	Ref        string             `json:"$ref"`
	Type       string             `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Items      *schema            `json:"items"`
	More       *bool              `json:"additionalProperties"`
}

// fits says in what a value differs from a schema.
func fits(all map[string]*schema, s *schema, v any) error {
	if s.Ref != "" {
		name := strings.TrimPrefix(s.Ref, "#/components/schemas/")
		if all[name] == nil {
			return fmt.Errorf("no schema %s", s.Ref)
		}
		return fits(all, all[name], v)
	}
	is := map[string]bool{"": true}
	switch v := v.(type) {
	case map[string]any:
		is["object"] = true
		for name := range v {
			if s.Properties != nil && s.Properties[name] == nil && (s.More == nil || !*s.More) {
				return fmt.Errorf("the document has no %s", name)
			}
		}
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				return fmt.Errorf("there is no %s", name)
			}
		}
		for name, of := range s.Properties {
			if value, ok := v[name]; ok {
				if err := fits(all, of, value); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	case []any:
		is["array"] = true
		for _, item := range v {
			if err := fits(all, s.Items, item); err != nil {
				return err
			}
		}
	case string:
		is["string"] = true
	case float64:
		is["number"], is["integer"] = true, v == float64(int(v))
	}
	if !is[s.Type] {
		return fmt.Errorf("%v is no %s", v, s.Type)
	}
	return nil
}

// The OpenAPI document has the paths, methods, statuses and fields that the handlers have.
func TestOpenAPI_DescribesWhatHandlersDo(t *testing.T) {
	s, l := testServer(t, testPolicy(t, 3, 2, nil), Config{})
	w := do(s, "GET", "/openapi.json", "")
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Ref     string `json:"$ref"`
				Content map[string]struct{ Schema *schema }
			}
		}
		Components struct {
			Schemas   map[string]*schema
			Responses map[string]struct {
				Content map[string]struct{ Schema *schema }
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(doc.Paths)), slices.Sorted(maps.Keys(routes)); !slices.Equal(got, want) {
		t.Fatalf("the document has %q, the server %q", got, want)
	}
	seen := map[string]bool{}
	check := func(method, path string, w *httptest.ResponseRecorder) {
		t.Helper()
		operation, ok := doc.Paths[path][strings.ToLower(routes[path].method)]
		if !ok {
			t.Fatalf("%s: the document has not its method", path)
		}
		status := fmt.Sprint(w.Code)
		seen[path+" "+status] = true
		r, ok := operation.Responses[status]
		if !ok {
			t.Fatalf("%s %s: the document has no answer %s", method, path, status)
		}
		content := r.Content
		if name, is := strings.CutPrefix(r.Ref, "#/components/responses/"); is {
			content = doc.Components.Responses[name].Content
		}
		media, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
		of, ok := content[media]
		if !ok {
			t.Fatalf("%s %s: the document has no %s of %s", method, path, media, status)
		}
		var v any = w.Body.String()
		if media == "application/json" {
			if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
				t.Fatal(err)
			}
		}
		if err := fits(doc.Components.Schemas, of.Schema, v); err != nil {
			t.Errorf("%s %s: %s: %v", method, path, w.Body, err)
		}
	}
	send := func(method, path, body string, headers ...string) {
		t.Helper()
		r := asked(method, path, strings.NewReader(body))
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		check(method, path, w)
	}
	for path, route := range routes {
		send(route.method, path, ask)
		send("PUT", path, ask)
		send("POST", path, ask, "Sec-Fetch-Site", "cross-site")
	}
	send("POST", "/decide", `{"context":{"x_0":1,"y":2},"decision_id":"d"}`)
	send("POST", "/decide", `{"context":{"x_0":2},"decision_id":"d"}`)
	send("POST", "/decide", `{`)
	send("POST", "/decide", strings.Repeat(" ", 2<<20))
	send("POST", "/decide", ask, "Content-Type", "text/plain")
	for _, set := range []string{``, `,"offered":["i\"3","i\"1"]`, `,"actions":[{"id":"i\"1","price":3,"u":1}]`} {
		items, _ := testServer(t, shopPolicy(t, 5, nil), Config{})
		body := `{"context":{"x_0":1},"decision_id":"d","top":2` + set + `}`
		for path, method := range map[string]string{"/policy": "GET", "/decide": "POST"} {
			w := do(items, method, path, body)
			if w.Code != 200 {
				t.Errorf("%s: %d %s", body, w.Code, w.Body)
			}
			check(method, path, w)
		}
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		if err := fits(doc.Components.Schemas, doc.Components.Schemas["Request"], v); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	s.SetTokens(Tokens{})
	for path, route := range routes {
		send(route.method, path, ask)
	}
	s.SetTokens(nil)
	l.segment.f.Close()
	send("POST", "/decide", ask)
	send("GET", "/healthz", "")
	seen["/decide 408"] = true // see TestTimeout_EndsARequestWhoseBodyDoesNotCome
	for path, methods := range doc.Paths {
		for _, operation := range methods {
			for status := range operation.Responses {
				if !seen[path+" "+status] {
					t.Errorf("%s is never answered %s", path, status)
				}
			}
		}
	}
}

// promise is a certificate.
const promise = `{"guaranteed":0.5,"delta":0.05,"verdict":"not shown","bounds":[{"risk":-0.5,"delta":0.025}]}`

func TestPolicy_DescribesFeaturesAndCertificate(t *testing.T) {
	p := testPolicy(t, 3, 2, func(f *policyfile.File) {
		f.Certificate = json.RawMessage(promise)
		f.Components[0].Encoder.Scale[1] = .25
		f.Components[0].Encoder.Center = []float64{10, 0, 0, 0}
	})
	s, _ := testServer(t, p, Config{})
	w := do(s, http.MethodGet, "/policy", "")
	var got description
	strict(t, w.Body.Bytes(), &got)
	want := []featureDescription{{"x_0", "number", 9, 11}, {"x_1", "number", -4, 4}, {"city=Oslo", "category", 0, 1}, {"city=Bern", "category", 0, 1}}
	if got.Hash != p.Hash() || got.Floor != .01 || !slices.Equal(got.Actions, p.Actions()) || string(got.Guarantee) != promise || !strings.Contains(got.Trust, "not signed") ||
		!slices.Equal(got.Features, want) || len(got.Parts) != 1 {
		t.Errorf("%+v", got)
	}
}
