package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"opl/train/report/table"
)

// settingText finds the settings that libraries name, also where a line breaks between "setting" and the name. What is
// in quotes alone is a name of the log's.
var settingText = regexp.MustCompile(`("?)(?: ?\bsetting(\s*\n\s*)|\bsetting )([a-z][a-z0-9]*(?:-[a-z0-9]+)*)("?)`)

// flagText turns "setting NAME", as libraries say, into --NAME where that is a flag.
type flagText map[string]bool

// flagsOf collects the flags of commands.
func flagsOf(commands []*cobra.Command) flagText {
	names := flagText{}
	for _, c := range commands {
		c.Flags().VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
	}
	return names
}

func (names flagText) of(s string) string {
	return settingText.ReplaceAllStringFunc(s, func(found string) string {
		m := settingText.FindStringSubmatch(found)
		if !names[m[3]] || m[1]+m[4] == `""` {
			return found
		}
		return m[1] + m[2] + "--" + m[3] + m[4]
	})
}

var (
	urls    = regexp.MustCompile(`[a-z][a-z0-9+.-]*://[^\s"']*[^\s"':,;.)]`)
	user    = regexp.MustCompile(`://[^/?@]*@`)
	setting = regexp.MustCompile(`([?&]([^=&]*)=)[^&]*`)
)

// public is a text whose URLs hold no secrets: neither users, nor values of their queries but for a few that are none.
func public(text string) string {
	return urls.ReplaceAllStringFunc(text, func(url string) string {
		return setting.ReplaceAllStringFunc(user.ReplaceAllString(url, "://…@"), func(s string) string {
			of := setting.FindStringSubmatch(s)
			if slices.Contains([]string{"type", "warehouse", "region", "prefix"}, of[2]) {
				return s
			}
			return of[1] + "…"
		})
	})
}

// rewriter changes each text before it is written. What it changes must be written at once.
type rewriter struct {
	io.Writer
	text   func(string) string
	failed error // the last that a write met
}

func (w *rewriter) Write(b []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, w.text(string(b))); err != nil {
		w.failed = err
		return 0, err
	}
	return len(b), nil
}

// Unwrap returns the writer below, which may be a terminal.
func (w *rewriter) Unwrap() io.Writer { return w.Writer }

// flagWriter writes flags in place of the settings that libraries name, and nothing that a terminal obeys.
func flagWriter(to io.Writer, names flagText) *rewriter {
	if terminal(to) == nil {
		return &rewriter{Writer: to, text: names.of}
	}
	return &rewriter{Writer: to, text: func(text string) string { return visible(names.of(text)) }}
}

// visible escapes control characters other than line ends and tabs, and those that turn the direction of text. Names in
// logs and policy files may have them, and a terminal would obey them.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		turns := r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
		if turns || unicode.IsControl(r) && r != '\n' && r != '\t' {
			fmt.Fprintf(&b, "\\x%02x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func terminal(out io.Writer) *os.File {
	if f := table.File(out); f != nil && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}
