package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"opl/train/report/table"
)

// settingText is how libraries name a setting, also at the end of a line.
var settingText = regexp.MustCompile(`(?: ?\bsetting(\s*\n\s*)|\bsetting )([a-z][a-z0-9]*(?:-[a-z0-9]+)*)`)

// flagText turns "setting NAME", as libraries say, into --NAME where that is a flag.
type flagText map[string]bool

// flagsOf are the flags of commands.
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
		if !names[m[2]] {
			return found
		}
		return m[1] + "--" + m[2]
	})
}

// flagWriter writes texts of libraries with flags in place of settings. What names one
// must be written at once.
type flagWriter struct {
	io.Writer
	names flagText
}

func (w flagWriter) Write(b []byte) (int, error) {
	text := w.names.of(string(b))
	if terminal(w.Writer) != nil {
		text = visible(text)
	}
	if _, err := io.WriteString(w.Writer, text); err != nil {
		return 0, err
	}
	return len(b), nil
}

// visible escapes control characters, which names in logs and policy files may have, but for ends of lines and
// tabs: a terminal would obey them.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			fmt.Fprintf(&b, "\\x%02x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Unwrap is what is written to.
func (w flagWriter) Unwrap() io.Writer { return w.Writer }

// terminal is the terminal that is written to, nil if it is none.
func terminal(out io.Writer) *os.File {
	if f := table.File(out); f != nil && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}
