package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Check asks the server at an address, or at a URL such as https://host:8443, whether it can log decisions, which
// a probe wants to know. It returns one line about a server that is ready, else an error with the server's reason.
func Check(ctx context.Context, address string, timeout time.Duration) (string, error) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	url := address
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/healthz", nil)
	if err != nil {
		return "", err
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer got.Body.Close()
	var said struct {
		Error string `json:"error"`
		Hash  string `json:"policy_hash"`
	}
	text, err := io.ReadAll(io.LimitReader(got.Body, 1<<16))
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil || got.StatusCode == http.StatusOK && said.Hash == "" {
		return "", fmt.Errorf("%s answers %s: no server of opl", address, got.Status)
	}
	if got.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s is not ready: %s", address, said.Error)
	}
	return fmt.Sprintf("%s is ready, policy %.12s", address, said.Hash), nil
}
