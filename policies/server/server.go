// Package server serves a policy over HTTP and logs each decision before it is answered. It needs
// no Gorgonia. Use it to play a policy behind HTTP in a program of your own, as opl serve does.
//
//	POST /decide   {"context": {name: value, …} or [value, …], "decision_id": optional, "group": optional}
//	             → {"decision_id", "action", "action_name", "propensity", "propensities", "policy_hash"}
//	             where actions have features, also "actions": [{"id": id, name: value, …}, …] or
//	             "offered": [id, …] of the catalogue, else all of that; and "top": m
//	             → {"decision_id", "action", "action_name", "propensity", "top", "policy_hash", "catalogue"}
//	             and with "slots": m a list → {"decision_id", "slots", "slot_propensities", "policy_hash", "catalogue"}
//	GET /healthz → 200 {"status":"ok","policy_hash"}, 503 when the log takes no more
//	GET /metrics → Prometheus' text format
//	GET /policy  → the policy: hash, guarantee, actions, features with their ranges
//	GET /openapi.json → the OpenAPI document of all this
//
// The action is counted from 0, and propensities has those of all actions in the
// order of the policy file; "unknown", where it is there, counts the names and
// categories of the context that the policy does not know. The server answers a bad
// request with {"error": …}, which begins with the field, and status 400. Other statuses are 401 without a
// token, 403 for another site's page, 404 and 405 for paths and methods, 408 for a slow body, 413 for a large
// body and 415 for a body that is not JSON. 409 says that the id was asked for with another context. 503 says
// that requests or connections exceed their limit, or that the decision cannot be logged.
//
// A line of the log, here in several:
//
//	{"decision_id":"…","timestamp":"2006-01-02T15:04:05.999999999Z",
//	 "context":{name: value, …},"action":"name","propensity":0.7,
//	 "propensities":[0.7,0.3],"actions":["name","other"],"policy_hash":"…",
//	 "crc32c":"89abcdef"}
//
// Where actions have features, action is the place among those that the request offers, and not
// there where it offers none; the answer has no propensities but those of the top m, as
// [policyfile.Top] orders them. A line of the log has what was offered as the request does, with actions
// flattened like contexts,
//
//	{…,"actions":[{"id":"a",name: value, …}, …],"action":"a","propensity":0.7,"propensities":[0.7,0.3],…
//	{…,"offered":["a","b"],"action":"a","propensity":0.7,"propensities":[0.7,0.3],…,"catalogue":"hash",…
//	{…,"action":"a","propensity":0.0001,…,"catalogue":"hash",…
//
// A log has decisions of one of these three kinds, that of its first: others are refused, as they could
// not be read as one log. propensities are in the order of what was offered, of the whole catalogue that of the action
// alone; and catalogue is the hash of the one that was served, if it had a part.
//
// The context is the caller's, flattened, a list by the names of the policy, each value as the policy took
// it: a number or a category. actions names the propensities; the last field is the line's checksum, see
// [wholefile.Seal]. Nothing of a request that was answered by an error is logged, but the line of a decision
// that was asked for by a client that has gone since is.
package server

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"opl/policies/policyfile"
	"opl/policies/propensity"
	"opl/policies/wholefile"
)

const (
	// DefaultTimeout is the default of Config.Timeout.
	DefaultTimeout = 10 * time.Second

	idle  = 2 * time.Minute  // how long a connection may wait for its next request
	drain = 10 * time.Second // what requests under way have when the server stops
)

// Config says what a server allows. Zero values stand for the defaults.
type Config struct {
	MaxBody     int64         // bytes of a request; 0: 1 MiB
	MaxInFlight int           // requests at a time; 0: 1024
	MaxConns    int           // connections at a time; 0: 4096
	MaxEach     int           // of one address, or network of 64 bits; 0: a quarter of these
	Remember    int64         // bytes for answers that are given again; 0: 32 MiB
	Hosts       []string      // names that requests may call the server by, beside addresses and localhost
	Certificate *Certificate  // of TLS; nil: plain HTTP
	Admin       bool          // metrics, policy and OpenAPI document are for ServeAdmin alone
	Timeout     time.Duration // for reading a request and for writing its answer
	// refused are contexts and actions with names or categories that the policy does not know, or without
	// those that it reads
	Strict bool
	Seed   *uint64      // of the actions drawn, for tests; nil: from the system
	Logger *slog.Logger // is told what befalls the server; nil: nobody
	// Around wraps what Serve answers by, as tracing does; nil: nothing does.
	Around func(http.Handler) http.Handler
}

// Server answers requests by a policy. Make one by New.
type Server struct {
	config  Config
	log     *Log
	current atomic.Pointer[loaded]
	rand    *rand.Rand // its source is locked
	prefix  string     // of decision ids
	count   atomic.Uint64
	pool    sync.Pool // of *work
	metrics metrics
	answers answers
	tokens  atomic.Pointer[Tokens]
	cross   http.CrossOriginProtection
	large   chan struct{} // holds the bodies above largeBody
	vectors chan *vectors // for decisions among a catalogue, as many as processors
}

// vectors hold the propensities and scores of a whole catalogue, which may be large. Decisions among it share a few of
// them, and wait for one: without them each request under way could hold its own.
type vectors struct{ pi, scores []float64 }

const (
	largeBody = 64 << 10 // bytes
	maxLarge  = 32       // of them at a time
)

// loaded is a policy with what answers need of it, made once for all requests.
type loaded struct {
	policy  *policyfile.Policy
	columns *columns
	quoted  [][]byte // action names as JSON; nil where actions have features
	names   []byte   // all of them, a JSON list
	about   []byte   // the answer of /policy
}

// work holds what one request needs. It is used again by later ones, so that most decisions allocate little.
type work struct {
	body, line, out []byte
	name            []byte // of the action, as JSON
	req             request
	pi, scores      []float64
	top, places     []int
	shown           shown
	large           bool // it holds a place in Server.large
}

// locked is a random source that goroutines share.
type locked struct {
	mu  sync.Mutex
	src *rand.ChaCha8
}

// Uint64 implements rand.Source.
func (l *locked) Uint64() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.src.Uint64()
}

// New makes a server that chooses by a policy and appends its decisions to a log. It refuses a log whose decisions are
// among other actions, since nobody could read both as one. It reads the latest answers back from the log, to give them
// again to clients that ask again. The caller closes the log, after Serve has returned.
func New(p *policyfile.Policy, l *Log, c Config) (*Server, error) {
	if n := min(c.MaxBody, int64(c.MaxInFlight), int64(c.MaxConns), int64(c.MaxEach), c.Remember,
		int64(c.Timeout)); n < 0 {
		return nil, fmt.Errorf("server: a limit of %d", n)
	}
	if err := l.among(among(p)); err != nil {
		return nil, err
	}
	c.MaxBody, c.MaxInFlight, c.MaxConns = cmp.Or(c.MaxBody, 1<<20), cmp.Or(c.MaxInFlight, 1024), cmp.Or(c.MaxConns,
		4096)
	c.MaxEach, c.Remember = cmp.Or(c.MaxEach, max(1, c.MaxConns/4)), cmp.Or(c.Remember, 32<<20)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	var seed [32]byte
	crand.Read(seed[:]) // never fails
	s := &Server{config: c, log: l, prefix: hex.EncodeToString(seed[:8]), large: make(chan struct{}, maxLarge),
		vectors: make(chan *vectors, runtime.GOMAXPROCS(0))}
	for range cap(s.vectors) {
		s.vectors <- new(vectors)
	}
	s.answers.seed, s.answers.most = hashSeed, c.Remember
	s.tokens.Store(new(Tokens))
	crand.Read(seed[:])
	if c.Seed != nil {
		seed = [32]byte{}
		binary.LittleEndian.PutUint64(seed[:], *c.Seed)
	}
	s.rand = rand.New(&locked{src: rand.NewChaCha8(seed)})
	s.pool.New = func() any { return new(work) }
	s.current.Store(s.load(p))
	if err := s.remember(l.path); err != nil {
		return nil, err
	}
	return s, nil
}

// load prepares a policy.
func (s *Server) load(p *policyfile.Policy) *loaded {
	l := &loaded{policy: p, about: describe(p), columns: columnsOf(p, int(s.config.MaxBody), s.config.Strict)}
	if p.HasItems() {
		return l
	}
	l.names, _ = json.Marshal(p.Actions()) // strings are never refused
	for _, name := range p.Actions() {
		quoted, _ := json.Marshal(name)
		l.quoted = append(l.quoted, quoted)
	}
	return l
}

// Reload serves another policy from now on. Requests under way keep the one that they have. Reload refuses a policy of
// other actions, as the log could not be read as one. Where actions have features they may differ.
func (s *Server) Reload(p *policyfile.Policy) error {
	now := s.current.Load().policy
	switch {
	case now.HasItems() != p.HasItems():
		return errors.New("actions have features in one of the policies, and not in the other: start a server with " +
			"a log of its own")
	case !p.HasItems() && !slices.Equal(now.Actions(), p.Actions()):
		return fmt.Errorf("the policy has other actions, %q instead of %q: start a server with a log of its own",
			p.Actions(), now.Actions())
	}
	s.current.Store(s.load(p))
	return nil
}

// Reloading tells the metrics that a reload begins, and end that it is over. It calls late once if the reload takes
// longer than patience, as on a slow disk.
func (s *Server) Reloading(patience time.Duration, late func()) (end func()) {
	s.metrics.reloading.Store(time.Now().UnixNano())
	timer := time.AfterFunc(patience, late)
	return func() {
		timer.Stop()
		s.metrics.reloading.Store(0)
	}
}

// Reloaded counts a reload in the metrics, as failed if there is an error.
func (s *Server) Reloaded(err error) {
	if err != nil {
		s.metrics.badReloads.Add(1)
		return
	}
	s.metrics.reloads.Add(1)
}

// Policy returns the policy being served.
func (s *Server) Policy() *policyfile.Policy { return s.current.Load().policy }

// Hash returns the hash of the policy being served.
func (s *Server) Hash() string { return s.current.Load().policy.Hash() }

// Serve answers on a listener until ctx ends, and closes it. Then it lets the requests under way finish, which have ten
// seconds.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	l = &limited{Listener: l, most: s.config.MaxConns, each: s.config.MaxEach, refused: &s.metrics.refused}
	if c := s.config.Certificate; c != nil { // it is looked up for each handshake: a renewed one needs no new listener
		l = tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil }})
	}
	if s.config.Around != nil {
		return s.serve(ctx, l, s.config.Around(s))
	}
	return s.serve(ctx, l, s)
}

// ServeAdmin answers everything but /decide, without TLS and tokens, on a listener of its own: health and metrics are
// answered there even while clients take all connections.
func (s *Server) ServeAdmin(ctx context.Context, l net.Listener) error {
	return s.serve(ctx, &limited{Listener: l, most: 64, each: 64, refused: &s.metrics.refused},
		http.HandlerFunc(s.admin))
}

// serve runs an HTTP server until ctx ends.
func (s *Server) serve(ctx context.Context, l net.Listener, handler http.Handler) error {
	h := &http.Server{
		Handler: handler, ErrorLog: slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelWarn),
		ReadTimeout: s.config.Timeout, WriteTimeout: s.config.Timeout, IdleTimeout: idle,
		MaxHeaderBytes: 16 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		h.Close()
		return fmt.Errorf("requests were cut off after %v: %w", drain, err)
	}
	return nil
}

// Header values are shared: net/http does not change them.
var (
	jsonType  = []string{"application/json"}
	plainType = []string{"text/plain; version=0.0.4; charset=utf-8"}
)

// route is how a path is answered. Only /decide changes something.
type route struct {
	method string
	answer func(s *Server, w http.ResponseWriter, r *http.Request)
}

var routes = map[string]route{
	"/decide":       {http.MethodPost, (*Server).decide},
	"/healthz":      {http.MethodGet, (*Server).health},
	"/metrics":      {http.MethodGet, (*Server).writeMetrics},
	"/policy":       {http.MethodGet, (*Server).describe},
	"/openapi.json": {http.MethodGet, (*Server).document},
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status, kind, err := s.refuse(r); err != nil {
		if status == http.StatusUnauthorized {
			w.Header()["Www-Authenticate"] = []string{"Bearer"}
		}
		s.fail(w, status, kind, err)
		return
	}
	s.route(w, r, !s.config.Admin || r.URL.Path == "/decide" || r.URL.Path == "/healthz")
}

// admin answers the requests of ServeAdmin.
func (s *Server) admin(w http.ResponseWriter, r *http.Request) {
	if !s.known(r.Host) {
		s.fail(w, http.StatusForbidden, "host", fmt.Errorf("host %.100q: not a name of this server: setting host "+
			"adds one", r.Host))
		return
	}
	s.route(w, r, r.URL.Path != "/decide")
}

// route answers a path that is served here by its method.
func (s *Server) route(w http.ResponseWriter, r *http.Request, here bool) {
	to, ok := routes[r.URL.Path]
	switch {
	case !ok || !here:
		s.fail(w, http.StatusNotFound, "path", fmt.Errorf("%.100s: no such path here, /openapi.json lists them",
			r.URL.Path))
	case r.Method != to.method && !(to.method == http.MethodGet && r.Method == http.MethodHead):
		w.Header()["Allow"] = []string{to.method}
		s.fail(w, http.StatusMethodNotAllowed, "method", fmt.Errorf("%s %s: want %s", r.Method, r.URL.Path, to.method))
	default:
		to.answer(s, w, r)
	}
}

// writeMetrics answers /metrics.
func (s *Server) writeMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = plainType
	w.Write(s.metrics.text(nil, s.log, s.current.Load().policy))
}

// fail answers with an error, and counts it.
func (s *Server) fail(w http.ResponseWriter, status int, kind string, err error) {
	s.metrics.fail(kind)
	b, _ := json.Marshal(map[string]string{"error": brief(err.Error())})
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(status)
	w.Write(append(b, '\n'))
}

// maxError is how many bytes of an error are answered: a request is not sent back.
const maxError = 400

// brief keeps the beginning and the end of a text: what is wrong, and what is wanted.
func brief(text string) string {
	if len(text) <= maxError {
		return text
	}
	return strings.ToValidUTF8(text[:maxError/2], "") + " … " + strings.ToValidUTF8(text[len(text)-maxError/2:], "")
}

// health answers /healthz: a server that cannot log must get no requests.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = jsonType
	if err := s.log.Err(); err != nil {
		s.fail(w, http.StatusServiceUnavailable, "log", err)
		return
	}
	fmt.Fprintf(w, "{\"status\":\"ok\",\"policy_hash\":%q}\n", s.Hash())
}

// decide answers /decide.
func (s *Server) decide(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	defer s.metrics.inFlight.Add(-1)
	if n := s.metrics.inFlight.Add(1); n > int64(s.config.MaxInFlight) {
		w.Header()["Retry-After"] = []string{"1"}
		s.fail(w, http.StatusServiceUnavailable, "overload", fmt.Errorf("more than %d requests at a time",
			s.config.MaxInFlight))
		return
	}
	k := s.pool.Get().(*work)
	defer func() {
		if k.large {
			k.large = false
			<-s.large
		}
		q := &k.req
		// else it would be kept
		bytes := cap(k.body) + cap(k.line) + cap(k.out) + cap(q.context) + cap(q.setText) + cap(q.item.flat) +
			32*len(q.other)
		if bytes <= 4*largeBody && (q.set == nil || q.set.Len() <= maxOffered/4) {
			s.pool.Put(k)
		}
	}()
	status, kind, err := s.read(k, w, r)
	if err == nil {
		status, kind, err = s.choose(k, s.current.Load(), begin)
	}
	if err != nil {
		s.fail(w, status, kind, err)
		return
	}
	h := w.Header()
	h["Content-Type"] = jsonType
	if len(k.out) > 2000 { // net/http counts shorter ones itself
		h["Content-Length"] = []string{strconv.Itoa(len(k.out))}
	}
	w.Write(k.out)
	s.metrics.took(time.Since(begin))
}

// choose parses k.body, and leaves the answer in k.out: that of a new decision, or the one that was given before to the
// same id. Of two requests with one id the second waits for the first, so that there is one decision.
func (s *Server) choose(k *work, l *loaded, now time.Time) (status int, kind string, err error) {
	q := &k.req
	if err := q.parse(k.body, l.columns); err != nil {
		return http.StatusBadRequest, "request", err
	}
	if q.unknown > 0 {
		s.metrics.unknown.Add(uint64(q.unknown))
	}
	var id string
	var mine *given
	if len(q.id) > 0 {
		name, err := plain(q.id)
		if err != nil || ours(name) {
			return http.StatusBadRequest, "request", errors.New("decision_id: of the form of those that the server " +
				"gives: choose another")
		}
		id = string(name)
		sum := s.answers.sum(q.context, q.setText, q.group)
		for mine == nil {
			before, first, same := s.answers.find(id, sum)
			switch {
			case first:
				mine = before
				continue
			case !same:
				return http.StatusConflict, "conflict", errors.New("decision_id: it was asked for with another " +
					"context, or other actions")
			case before.done != nil:
				<-before.done
			}
			if before.answer != nil {
				k.out = append(k.out[:0], before.answer...)
				s.metrics.repeated.Add(1)
				return 0, "", nil
			}
		}
	} else {
		q.id = append(append(append(q.id, '"'), s.prefix...), '-')
		q.id = append(strconv.AppendUint(q.id, s.count.Add(1), 16), '"')
	}
	status, kind, err = s.draw(k, l, now)
	if mine != nil {
		out := k.out
		if err != nil {
			out = nil
		}
		s.answers.give(id, mine, out)
	}
	return status, kind, err
}

// draw draws an action, logs it and leaves the answer in k.out.
func (s *Server) draw(k *work, l *loaded, now time.Time) (status int, kind string, err error) {
	q, p := &k.req, l.policy
	if q.late != nil {
		return http.StatusBadRequest, "request", q.late
	}
	n, pi, scores := len(l.quoted), &k.pi, &k.scores
	switch {
	case q.set != nil:
		n = q.set.Len()
	case p.HasItems():
		of := <-s.vectors
		defer func() { s.vectors <- of }()
		n, pi, scores = p.Len(), &of.pi, &of.scores
	}
	*pi = slices.Grow((*pi)[:0], n)[:n]
	var ranks []float64
	if q.top > 0 || q.slots > 0 {
		*scores = slices.Grow((*scores)[:0], n)[:n]
		ranks = *scores
	}
	action := 0
	if q.slots > 0 {
		if err := s.list(k, p, *pi, ranks); err != nil {
			return http.StatusBadRequest, "request", err
		}
	} else if err := p.PropensitiesOn(*pi, ranks, q.values, q.set); err != nil {
		return http.StatusBadRequest, "request", fmt.Errorf("context: %w", err)
	} else {
		action = propensity.Draw(*pi, s.rand)
	}
	line := append(append(k.line[:0], `{"decision_id":`...), q.id...)
	line = now.UTC().AppendFormat(append(line, `,"timestamp":"`...), time.RFC3339Nano)
	line = append(append(line, `","context":`...), q.context...)
	if len(q.group) > 0 {
		line = append(append(line, `,"group":`...), q.group...)
	}
	c := l.choice(k, action, *pi, ranks)
	if of := p.File().Numbers; of != nil {
		number, density := of.Draw(action, c.propensity, s.rand.Float64())
		c.number, c.density = &number, density
	}
	if q.slots > 0 {
		c.list = &k.shown
	}
	if p.HasItems() {
		if err := s.log.admit(c.kind()); err != nil {
			return http.StatusBadRequest, "request", fmt.Errorf("actions: %w", err)
		}
	}
	line = c.line(line, q)
	k.out = c.answer(k.out[:0], q)
	line = append(append(line, `,"policy_hash":"`...), p.Hash()...)
	k.line = append(wholefile.Seal(append(line, "\"}"...)), '\n')
	if err := s.log.Append(k.line); err != nil {
		return http.StatusServiceUnavailable, "log", fmt.Errorf("the decision could not be logged: %w", err)
	}
	return 0, "", nil
}

// appendFloat appends the shortest JSON number that reads back as v.
func appendFloat(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'g', -1, 64) }

// read reads the body of a request into k.body. Only maxLarge bodies above largeBody are in memory at a time.
func (s *Server) read(k *work, w http.ResponseWriter, r *http.Request) (status int, kind string, err error) {
	k.body = k.body[:0]
	h := w.Header()
	for {
		size := max(int64(len(k.body)), r.ContentLength)
		if size > s.config.MaxBody {
			h["Connection"] = []string{"close"}
			return http.StatusRequestEntityTooLarge, "too_large", fmt.Errorf("the body is larger than %d bytes",
				s.config.MaxBody)
		}
		if size > largeBody && !k.large {
			select {
			case s.large <- struct{}{}:
				k.large = true
			default:
				h["Retry-After"], h["Connection"] = []string{"1"}, []string{"close"}
				return http.StatusServiceUnavailable, "overload",
					fmt.Errorf("more than %d requests of more than %d bytes at a time", maxLarge, largeBody)
			}
		}
		k.body = slices.Grow(k.body, 1024)
		n, err := r.Body.Read(k.body[len(k.body):cap(k.body)])
		switch k.body = k.body[:len(k.body)+n]; {
		case err == nil || int64(len(k.body)) > s.config.MaxBody:
		case err == io.EOF:
			return 0, "", nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			h["Connection"] = []string{"close"}
			// The time for the answer, which began with the request, is over as well.
			// if not, the connection just ends
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.config.Timeout))
			return http.StatusRequestTimeout, "read", fmt.Errorf("the body did not come within %v", s.config.Timeout)
		default:
			return http.StatusBadRequest, "read", fmt.Errorf("the body could not be read: %w", err)
		}
	}
}
