package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
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
	written     *experiment.Mirror                                         // that the command writes to; nil: none
	out, stderr io.Writer
	stop        context.CancelFunc // of pushing
	pushing     sync.WaitGroup
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
		return "", fmt.Errorf("%s: this opl knows only local folders; docs/how-to/many-files.md says how to build "+
			"one for URLs", url)
	}
	m, err := experiment.NewMirror(r.cmd.Context(), url, r.open)
	if err != nil {
		return "", err
	}
	r.mirrors[url] = m
	r.cmd.SetOut(rewriter{r.out, r.names})
	r.cmd.SetErr(rewriter{r.stderr, r.names})
	return m.Dir, nil
}

// to is from for a folder that the command writes to.
func (r *remote) to(url string) (string, error) {
	dir, err := r.from(url)
	if err == nil {
		r.writes(dir)
	}
	return dir, err
}

// writes says that the command writes to a local folder. If the folder stands for one in a bucket, its results are
// pushed there every few seconds. A command writes to one folder.
func (r *remote) writes(dir string) {
	for _, m := range r.mirrors {
		if m.Dir == dir && r.written == nil {
			r.written = m
			ctx, stop := context.WithCancel(r.cmd.Context())
			r.stop = stop
			r.pushing.Go(func() { r.push(ctx) })
		}
	}
}

// push pushes until ctx ends, and says once that it fails.
func (r *remote) push(ctx context.Context) {
	for said := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pushEvery):
		}
		if err := r.written.Push(ctx); err != nil && !said && ctx.Err() == nil {
			said = true
			fmt.Fprintf(r.cmd.ErrOrStderr(), "opl: not stored there yet, and tried again: %s\n", oneLine(err))
		}
	}
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
		r.pushing.Wait()
	}
	ctx := r.cmd.Context()
	if ctx.Err() != nil { // interrupted
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer stop()
	}
	named := err
	if err != nil && r.names(err.Error()) != err.Error() {
		named = &namedError{err, r.names(err.Error())}
	}
	for _, m := range r.mirrors {
		if m == r.written {
			if lost := m.PushAll(ctx); lost != nil {
				named = errors.Join(named, fmt.Errorf("%w: not all is stored there; all is in %s, whose %s may be "+
					"copied there", lost, m.Dir, experiment.ResultsFile))
				continue
			}
		}
		if err := m.Close(); err != nil {
			named = errors.Join(named, err)
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

// namedError is an error in other words.
type namedError struct {
	error
	text string
}

func (e *namedError) Error() string { return e.text }
func (e *namedError) Unwrap() error { return e.error }
