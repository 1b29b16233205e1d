package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// serving asks a server whose features are numbers for decisions, so many a second whether or not those before have been
// answered: connection c of C asks its i-th at (i + c/C)·C/rate, and what it takes counts from then on.
type serving struct {
	address     string
	rate, conns int
	seconds     int
}

func (s serving) run(ctx context.Context, w io.Writer) error {
	if s.rate < 1 || s.conns < 1 || s.seconds < 1 {
		return errors.New("--rate, --connections, --seconds: want at least 1")
	}
	resp, err := http.Get("http://" + s.address + "/policy")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var policy struct {
		Features []struct{ Name, Kind string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&policy); err != nil {
		return err
	}
	var names []string
	for _, f := range policy.Features {
		if f.Kind != "number" {
			return fmt.Errorf("%s is no number", f.Name)
		}
		names = append(names, f.Name)
	}
	took, failed := make([][]time.Duration, s.conns), make([]error, s.conns)
	begin := time.Now().Add(time.Second) // the requests are made by then
	var all sync.WaitGroup
	for c := range s.conns {
		all.Go(func() { took[c], failed[c] = s.ask(ctx, c, names, begin) })
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	total := time.Since(begin).Seconds()
	t := slices.Sorted(slices.Values(slices.Concat(took...)))
	at := func(q float64) time.Duration { return t[int(q*float64(len(t)-1))].Round(10 * time.Microsecond) }
	_, err = fmt.Fprintf(w, "%d decisions of %d features, %.0f a second; from the time due half within %v, 99%% %v, 99.9%% %v, all %v\n",
		len(t), len(names), float64(len(t))/total, at(.5), at(.99), at(.999), at(1))
	return err
}

// ask is one connection.
func (s serving) ask(ctx context.Context, c int, names []string, begin time.Time) (took []time.Duration, err error) {
	r := rand.New(rand.NewPCG(uint64(c), 1))
	requests := make([][]byte, 512)
	for i := range requests {
		var body bytes.Buffer
		for j, name := range names {
			fmt.Fprintf(&body, "%c%q:%.3f", "{,"[min(j, 1)], name, r.Float64())
		}
		requests[i] = fmt.Appendf(nil, "POST /decide HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{\"context\":%s}}",
			s.address, body.Len()+len(`{"context":}}`), body.String())
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	gap := time.Duration(s.conns) * time.Second / time.Duration(s.rate)
	for i := range s.seconds * s.rate / s.conns {
		due := begin.Add(time.Duration(i)*gap + time.Duration(c)*gap/time.Duration(s.conns))
		time.Sleep(time.Until(due))
		if _, err := conn.Write(requests[i%len(requests)]); err != nil {
			return nil, err
		}
		// Little is read of an answer, since what reads it may be what is slow.
		length := 0
		for line := "\n"; line != "\r\n"; {
			if line, err = answers.ReadString('\n'); err != nil {
				return nil, err
			}
			if rest, is := strings.CutPrefix(line, "HTTP/1.1 "); is && !strings.HasPrefix(rest, "200 ") {
				return nil, fmt.Errorf("answered %s", strings.TrimSpace(rest))
			}
			if digits, is := strings.CutPrefix(line, "Content-Length: "); is {
				length, _ = strconv.Atoi(strings.TrimSpace(digits)) // net/http writes a number
			}
		}
		if _, err := answers.Discard(length); err != nil {
			return nil, err
		}
		if took = append(took, time.Since(due)); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return took, nil
}
