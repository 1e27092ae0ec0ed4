package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// serveLog is the name of the daemon's log in the state directory.
const serveLog = "serve.log"

func newServeLogsCommand(a *app) *cobra.Command {
	follow, lines := false, 100
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Show the daemon's log",
		Long: `Show the end of the log of ` + "`patchbay serve`" + `: serve.log in the state directory.
The daemon also writes its log to stderr. At 4 MiB a new file begins, and the
old one is kept as serve.log.1. The log of a daemon that has ended is shown too.`,
		Example:     "  patchbay serve logs\n  patchbay serve logs -n 20 -f",
		Annotations: exits(exit{exitOK, "the log was printed, or Ctrl-C ended -f"}, exit{exitNotFound, "there is no log yet"}),
		Args:        arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if lines < 1 {
				return usage("leave it out to see the last 100 lines", "--lines %d: want at least 1", lines)
			}
			return a.serveLogs(cmd.Context(), lines, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new lines until Ctrl-C")
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "show the last `N` lines")
	return cmd
}

func (a *app) serveLogs(ctx context.Context, n int, follow bool) error {
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err != nil {
		return err
	}
	shown := 0
	r := &logReader{path: filepath.Join(dirs.State, serveLog), each: func(line string) error {
		shown++
		if a.flags.json {
			return a.printJSON(map[string]string{"line": line})
		}
		a.printf("%s\n", render.Wrap(render.Line(line), a.screen().Width, "  "))
		return a.out.err
	}}
	defer r.close()
	err = r.last(n)
	if errors.Is(err, fs.ErrNotExist) {
		return &problem{kind: kindNotFound, err: fmt.Errorf("no daemon has written a log yet: there is no %s", r.path), fix: "`patchbay serve` runs the daemon"}
	}
	if err != nil {
		return err
	}
	if shown == 0 && !a.flags.json {
		a.tellf("The log is empty: %s\n", r.path)
	}
	if !follow {
		return nil
	}
	return r.follow(ctx)
}
