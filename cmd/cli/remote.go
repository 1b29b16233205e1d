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

// remote gives a command local folders in place of those in buckets, until close.
type remote struct {
	cmd         *cobra.Command
	open        func(ctx context.Context, url string) (logs.Bucket, error) // nil: there is none
	mirrors     map[string]*experiment.Mirror                              // by URL
	written     *experiment.Mirror                                         // that the command writes to; nil: none
	out, stderr io.Writer
	stop        context.CancelFunc // of pushing
	pushing     sync.WaitGroup
}

// pushEvery is how often new results are pushed to their bucket.
const pushEvery = 2 * time.Second

func isURL(path string) bool { return strings.Contains(path, "://") }

func remotes(cmd *cobra.Command, open func(ctx context.Context, url string) (logs.Bucket, error)) *remote {
	return &remote{cmd: cmd, open: open, mirrors: map[string]*experiment.Mirror{}, out: cmd.OutOrStdout(),
		stderr: cmd.ErrOrStderr()}
}

// from returns the local path for a path or URL of a folder, or of the results in one.
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
	r.cmd.SetOut(&rewriter{Writer: r.out, text: r.names})
	r.cmd.SetErr(&rewriter{Writer: r.stderr, text: r.names})
	return m.Dir, nil
}

// to does the same as from, for a folder that the command writes to.
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
	said := false
	every(ctx, pushEvery, never, func() {
		if err := r.written.Push(ctx, false); err != nil && !said && ctx.Err() == nil {
			said = true
			fmt.Fprintf(r.cmd.ErrOrStderr(), "opl: not stored there yet, and tried again: %s\n", oneLine(err))
		}
	}, nil)
}

// refresh pulls what other processes have stored since.
func (r *remote) refresh(ctx context.Context) error {
	for _, m := range r.mirrors {
		if err := m.Pull(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close pushes what was written to its bucket, whether or not the command succeeded, and returns the command's
// error. If it cannot push, it keeps the local folder and names it.
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
			if lost := m.Push(ctx, true); lost != nil {
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

// namedError is an error whose text names URLs.
type namedError struct {
	error
	text string
}

func (e *namedError) Error() string { return e.text }
func (e *namedError) Unwrap() error { return e.error }
