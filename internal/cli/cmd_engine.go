package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/engine"
)

func newEngineCommand(a *app) *cobra.Command {
	cmd := newGroupCommand("engine", "Check, repair, back up and restore the stored data",
		newEngineCheckCommand(a), newEngineRepairCommand(a), newEngineBackupCommand(a), newEngineRestoreCommand(a))
	cmd.GroupID = groupMore
	cmd.Long = `The engine stores sessions, transcripts, events and the data of plugins in the
directory "engine" of Patchbay's data directory (` + "`patchbay config path`" + `).
These commands work on its files. If [engine] url in the configuration names a
server or a cluster, the files are on that server: use its tools.`
	return cmd
}

// engineDir returns the data directory of the embedded engine. If the engine is another server, it
// returns an error with the given fix.
func (a *app) engineDir(fix string) (string, error) {
	dirs, err := a.dirs()
	if err != nil {
		return "", err
	}
	c, err := config.Load(dirs.ConfigFile)
	if err != nil {
		return "", err
	}
	o, err := engine.Configured(dirs, c.Engine)
	if err != nil {
		return "", err
	}
	if o.URL != "" {
		return "", &problem{kind: kindFailed, fix: fix,
			err: errors.New("the engine is another server, set by [engine] url: its files are not here")}
	}
	return o.Dir, nil
}

// withStopFix adds to an error which process uses the files, and how to end it.
func withStopFix(err error) error {
	used, ok := errors.AsType[*engine.InUseError](err)
	if !ok {
		return err
	}
	fix := "end the daemon and every chat, then run the command again"
	if used.PID != 0 {
		fix = fmt.Sprintf("end process %d (`patchbay serve`, a chat or a job) with Ctrl-C or `kill %d`, then run the command again", used.PID, used.PID)
	}
	return &problem{kind: kindFailed, err: err, fix: fix}
}
