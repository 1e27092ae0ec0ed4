package cli

import (
	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

func newTraceCommand(a *app) *cobra.Command {
	cmd := newGroupCommand("trace", "Show, record, replay and export what plugins did",
		newTraceListCommand(a), newTraceShowCommand(a), newTraceRecordCommand(a), newTraceReplayCommand(a), newTraceExportCommand(a))
	cmd.GroupID = groupEvents
	return cmd
}

// recorder returns the function that records plugin traffic if `trace record` runs this command, or
// nil.
func (a *app) recorder() func(*pluginhost.Traffic) {
	if a.record == nil {
		return nil
	}
	return a.record.Record
}
