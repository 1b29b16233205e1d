package server

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// limited limits the connections at a time, in all and from one address: one client must not keep others out. It
// answers further connections with 503 and closes them.
type limited struct {
	net.Listener
	most, each int
	refused    *atomic.Uint64

	mu  sync.Mutex
	all int
	of  map[netip.Addr]int
}

const tooMany = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n" +
	"Retry-After: 1\r\nContent-Length: 33\r\n\r\n" +
	`{"error":"too many connections"}` + "\n"

// Accept implements net.Listener.
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

// addressOf returns what a connection counts for: its IPv4 address, or its IPv6 network of 64 bits, since one machine
// is usually given as much.
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

// counted is a connection that gives its place back when it is closed.
type counted struct {
	net.Conn
	of   *limited
	from netip.Addr
	once sync.Once
}

// Close implements net.Conn. It may be called twice.
func (c *counted) Close() error {
	c.once.Do(func() { c.of.remove(c.from) })
	return c.Conn.Close()
}
