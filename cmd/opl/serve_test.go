package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"opl/policies/features"
	"opl/policies/policyfile"
)

// writePolicy is policy FILE FLOOR ACTION…: writes the file of a small policy.
func writePolicy(ts *testscript.TestScript, _ bool, args []string) {
	floor, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	e, err := features.New(features.Encoder{Names: []string{"age", "city=Oslo"}, Scale: []float64{0.1, 1}, Intercept: true, Unit: true})
	ts.Check(err)
	c := policyfile.Component{Weight: 1, Kind: policyfile.Gaussian, Sigma: 0.5, Encoder: e}
	f := &policyfile.File{Floor: floor, RewardMax: 1, Actions: args[2:]}
	for a := range f.Actions {
		c.Weights = append(c.Weights, []float64{float64(a), 1, 0})
	}
	f.Components = []policyfile.Component{c}
	ts.Check(policyfile.Save(ts.MkAbs(args[0]), f))
}

// writeShop is shop FILE FLOOR [ACTION…]: writes the file of a small policy whose actions have features,
// a price, which it plays the lower the better, and a color; with a catalogue of these actions if there are some.
func writeShop(ts *testscript.TestScript, _ bool, args []string) {
	floor, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	e, err := features.New(features.Encoder{Names: []string{"age"}, Scale: []float64{0.1}, Intercept: true})
	ts.Check(err)
	z, err := features.New(features.Encoder{Names: []string{"price", "color=red", "color=blue"}, Scale: []float64{1, 1, 1}})
	ts.Check(err)
	items, err := features.NewItems(z, nil)
	ts.Check(err)
	f := &policyfile.File{Floor: floor, RewardMax: 1, Actions: args[2:],
		Components: []policyfile.Component{{Weight: 1, Kind: policyfile.ArgMax, Encoder: e, Items: items, Weights: policyfile.Matrix{{0, -1}, {0, 0}, {1, 0}}}}}
	if len(f.Actions) > 0 {
		f.Catalogue, err = policyfile.NewCatalogue(f.Actions, func(a int) []features.Value {
			return []features.Value{{Name: "price", Number: float64(a + 1)}, {Name: "color=red", Number: 1}, {Name: "color=blue", Number: 0}}
		})
		ts.Check(err)
	}
	ts.Check(policyfile.Save(ts.MkAbs(args[0]), f))
}

// address waits for the file that serve writes its address to.
func address(ts *testscript.TestScript, file string) string {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(ts.MkAbs(file)); err == nil {
			return "http://" + strings.TrimSpace(string(b))
		}
	}
	ts.Fatalf("%s does not come", file)
	return ""
}

// writeCertificate is certificate CERT KEY NAME: writes a certificate by this common name.
func writeCertificate(ts *testscript.TestScript, _ bool, args []string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: args[2]}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	ts.Check(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}

// ask is ask [https:]ADDRESSFILE METHOD PATH BODY OUT [HEADER: VALUE]...: sends a request and writes
// status and answer to OUT, and the name of the certificate.
func ask(ts *testscript.TestScript, _ bool, args []string) {
	file, secure := strings.CutPrefix(args[0], "https:")
	url := address(ts, file)
	if secure {
		url = strings.Replace(url, "http:", "https:", 1)
	}
	r, err := http.NewRequest(args[1], url+args[2], strings.NewReader(args[3]))
	ts.Check(err)
	r.Header.Set("Content-Type", "application/json")
	for _, h := range args[5:] {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Do(r)
	ts.Check(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if resp.TLS != nil {
		b = append(b, resp.TLS.PeerCertificates[0].Subject.CommonName...)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[4]), fmt.Appendf(nil, "%d %s", resp.StatusCode, b), 0o644))
}

// reloads is how often a server has reloaded its policy, or tried to.
func reloads(ts *testscript.TestScript, url string) (n int) {
	resp, err := http.Get(url + "/metrics")
	ts.Check(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "opl_reloads_total{") {
			m, err := strconv.Atoi(strings.TrimSpace(line[strings.Index(line, "} ")+2:]))
			ts.Check(err)
			n += m
		}
	}
	return n
}

// hammer is hammer ADDRESSFILE N: asks N times from 4 goroutines, while the
// server gets a SIGHUP every 5 ms; all are answered. It ends once the server has read its policy
// twice, the second time surely as it was when hammer began.
func hammer(ts *testscript.TestScript, _ bool, args []string) {
	server := address(ts, args[0])
	url, before := server+"/decide", reloads(ts, server)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	var wg sync.WaitGroup
	errs := make(chan error, 4)
	for range 4 {
		wg.Go(func() {
			for range n / 4 {
				resp, err := http.Post(url, "application/json", strings.NewReader(`{"context":{"age":4}}`))
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if err == nil && resp.StatusCode != http.StatusOK {
					err = fmt.Errorf("%s", resp.Status)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		for end := time.Now().Add(20 * time.Second); reloads(ts, server) < before+2 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		close(done)
	}()
	for {
		select {
		case <-done:
			select {
			case err := <-errs:
				ts.Fatalf("%v", err)
			default:
			}
			return
		case <-time.After(5 * time.Millisecond):
			for _, cmd := range ts.BackgroundCmds() {
				ts.Check(cmd.Process.Signal(syscall.SIGHUP))
			}
		}
	}
}
