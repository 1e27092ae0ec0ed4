package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/demo"
)

func newDemoCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "demo",
		Short:   "See plugins at work, without installing anything",
		GroupID: groupMore,
		Long: `Send one turn of an agent, one command and one scheduled job through sample
plugins of five dialects, and show what each plugin changes at each step. Your
own plugins and your configuration are not used.`,
		Example: `  patchbay demo
  patchbay demo --json | jq -r .point`,
		Annotations: exits(exit{exitOK, "the demo ran"}, exit{exitFailed, "the demo failed on this machine"}, never(exitConfig)),
		Args:        arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.flags.config != "" || len(a.flags.dialects) > 0 {
				return usage("leave them out", "patchbay demo: --config and --dialect have no effect on the demo's own plugins")
			}
			o := a.screen()
			return demo.Run(cmd.Context(), demo.Options{Out: a.out, Color: o.Color, Width: o.Width, JSON: a.flags.json, Logger: a.logger(), Record: a.recorder(), Self: a.self()})
		},
	}
}

// self returns what to type for this program: its name if PATH has it, else its path. For a program
// that `go run` built it returns "", because that program is deleted when it ends.
func (a *app) self() string {
	path, err := os.Executable()
	switch {
	case a.startable("patchbay"):
		return "patchbay"
	case err != nil || strings.Contains(filepath.ToSlash(path), "/go-build"):
		return ""
	}
	return path
}
