// Command todo is a Cobra program whose commands pass through plugins: hooks may tag an entry,
// refuse it, or rewrite the output.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/adapter/command/cobracmd"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		os.Exit(1) // Cobra has printed the error
	}
}

func run(ctx context.Context, args []string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	host, err := patchbay.Open(ctx, &patchbay.Options{Logger: log})
	if err != nil {
		log.Error("the plugins cannot be opened", "err", err)
		return err
	}
	defer host.Close()
	return cobracmd.Execute(ctx, newRoot(), args, host)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{Use: "todo", Short: "Keeps a list", SilenceUsage: true}
	var priority, tags string
	add := &cobra.Command{
		Use:   "add TEXT…",
		Short: "Adds an entry",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "added %q (priority %s, tags %s)\n", strings.Join(args, " "), priority, tags)
			return err
		},
	}
	add.Flags().StringVar(&priority, "priority", "normal", "how urgent it is")
	add.Flags().StringVar(&tags, "tags", "none", "what it is about")
	root.AddCommand(add)
	return root
}
