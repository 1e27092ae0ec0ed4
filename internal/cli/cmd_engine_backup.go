package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/archive"
	"github.com/patchbay-dev/patchbay/internal/render"
)

const (
	natsBackup  = "use `nats account backup DIR` there, or `nats stream backup STREAM DIR` for each stream that begins with patchbay_"
	natsRestore = "use `nats account restore DIR` there, or `nats stream restore DIR` for each stream"
)

func newEngineBackupCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write everything that is kept into one file",
		Long: `Write all that the engine keeps into a new FILE, which only you can read, and read it back: every
hash is compared, and every message must be whole. The engine may run meanwhile. Each stream is as
it was at one moment; what is written during the backup may be in it or not.`,
		Example:     "  patchbay engine backup ~/patchbay-$(date +%F).backup",
		Annotations: exits(exit{exitOK, "the file is written and was read back"}, exit{exitFailed, "it is not there"}),
		Args:        arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runEngineBackup(cmd.Context(), a.path(args[0]))
		},
	}
}

type backupJSON struct {
	File string `json:"file"`
	*archive.Summary
}

func (a *app) runEngineBackup(ctx context.Context, file string) error {
	dir, err := a.engineDir(natsBackup)
	if err != nil {
		return err
	}
	s, err := engine.Backup(ctx, dir, file)
	if errors.Is(err, os.ErrExist) {
		return &problem{kind: kindFailed, err: err, fix: "name a file that does not exist yet"}
	}
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(backupJSON{file, s})
	}
	a.printf("%s\n  %s, %s, %s; read back, and all of it is whole\n", render.Line(file), render.Count(s.Streams, "stream"),
		render.Count(s.Blocks, "block"), render.Count(s.Records, "record"))
	return nil
}

func newEngineRestoreCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Put what a backup has in the place of what is kept now",
		Long: `Unpack a backup beside the store, check all of it, have the engine's server open it, and put it in the
place of the store. Before that nothing changes. The store that was there is kept under another
name, which is printed; remove it when you no longer need it.

The engine must not run.`,
		Example:     "  patchbay engine restore ~/patchbay-2026-11-15.backup",
		Annotations: exits(exit{exitOK, "the store is that of the backup"}, exit{exitFailed, "the engine runs, or the backup is not whole; nothing changed"}),
		Args:        arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runEngineRestore(cmd.Context(), a.path(args[0]))
		},
	}
}

func (a *app) runEngineRestore(ctx context.Context, file string) error {
	dir, err := a.engineDir(natsRestore)
	if err != nil {
		return err
	}
	r, err := engine.Restore(ctx, dir, file, a.logger())
	if err != nil {
		return stopFirst(err)
	}
	if a.flags.json {
		return a.printJSON(r)
	}
	a.printf("%s\n  %s, %s, from %s\n", render.Line(r.Dir), render.Count(r.Summary.Streams, "stream"),
		render.Count(r.Summary.Records, "record"), r.Summary.Created.Local().Format("2006-01-02 15:04:05"))
	if r.Before != "" {
		a.printf("  what was there before is %s\n", render.Line(r.Before))
	}
	return nil
}
