package server

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// limited is a listener with at most so many connections at a time, and so many of one address;
// those above are told so and closed.
type limited struct {
	net.Listener
	most, each int
	refused    *atomic.Uint64

	mu  sync.Mutex
	all int
	of  map[netip.Addr]int
}

const tooMany = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 33\r\n\r\n" +
	`{"error":"too many connections"}` + "\n"

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := addressOf(c)
		if l.add(from) {
			return &counted{Conn: c, of: l, from: from}, nil
		}
		l.refused.Add(1)
		c.SetDeadline(time.Now().Add(100 * time.Millisecond))
		c.Write([]byte(tooMany))
		c.Close()
	}
}

// addressOf is who may have many connections: an address, or a network of 64 bits of version 6,
// which is what one machine is given.
func addressOf(c net.Conn) netip.Addr {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	a := tcp.AddrPort().Addr().Unmap().WithZone("")
	if a.Is6() {
		p, _ := a.Prefix(64) // an address of version 6 has one
		a = p.Addr()
	}
	return a
}

func (l *limited) add(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= l.most || l.of[from] >= l.each {
		return false
	}
	if l.of == nil {
		l.of = map[netip.Addr]int{}
	}
	l.all++
	l.of[from]++
	return true
}

func (l *limited) remove(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.of[from]--; l.of[from] == 0 {
		delete(l.of, from)
	}
}

// counted is a connection that counts until it is closed. net/http sets seven deadlines with each request, which takes
// as long as reading it: they are set when something is read or written, if at all.
type counted struct {
	net.Conn
	of          *limited
	from        netip.Addr
	once        sync.Once
	read, write deadline
}

func (c *counted) Close() error {
	c.once.Do(func() { c.of.remove(c.from) })
	return c.Conn.Close()
}

func (c *counted) Read(b []byte) (n int, err error) {
	if len(b) == 1 {
		// net/http, which looks whether the client is still there until the answer is: mostly it has been given
		// when the turn comes.
		runtime.Gosched()
	}
	if err := c.read.begin(c.Conn.SetReadDeadline); err != nil {
		return 0, err
	}
	defer c.read.end()
	return c.Conn.Read(b)
}

func (c *counted) Write(b []byte) (n int, err error) {
	if err := c.write.begin(c.Conn.SetWriteDeadline); err != nil {
		return 0, err
	}
	defer c.write.end()
	return c.Conn.Write(b)
}

func (c *counted) SetReadDeadline(t time.Time) error  { return c.read.is(t, c.Conn.SetReadDeadline) }
func (c *counted) SetWriteDeadline(t time.Time) error { return c.write.is(t, c.Conn.SetWriteDeadline) }
func (c *counted) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// deadline is one that is set late, and up to an eighth of its time later than it was asked for, so that the next one
// is likely to be met by it.
type deadline struct {
	mu         sync.Mutex
	want, have time.Time     // zero: none
	more       time.Duration // that have may be after want
	busy       int           // those that wait
}

var launched = time.Now()

// begin is before something that may wait.
func (d *deadline) begin(set func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.want.IsZero() && d.want.Before(launched) {
		return os.ErrDeadlineExceeded // as net/http sets it to end a Read
	}
	err := d.set(set)
	if err == nil {
		d.busy++
	}
	return err
}

func (d *deadline) end() {
	d.mu.Lock()
	d.busy--
	d.mu.Unlock()
}

// is changes the deadline, at once for those that wait.
func (d *deadline) is(t time.Time, set func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.want = t
	if d.busy == 0 {
		return nil
	}
	return d.set(set)
}

func (d *deadline) set(set func(time.Time) error) error {
	late := d.have.Sub(d.want)
	if d.have.IsZero() == d.want.IsZero() && late >= 0 && late <= d.more {
		return nil
	}
	d.have, d.more = d.want, 0
	if left := time.Until(d.want); left > 0 {
		d.more = left / 8
		d.have = d.want.Add(d.more)
	}
	return set(d.have)
}
