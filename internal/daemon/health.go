package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/otlp"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// A health is the answer of GET /v1/health.
type health struct {
	Status  string         `json:"status"` // ok | degraded
	Version string         `json:"version"`
	Hooks   bool           `json:"hooks,omitempty"` // a hook of another agent has started the daemon: it yields to others
	Uptime  int64          `json:"uptime_seconds"`
	Model   string         `json:"model"`
	Offline bool           `json:"offline"`
	Plugins map[string]int `json:"plugins"` // how many, by state
	Engine  engineHealth   `json:"engine"`
	Dropped uint64         `json:"events_dropped"`      // events that the journal could not store
	Export  *otlp.Counts   `json:"telemetry,omitempty"` // exported spans; absent if none are exported
	Reload  *reloadHealth  `json:"reload,omitempty"`
}

// A reloadHealth reports that the last reload failed, and that the daemon still works with the
// files that it read before. A supervisor should not restart the daemon for this: with the files as
// they are now, it would not start.
type reloadHealth struct {
	Time  time.Time `json:"time"`
	Error string    `json:"error"`
}

type engineHealth struct {
	Mode      string         `json:"mode"`
	Connected bool           `json:"connected"`
	Error     string         `json:"error,omitempty"`  // why it is not connected, or why its health is not known
	Disk      string         `json:"disk,omitempty"`   // why nothing can be written
	Damage    []damageHealth `json:"damage,omitempty"` // damage that was found and not acknowledged
}

// A damageHealth is one report of damaged blocks.
type damageHealth struct {
	Time   time.Time `json:"time"`
	Blocks int       `json:"blocks"`
	Whole  int       `json:"whole"` // messages in those blocks that were recovered
	Lost   int       `json:"lost"`  // messages that were not
	Kept   string    `json:"kept"`  // the directory with the blocks as they were found
	Fix    string    `json:"fix"`
}

// repairFix tells how to acknowledge reports of damaged blocks and to recover what can still be
// recovered.
const repairFix = "stop the daemon, then run `patchbay engine repair`"

// Health returns the health without asking a plugin. Monitors ask often, and a plugin that hangs
// must not make the daemon look unhealthy.
func (i inspect) Health(context.Context) (any, bool) {
	m, e := i.Model().Info(), i.Engine.Status()
	h := health{Status: "ok", Version: i.version, Hooks: i.forHooks, Uptime: int64(time.Since(i.began).Seconds()),
		Model: m.Provider + ":" + m.Name, Offline: m.Offline, Plugins: map[string]int{},
		Engine: engineHealth{Mode: string(e.Mode), Connected: e.Connected}, Dropped: i.Journal.Dropped(), Export: i.exported()}
	if e.Err != nil {
		h.Engine.Error = e.Err.Error()
	}
	h.Engine.examine(i.Engine)
	ok := e.Connected && h.Engine.well()
	if !ok {
		h.Status = "degraded"
	}
	if h.Reload = i.faults.health(); h.Reload != nil {
		h.Status = "degraded"
	}
	for _, p := range i.Host.Plugins() {
		h.Plugins[string(p.State)]++
	}
	return h, ok
}

// examine checks the disk and looks for damage.
func (h *engineHealth) examine(e *engine.Engine) {
	if err := e.Disk(); err != nil {
		h.Disk = err.Error()
	}
	reports, err := e.Damage()
	if err != nil {
		h.Error = err.Error()
	}
	for _, r := range reports {
		whole, lost, _ := r.Totals()
		h.Damage = append(h.Damage, damageHealth{r.Time, len(r.Findings), whole, lost, r.Dir, repairFix})
	}
}

func (h *engineHealth) well() bool { return h.Error == "" && h.Disk == "" && len(h.Damage) == 0 }

// engineFindings returns the doctor's findings about a running engine.
func engineFindings(e *engine.Engine) []pluginhost.Finding {
	reports, err := e.Damage()
	return EngineFindings(reports, e.Disk(), err)
}

// unreadFix returns how to make the engine's store readable, or "".
func unreadFix(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "let your user read and write it"
	}
	return ""
}

// EngineFindings returns the doctor's findings about damaged blocks, a disk that cannot be written,
// and an error during the search for damage.
func EngineFindings(reports []engine.Report, disk, err error) []pluginhost.Finding {
	var out []pluginhost.Finding
	for _, r := range reports {
		for _, f := range r.Findings {
			out = append(out, pluginhost.Finding{Severity: pluginhost.SeverityError, Where: r.Dir,
				Problem: "the engine's store was damaged: " + f.String(), Fix: repairFix})
		}
		if len(r.Findings) == 0 {
			out = append(out, pluginhost.Finding{Severity: pluginhost.SeverityError, Where: r.Dir,
				Problem: "damaged blocks of the engine's store were set aside here, and their report is missing", Fix: repairFix})
		}
	}
	if disk != nil {
		out = append(out, pluginhost.Finding{Severity: pluginhost.SeverityError, Problem: disk.Error(), Fix: "free some room on that disk"})
	}
	if err != nil {
		out = append(out, pluginhost.Finding{Severity: pluginhost.SeverityError, Problem: fmt.Sprintf("looking for damage of the engine's store: %v", err), Fix: unreadFix(err)})
	}
	return out
}
