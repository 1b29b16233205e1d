package server

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// limited is a listener with at most so many connections at a time; those above
// are told so and closed.
type limited struct {
	net.Listener
	most    int64
	now     atomic.Int64
	refused *atomic.Uint64
}

const tooMany = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 33\r\n\r\n" +
	`{"error":"too many connections"}` + "\n"

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.now.Add(1) <= l.most {
			return &counted{Conn: c, of: l}, nil
		}
		l.now.Add(-1)
		l.refused.Add(1)
		c.SetDeadline(time.Now().Add(100 * time.Millisecond))
		c.Write([]byte(tooMany))
		c.Close()
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	of   *limited
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.of.now.Add(-1) })
	return c.Conn.Close()
}
