package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opl/train/experiment"
	"opl/train/logs"
)

// remote are the folders of a command that are in buckets. A local one stands for each until close.
type remote struct {
	cmd         *cobra.Command
	open        func(ctx context.Context, url string) (logs.Bucket, error) // nil: there is none
	mirrors     map[string]*experiment.Mirror                              // by URL
	written     []*experiment.Mirror
	out, stderr io.Writer
	stop        context.CancelFunc
	stopped     chan struct{}
}

// pushEvery is the time after which what a run has stored is taken to its bucket.
const pushEvery = 2 * time.Second

func isURL(path string) bool { return strings.Contains(path, "://") }

func remotes(cmd *cobra.Command, open func(ctx context.Context, url string) (logs.Bucket, error)) *remote {
	return &remote{cmd: cmd, open: open, mirrors: map[string]*experiment.Mirror{}, out: cmd.OutOrStdout(),
		stderr: cmd.ErrOrStderr()}
}

// from is the local path for a path or URL of a folder, or of the results in one.
func (r *remote) from(url string) (string, error) {
	url = strings.TrimPrefix(url, "file://")
	if !isURL(url) {
		return url, nil
	}
	_, key, _ := logs.SplitURL(url)
	if name := path.Base(key); slices.Contains([]string{experiment.ResultsFile, experiment.ResultsFile + ".gz"}, name) {
		dir, err := r.from(experiment.Join(url, ".."))
		return experiment.Join(dir, name), err
	}
	if m := r.mirrors[url]; m != nil {
		return m.Dir, nil
	}
	if r.open == nil {
		return "", fmt.Errorf("%s: this opl knows only local folders; docs/how-to/many-files.md says how to build one for URLs",
			url)
	}
	m, err := experiment.NewMirror(r.cmd.Context(), url, r.open)
	if err != nil {
		return "", err
	}
	r.mirrors[url] = m
	r.cmd.SetOut(namer{r.out, r})
	r.cmd.SetErr(namer{r.stderr, r})
	return m.Dir, nil
}

// to is from of a folder that is written to.
func (r *remote) to(url string) (string, error) {
	dir, err := r.from(url)
	if err == nil {
		r.writes(dir)
	}
	return dir, err
}

// writes says that a local folder is written to. If it stands for another, what is stored in it is taken
// there every few seconds.
func (r *remote) writes(dir string) {
	var m *experiment.Mirror
	for _, of := range r.mirrors {
		if of.Dir == dir {
			m = of
		}
	}
	if m == nil || slices.Contains(r.written, m) {
		return
	}
	if r.written = append(r.written, m); r.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(r.cmd.Context())
	r.stop, r.stopped = stop, make(chan struct{})
	go func() {
		defer close(r.stopped)
		said := false
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pushEvery):
			}
			if err := m.Push(ctx); err != nil && !said && ctx.Err() == nil {
				said = true
				fmt.Fprintf(r.cmd.ErrOrStderr(), "opl: not stored there yet, and tried again: %s\n", oneLine(err))
			}
		}
	}()
}

// refresh brings what others have stored since.
func (r *remote) refresh(ctx context.Context) error {
	for _, m := range r.mirrors {
		if err := m.Pull(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close takes what was written to the buckets, if the command has come to its end or not, and returns its error.
// What cannot be taken there is kept.
func (r *remote) close(err error) error {
	if r.stop != nil {
		r.stop()
		<-r.stopped
	}
	ctx := r.cmd.Context()
	if ctx.Err() != nil { // interrupted
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer stop()
	}
	var named error
	if err != nil {
		if named = err; r.names(err.Error()) != err.Error() {
			named = &namedError{err, r.names(err.Error())}
		}
	}
	for _, m := range r.mirrors {
		if slices.Contains(r.written, m) {
			if lost := m.PushAll(ctx); lost != nil {
				named = errors.Join(named, fmt.Errorf("%w: not all is stored there; all is in %s, whose %s may be "+
					"copied there", lost, m.Dir, experiment.ResultsFile))
				continue
			}
		}
		if left := m.Close(); left != nil {
			named = errors.Join(named, left)
		}
	}
	r.cmd.SetOut(r.out)
	r.cmd.SetErr(r.stderr)
	return named
}

// names puts URLs in place of the local folders in a text.
func (r *remote) names(text string) string {
	for _, m := range r.mirrors {
		text = strings.ReplaceAll(text, m.Dir, m.URL)
	}
	return text
}

// namer writes URLs in place of local folders. What names one must be written at once.
type namer struct {
	io.Writer
	r *remote
}

func (n namer) Write(b []byte) (int, error) {
	if _, err := io.WriteString(n.Writer, n.r.names(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Unwrap is what is written to.
func (n namer) Unwrap() io.Writer { return n.Writer }

// namedError is an error in other words.
type namedError struct {
	error
	text string
}

func (e *namedError) Error() string { return e.text }
func (e *namedError) Unwrap() error { return e.error }
