package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"opl/policies/wholefile"
)

// answers are those that were given to ids of the callers' own. Who asks again, with the same
// context, gets the same; the oldest are forgotten when they take too many bytes.
type answers struct {
	seed maphash.Seed
	most int64 // bytes of both

	mu          sync.Mutex
	now, before map[string]*given
	size        int64 // of now
}

// given is an answer, or one that is under way.
type given struct {
	asked  uint64        // hash of context and actions offered
	done   chan struct{} // closed when answer is there; nil: it is
	answer []byte        // nil when done: there is none, ask again
}

// overhead is about what an answer takes beside its bytes.
const overhead = 200

// sum is the hash of a context, of what is offered, and of a group, as JSON.
func (a *answers) sum(context, set, group []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(a.seed)
	h.Write(context)
	h.WriteByte(0) // JSON has none
	h.Write(set)
	if len(group) > 0 {
		h.WriteByte(0)
		h.Write(group)
	}
	return h.Sum64()
}

// find returns what was given to an id, or, if it is the caller's to give, true.
func (a *answers) find(id string, sum uint64) (g *given, mine, same bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g = a.now[id]
	if g == nil {
		g = a.before[id]
	}
	if g != nil {
		return g, false, g.asked == sum
	}
	g = &given{asked: sum, done: make(chan struct{})}
	a.put(id, g, 0)
	return g, true, true
}

// put forgets the oldest if need be.
func (a *answers) put(id string, g *given, bytes int) {
	if a.size > a.most/2 || a.now == nil {
		a.before, a.now, a.size = a.now, map[string]*given{}, 0
	}
	a.now[id] = g
	a.size += int64(len(id) + bytes + overhead)
}

// give keeps the answer, of which nil is none.
func (a *answers) give(id string, g *given, answer []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g.answer = slices.Clone(answer); answer == nil {
		delete(a.now, id)
		delete(a.before, id)
	}
	a.size += int64(len(answer))
	close(g.done)
}

// ours reports that an id is of the form that the server gives: 16 hexadecimal digits, a hyphen,
// and more of them.
func ours(id []byte) bool {
	hex := func(b []byte) bool {
		return len(bytes.Trim(b, "0123456789abcdef")) == 0
	}
	return len(id) > 17 && id[16] == '-' && hex(id[:16]) && hex(id[17:])
}

// remember reads the answers back from the last lines of the log and of files that it was renamed to.
func (s *Server) remember(path string) error {
	type part struct {
		path string
		info fs.FileInfo
		from int64
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	var parts []part
	for _, e := range files {
		rest, named := strings.CutPrefix(e.Name(), filepath.Base(path))
		if !named || rest != "" && rest[0] != '.' && rest[0] != '-' || slices.Contains([]string{".gz", ".zst",
			".torn"}, filepath.Ext(rest)) {
			continue
		}
		file := filepath.Join(filepath.Dir(path), e.Name())
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			parts = append(parts, part{file, info, 0})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	left := 3 * s.answers.most // a line is longer than its answer
	n := 0
	for ; n < len(parts) && left > 0; n++ {
		size := parts[n].info.Size()
		parts[n].from = max(0, size-left)
		left -= size
	}
	for _, p := range slices.Backward(parts[:n]) {
		if err := s.rememberFrom(p.path, p.from); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) rememberFrom(path string, from int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return err
	}
	actions := s.current.Load().policy.Actions()
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		if err := skipZeros(r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		b, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		object, _, err := wholefile.Unseal(b[:len(b)-1])
		var d logged
		if err != nil || json.Unmarshal(object, &d) != nil || d.ID == "" || ours([]byte(d.ID)) {
			continue // cut off, damaged, or an id that is not asked for again
		}
		g := &given{asked: s.answers.sum(d.Context, d.set(), d.Group)}
		id, _ := jsontext.AppendQuote(nil, d.ID) // was read as a string
		k := &work{pi: d.Propensities}
		k.req.id, k.req.unknown = id, d.Unknown
		if of := s.current.Load(); of.policy.HasItems() {
			c, ok := d.choice()
			if !ok {
				continue
			}
			k.out = c.answer(nil, &k.req)
		} else {
			names, err := d.names()
			action := slices.Index(actions, d.Action)
			if err != nil || action < 0 || !slices.Equal(names, actions) || len(d.Propensities) != len(actions) {
				continue
			}
			if d.Number != nil {
				k.number = appendNumber(nil, *d.Number, d.Density)
			}
			of.answer(k, action, d.Hash)
		}
		g.answer = k.out
		s.answers.put(d.ID, g, len(k.out))
	}
}

// answer writes the answer to k.out, and returns the part of it that a line of the log has, too.
func (l *loaded) answer(k *work, action int, hash string) (propensities []byte) {
	out := append(append(k.out[:0], `{"decision_id":`...), k.req.id...)
	out = strconv.AppendInt(append(out, `,"action":`...), int64(action), 10)
	out = append(append(out, `,"action_name":`...), l.quoted[action]...)
	from := len(out)
	out = append(out, k.number...)
	out = appendFloat(append(out, `,"propensity":`...), k.pi[action])
	out = append(out, `,"propensities":[`...)
	for a, v := range k.pi {
		if a > 0 {
			out = append(out, ',')
		}
		out = appendFloat(out, v)
	}
	out = append(out, ']')
	to := len(out)
	out = k.req.appendUnknown(out)
	out = append(append(out, `,"policy_hash":"`...), hash...)
	k.out = append(out, "\"}\n"...)
	return k.out[from:to]
}

func (q *request) appendUnknown(b []byte) []byte {
	if q.unknown == 0 {
		return b
	}
	return strconv.AppendInt(append(b, `,"unknown":`...), int64(q.unknown), 10)
}
