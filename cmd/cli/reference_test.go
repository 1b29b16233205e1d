package cli

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opl/train"
	"opl/train/library"
)

//go:generate go test . -run TestReference_EqualsWhatTheCodeGenerates -update-reference

var updateReference = flag.Bool("update-reference", false, "write the generated pages of docs/reference")

// The help speaks of the flags that there are, and says of each what it is for.
func TestHelp_NamesEveryFlagAndSaysWhatItIsFor(t *testing.T) {
	lib, used := library.Standard(), map[string]bool{"shared": true, "log": true, "statuses": true, "opl": true}
	known, root := words(lib), rootCommand(lib)
	shared, missing := documentOf("shared", known), map[string]bool{}
	for name := range shared.flags {
		missing[name] = true
	}
	for _, c := range root.Commands() {
		if c.Name() == "completion" || c.Name() == "help" {
			continue
		}
		used[c.Name()] = true
		d := documentOf(c.Name(), known)
		for _, f := range slices.Concat(strings.Fields(d.common), slices.Collect(maps.Keys(d.flags))) {
			if c.Flags().Lookup(f) == nil {
				t.Errorf("opl %s has no flag --%s", c.Name(), f)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			delete(missing, f.Name)
			if f.Usage == "" || strings.Contains(f.Usage+d.long, "{{") {
				t.Errorf("opl %s --%s: the help says %q", c.Name(), f.Name, f.Usage)
			}
		})
	}
	if len(missing) > 0 {
		t.Errorf("no command has the shared flags %v", missing)
	}
	files, err := documents.ReadDir("help")
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".txt"); !used[name] {
			t.Errorf("help/%s.txt is of no command", name)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// TestReference_EqualsWhatTheCodeGenerates holds the generated pages of docs/reference against the code; go generate ./cmd/cli writes them.
func TestReference_EqualsWhatTheCodeGenerates(t *testing.T) {
	lib := library.Standard()
	for name, page := range map[string]string{
		"commands.md": commandsPage(lib), "settings.md": settingsPage(), "names.md": namesPage(lib), "policyfile.md": policyFilePage(t),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("../../docs/reference", name)
			if *updateReference {
				if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if was, err := os.ReadFile(path); err != nil || string(was) != page {
				t.Errorf("%s differs from the code (%v): go generate ./cmd/cli", path, err)
			}
		})
	}
}

const generated = "<!-- Written by go generate ./cmd/cli from the code. Do not edit. -->\n\n"

func commandsPage(lib library.Library) string {
	var b strings.Builder
	b.WriteString(generated + "# Commands and flags\n\n")
	root := rootCommand(lib)
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion" {
			fmt.Fprintf(&b, "- [opl %s](#opl-%s): %s\n", c.Name(), c.Name(), c.Short)
		}
	}
	fmt.Fprintf(&b, "\n```text\n%s\n```\n", page("statuses"))
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion" {
			fmt.Fprintf(&b, "\n## opl %s\n\n```text\n%s```\n", c.Name(), wholeHelp(c))
		}
	}
	return machineless(b.String())
}

// wholeHelp is the help of a command with all flags.
func wholeHelp(c *cobra.Command) string {
	var out bytes.Buffer
	c.SetOut(&out)
	_ = c.Help()
	return out.String()
}

// machineless replaces defaults that depend on the machine.
func machineless(page string) string {
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		if strings.Contains(line, "--jobs int") {
			lines[i], _, _ = strings.Cut(line, " (default")
		}
	}
	return strings.Join(lines, "\n")
}

func settingsPage() string {
	var b strings.Builder
	b.WriteString(generated + "# Settings\n\nKeys of grid files, and flags of the same names.\n\n| setting | default | |\n|---|---|---|\n")
	for _, s := range train.AllSettings() {
		fmt.Fprintf(&b, "| `%s` | %v | %s |\n", s.Name, cell(s.Of(train.DefaultSettings())), cell(s.Help))
	}
	return b.String()
}

func namesPage(lib library.Library) string {
	var b strings.Builder
	b.WriteString(generated + "# Objectives, weights, policies, representations\n")
	section := func(title, head string) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n%s\n", title, head, strings.Repeat("|---", strings.Count(head, "|")-1)+"|")
	}
	section("Objectives", "| name | | policy | guarantee of the policy |")
	for _, o := range lib.Objectives {
		guarantee := "no: it trains on all rows"
		switch {
		case o.Recipe:
			guarantee = "yes"
		case o.Policy == "gaussian":
			guarantee = "yes, of the posterior's mixture"
		case o.Policy == "softmax-posterior":
			guarantee = "yes, on draws"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", o.Name, cell(o.About), o.Policy, guarantee)
	}
	section("Weights", "| name | | hyperparameter |")
	for _, w := range lib.Weights {
		hyper := "none"
		if w.Tunable() {
			hyper = fmt.Sprintf("in [0, 1]; unregularized at %v", w.IPSAt)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", w.Name, cell(w.About), hyper)
	}
	section("Policies", "| name | |")
	for _, p := range lib.Policies {
		fmt.Fprintf(&b, "| `%s` | %s |\n", p.Name, cell(p.About))
	}
	section("Representations", "| name | |")
	for _, r := range lib.Representations {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Name, cell(r.About))
	}
	section("Noises", "| name | |")
	for _, n := range lib.Noises {
		fmt.Fprintf(&b, "| `%s` | %s |\n", n.Name(), cell(n.About))
	}
	b.WriteString("\n[Details of representations and λ](representations.md). [Estimators](estimators.md).\n")
	return b.String()
}

// cell is text in a table's cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// policyFilePage is the comment of package policyfile.
func policyFilePage(t *testing.T) string {
	const dir = "../../policies/policyfile/doc.go"
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, dir, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	p, err := doc.NewFromFiles(set, []*ast.File{file}, "opl/policies/policyfile")
	if err != nil {
		t.Fatal(err)
	}
	printer := p.Printer()
	printer.HeadingLevel, printer.HeadingID = 2, func(*comment.Heading) string { return "" }
	printer.DocLinkURL = func(l *comment.DocLink) string { return "" }
	return generated + "# The policy file\n\n" + string(printer.Markdown(p.Parser().Parse(p.Doc)))
}
