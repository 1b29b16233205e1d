package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"opl/policies/wholefile"
)

// answers keeps the answers to decision ids that clients chose. A client that asks again, as after a timeout, gets the
// same answer, and the log one line. When the answers take too many bytes, the older half is dropped.
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

// overhead is about how many bytes an answer takes beside its text.
const overhead = 200

// sum hashes a context, what is offered, and a group, as JSON: an id that comes with another sum is another request.
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

// find returns what was given to an id, and whether it was asked for with the same sum. If nothing was given, the
// answer is mine: the caller must give one.
func (a *answers) find(id string, sum uint64) (g *given, mine, same bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g = cmp.Or(a.now[id], a.before[id]); g != nil {
		return g, false, g.asked == sum
	}
	g = &given{asked: sum, done: make(chan struct{})}
	a.put(id, g, 0)
	return g, true, true
}

// put adds an answer, and drops the older half if there are too many.
func (a *answers) put(id string, g *given, bytes int) {
	if a.size > a.most/2 || a.now == nil {
		a.before, a.now, a.size = a.now, map[string]*given{}, 0
	}
	a.now[id] = g
	a.size += int64(len(id) + bytes + overhead)
}

// give keeps an answer and wakes those who wait for it. nil says that there is none, and that the next one must try.
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

// ours reports whether an id has the form of the server's own: 16 hexadecimal digits, a hyphen, and more of them.
func ours(id []byte) bool {
	hex := func(b []byte) bool {
		return len(bytes.Trim(b, "0123456789abcdef")) == 0
	}
	return len(id) > 17 && id[16] == '-' && hex(id[:16]) && hex(id[17:])
}

// remember reads answers back from the last lines of the log and of the files that it was renamed to, so that a restart
// does not decide anew what was decided.
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

// rememberFrom reads answers back from a file, from a place on.
func (s *Server) rememberFrom(path string, from int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return err
	}
	lines := wholefile.NewLines(f)
	for {
		wrong, err := lines.Next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var d logged
		if wrong != nil || json.Unmarshal(lines.Object, &d) != nil || d.ID == "" || ours([]byte(d.ID)) {
			continue // cut off, damaged, or an id that is not asked for again
		}
		c, ok := s.current.Load().logged(&d)
		if !ok {
			continue
		}
		q := request{unknown: d.Unknown}
		q.id = appendQuoted(nil, d.ID)
		g := &given{asked: s.answers.sum(d.Context, d.set(), d.Group), answer: c.answer(nil, &q)}
		s.answers.put(d.ID, g, len(g.answer))
	}
}
