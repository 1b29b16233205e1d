package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"opl/policies/policyfile"
	"opl/policies/portable"
	"opl/policies/wholefile"
	"opl/train/pipeline"
)

func exportPolicyCommand() *cobra.Command {
	var as, out, draw string
	cmd, fl := command("export-policy", operands("POLICY"), func(cmd *cobra.Command, args []string) error {
		p, err := policyfile.Load(args[0])
		if err != nil {
			return err
		}
		tree, err := portable.New(p)
		if errors.Is(err, portable.ErrNoTree) && pipeline.Distils(p) {
			err = fmt.Errorf("%w: opl train --distil learns one like it", err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		var b bytes.Buffer
		if err := cmp.Or(tree.Write(&b, as, draw), writable("out", out, args[0])); err != nil {
			return fmt.Errorf("--as %s: %w", as, err)
		}
		if out == "" {
			out := cmd.OutOrStdout()
			if w, ok := out.(*rewriter); ok { // names of columns are no settings
				out = flagWriter(w.Writer, nil)
			}
			_, err = b.WriteTo(out)
			return err
		}
		return wholefile.Write(out, 0, func(to *os.File) error {
			_, err := b.WriteTo(to)
			return err
		})
	})
	oneOf(fl, &as, "as", portable.Formats()...)
	bind(fl, &out, "out", "")
	bind(fl, &draw, "draw", "u")
	return cmd
}
