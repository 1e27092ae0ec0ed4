package dialect

import (
	"errors"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// Values of [Status.Health]. A dialect may report others.
const (
	HealthOK         = "ok"
	HealthRestarting = "restarting" // the process has ended and will be started again
	HealthFailing    = "failing"    // the process was started again and did not become ready
	HealthStopped    = "stopped"
)

// Status describes an opened plugin.
type Status struct {
	Pid      int    // 0: no process now
	Restarts int    // since it was opened
	Health   string // one of the constants above, or the plugin's own word
	Err      error  // why it is not running, or why it last ended
	Doubt    error  // a health check that failed, although the plugin can be used; nil: none failed

	Notifications        int64 // sent by the plugin and taken by the host
	NotificationsDropped int64
}

// KeptStatus describes a plugin whose process is kept running.
func KeptStatus[C any](kept *proc.Kept[C]) Status {
	st := Status{Pid: kept.Pid(), Restarts: kept.Restarts(), Health: HealthOK}
	_, err := kept.Get()
	if err == nil {
		return st
	}
	st.Err, st.Health = err, HealthRestarting
	if down, ok := errors.AsType[*proc.DownError](err); ok && down.Err != nil {
		st.Health = HealthFailing
	}
	if errors.Is(err, proc.ErrStopped) {
		st.Health = HealthStopped
	}
	return st
}
