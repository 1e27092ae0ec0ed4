package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		GroupID: groupMore,
		Example: `  patchbay version
  patchbay version --json | jq -r .version`,
		Annotations: exits(exit{exitOK, "the version was printed"}, never(exitConfig)),
		Args:        arguments(),
		RunE:        func(*cobra.Command, []string) error { return a.runVersion() },
	}
}

// versionJSON is the version in JSON.
type versionJSON struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // empty: not built from a checkout
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (a *app) runVersion() error {
	v := versionJSON{Version: pluginhost.Version, Commit: commit(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if a.flags.json {
		return a.printJSON(v)
	}
	a.printf("patchbay %s\n%s %s/%s", v.Version, v.Go, v.OS, v.Arch)
	if v.Commit != "" {
		a.printf(", commit %.12s", v.Commit)
	}
	a.printf("\n")
	return nil
}

// commit returns the revision that the program was built from, as the Go tool recorded it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
