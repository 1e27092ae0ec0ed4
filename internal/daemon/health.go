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
	Status  string         `json:"status" enum:"ok,degraded" doc:"Whether the daemon is healthy." example:"ok"`
	Version string         `json:"version" doc:"The version of Patchbay." example:"0.1.0"`
	Hooks   bool           `json:"hooks,omitempty" doc:"A hook of another agent has started it." example:"false"`
	Uptime  int64          `json:"uptime_seconds" doc:"How long it has been running." example:"11520"`
	Model   string         `json:"model" doc:"PROVIDER:NAME." example:"anthropic:claude-sonnet-4-5"`
	Offline bool           `json:"offline" doc:"The built-in offline model is used." example:"false"`
	Plugins map[string]int `json:"plugins" doc:"The number of plugins by state." example:"{\"ready\":4,\"disabled\":1}"`
	Engine  engineHealth   `json:"engine" doc:"The store of sessions, traces and runs."`
	Dropped uint64         `json:"events_dropped" doc:"Events that could not be stored." example:"0"`
	Export  *otlp.Counts   `json:"telemetry,omitempty" doc:"Absent if no spans are exported."`
	Reload  *reloadFailure `json:"reload,omitempty" doc:"Why the last reload failed; absent if it did not fail."`
}

// A reloadFailure reports that the last reload failed, and that the daemon still works with the
// files that it read before. A supervisor should not restart the daemon for this: with the files as
// they are now, it would not start.
type reloadFailure struct {
	Time  time.Time `json:"time" doc:"When it was tried." example:"2026-11-16T06:00:19Z"`
	Error string    `json:"error" doc:"What was wrong." example:"config.toml:3:1: unknown key modle"`
}

type engineHealth struct {
	Mode      string         `json:"mode" enum:"owner,guest,external" doc:"owner: the store runs in this process; guest: in another one of this machine; external: a server or a cluster elsewhere." example:"owner"`
	Connected bool           `json:"connected" doc:"Whether it answers." example:"true"`
	Error     string         `json:"error,omitempty" doc:"Why it is not connected, or why its health is unknown." example:"connection refused"`
	Disk      string         `json:"disk,omitempty" doc:"Why nothing can be written." example:"no space left on device"`
	Damage    []engineDamage `json:"damage,omitempty" doc:"Damage that patchbay engine repair has not handled yet."`
}

// An engineDamage is one report of damaged blocks.
type engineDamage struct {
	Time   time.Time `json:"time" doc:"When it was found." example:"2026-11-16T06:00:19Z"`
	Blocks int       `json:"blocks" doc:"How many blocks." example:"1"`
	Whole  int       `json:"whole" doc:"Messages in them that are recovered." example:"120"`
	Lost   int       `json:"lost" doc:"Messages that are lost." example:"2"`
	Kept   string    `json:"kept" doc:"The directory with copies of the damaged blocks." example:"/home/mira/.local/share/patchbay/engine/damaged/1"`
	Fix    string    `json:"fix" doc:"How to fix it." example:"stop the daemon, then run patchbay engine repair"`
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
		h.Damage = append(h.Damage, engineDamage{r.Time, len(r.Findings), whole, lost, r.Dir, repairFix})
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
