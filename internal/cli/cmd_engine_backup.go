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
	natsBackup  = "on that server, use `nats account backup DIR`, or `nats stream backup STREAM DIR` for each stream whose name begins with patchbay_"
	natsRestore = "on that server, use `nats account restore DIR`, or `nats stream restore DIR` for each stream"
)

func newEngineBackupCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write all stored data to one file",
		Long: `Write all data of the engine to a new FILE, which only you can read. Then read
the file back, compare every hash, and check every record. The engine may run
in the meantime. All data of one kind (transcripts, events, runs and so on) is
from the same moment. Data of different kinds may be from different moments.
Data that is written during the backup may be missing.`,
		Example:     "  patchbay engine backup ~/patchbay-$(date +%F).backup",
		Annotations: exits(exit{exitOK, "the file was written and read back"}, exit{exitFailed, "no backup was made: the file could not be written or read back"}, exit{exitRefused, "the file exists already"}),
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
		return &problem{kind: kindRefused, err: err, fix: "name a file that does not exist yet"}
	}
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(backupJSON{file, s})
	}
	a.sayf("%s\n  %s, %s, %s; read back without an error\n", a.place(file), render.Count(s.Streams, "stream"),
		render.Count(s.Blocks, "block"), render.Count(s.Records, "record"))
	return nil
}

func newEngineRestoreCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace the stored data with that of a backup",
		Long: `Unpack a backup beside the store, check all of it, and open it with NATS as the
engine does. Only then is the store replaced. The old store is kept under
another name, which is printed. You can remove it when you no longer need it.

The engine must not run.`,
		Example:     "  patchbay engine restore ~/patchbay-2026-11-15.backup",
		Annotations: exits(exit{exitOK, "the backup was restored"}, exit{exitFailed, "the engine runs, or the backup is damaged; nothing changed"}, exit{exitUsage, "usage error, or there is no FILE"}),
		Args:        arguments("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runEngineRestore(cmd.Context(), a.path(args[0]))
		},
	}
}

func (a *app) runEngineRestore(ctx context.Context, file string) error {
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return usage("name a file that `patchbay engine backup` has written", "%w", err)
	}
	dir, err := a.engineDir(natsRestore)
	if err != nil {
		return err
	}
	r, err := engine.Restore(ctx, dir, file, a.logger())
	if err = withStopFix(err); err != nil && fixOf(err) == "" {
		err = withFix(err, "name a file that `patchbay engine backup` has written")
	}
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(r)
	}
	a.sayf("%s\n  %s, %s, from %s\n", a.place(r.Dir), render.Count(r.Summary.Streams, "stream"),
		render.Count(r.Summary.Records, "record"), r.Summary.Created.Local().Format("2006-01-02 15:04:05"))
	if r.Before != "" {
		a.sayf("  the old store is %s\n", a.place(r.Before))
	}
	return nil
}
