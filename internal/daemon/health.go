package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/otlp"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// A health is how the daemon is doing.
type health struct {
	Status  string         `json:"status"` // ok | degraded
	Version string         `json:"version"`
	Hooks   bool           `json:"hooks,omitempty"` // it was started by a hook of another agent, and makes room for others
	Uptime  int64          `json:"uptime_seconds"`
	Model   string         `json:"model"`
	Offline bool           `json:"offline"`
	Plugins map[string]int `json:"plugins"` // how many, by state
	Engine  engineHealth   `json:"engine"`
	Dropped uint64         `json:"events_dropped"`      // that the journal could not keep
	Export  *otlp.Counts   `json:"telemetry,omitempty"` // spans; absent where none are exported
	Reload  *reloadHealth  `json:"reload,omitempty"`
}

// A reloadHealth says that the daemon was told to read its files again, and could not: it works
// with what it read before. It is well nevertheless: a supervisor that started it again would make
// it end.
type reloadHealth struct {
	Time  time.Time `json:"time"`
	Error string    `json:"error"`
}

type engineHealth struct {
	Mode      string         `json:"mode"`
	Connected bool           `json:"connected"`
	Error     string         `json:"error,omitempty"`  // why it is not connected, or its health cannot be told
	Disk      string         `json:"disk,omitempty"`   // why nothing can be written
	Damage    []damageHealth `json:"damage,omitempty"` // what was found damaged, and nobody has acknowledged
}

// A damageHealth is one report of damaged blocks.
type damageHealth struct {
	Time   time.Time `json:"time"`
	Blocks int       `json:"blocks"`
	Whole  int       `json:"whole"` // messages in those blocks that are recovered
	Lost   int       `json:"lost"`  // messages that are not
	Kept   string    `json:"kept"`  // where the blocks are as they were found
	Fix    string    `json:"fix"`
}

// repairFix acknowledges reports of damaged blocks, and recovers what is still to be recovered.
const repairFix = "stop the daemon, then run `patchbay engine repair`"

// Health asks no plugin: whoever watches the daemon asks often, and a plugin that hangs must not
// make it look ill.
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

// examine looks at the disk and for damage.
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

// engineFindings are what a doctor says about an engine that runs.
func engineFindings(e *engine.Engine) []pluginhost.Finding {
	reports, err := e.Damage()
	return EngineFindings(reports, e.Disk(), err)
}

// EngineFindings are what a doctor says about damaged blocks, a disk that cannot be written, and an
// error that kept it from looking.
func EngineFindings(reports []engine.Report, disk, err error) []pluginhost.Finding {
	var out []pluginhost.Finding
	for _, r := range reports {
		for _, f := range r.Findings {
			out = append(out, pluginhost.Finding{Severity: pluginhost.SeverityError, Where: r.Dir,
				Problem: "the engine's store was damaged: " + f.String(), Fix: repairFix})
		}
		if len(r.Findings) == 0 {
			out = append(out, pluginhost.Finding{Severity: pluginhost.SeverityError, Where: r.Dir,
				Problem: "blocks of the engine's store were kept aside here, and the report of what was found is missing", Fix: repairFix})
		}
	}
	if disk != nil {
		out = append(out, pluginhost.Finding{Severity: pluginhost.SeverityError, Problem: disk.Error(), Fix: "free some room on that disk"})
	}
	if err != nil {
		out = append(out, pluginhost.Finding{Severity: pluginhost.SeverityError, Problem: fmt.Sprintf("looking for damage of the engine's store: %v", err)})
	}
	return out
}
