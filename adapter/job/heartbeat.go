package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// A heartbeat is the content of AGENT_HEARTBEAT_FILE: how the agent's program ran last, and when it
// last succeeded. The field names are dotagent's, since its users read the file with their own
// tools. Times are in seconds since 1970 and as text.
type heartbeat struct {
	Name           string   `json:"name"`
	Slug           string   `json:"slug"`
	Args           []string `json:"args"`
	StartedAt      int64    `json:"started_at"`
	StartedISO     string   `json:"started_at_iso"`
	FinishedAt     *int64   `json:"finished_at"` // null while the program runs
	FinishedISO    *string  `json:"finished_at_iso"`
	ExitCode       *int     `json:"exit_code"`
	Duration       *int64   `json:"duration_seconds"`
	LastSuccess    *int64   `json:"last_success_at"` // a failure does not change it
	LastSuccessISO *string  `json:"last_success_at_iso"`
}

// isoForm is the layout in which dotagent writes a time.
const isoForm = "2006-01-02T15:04:05-0700"

// maxHeartbeat limits how much of the file is read: agents can write to it, too.
const maxHeartbeat = 64 << 10

// noExitCode stands for a program that was stopped or did not start.
const noExitCode = -1

// heartbeatFile returns the path of the file and creates its directory. It returns "" for a dry
// run.
func (a *attempt) heartbeatFile(tmp string) (string, error) {
	if a.dryRun {
		return "", nil
	}
	dir := filepath.Join(tmp, "state")
	if a.runner.StateDir != "" {
		dir = filepath.Join(a.runner.StateDir, a.manifest.Slug())
	}
	return filepath.Join(dir, a.schedule.Slug()+".heartbeat.json"), os.MkdirAll(dir, 0o700)
}

// beginHeartbeat writes that the program begins. The function that it returns writes how the
// program ended. If the file cannot be written, the agent runs nevertheless; the error goes into
// the run's output and into the log.
func (a *attempt) beginHeartbeat(path string) (end func(code int, err error)) {
	if path == "" {
		return func(int, error) {}
	}
	began := a.runner.clock.Now()
	h := heartbeat{Name: a.manifest.Agent.Name, Slug: a.schedule.Slug(), Args: append([]string{}, a.schedule.Args...),
		StartedAt: began.Unix(), StartedISO: began.Format(isoForm)}
	h.readLastSuccess(path)
	a.writeHeartbeat(path, &h)
	return func(code int, err error) {
		now := a.runner.clock.Now()
		h.setEnded(now, now.Sub(began), exitOf(code, err))
		a.writeHeartbeat(path, &h)
	}
}

// exitOf returns the exit code to write into the file.
func exitOf(code int, err error) int {
	switch {
	case errors.Is(err, errTimedOut):
		return exitTimedOut
	case err != nil:
		return noExitCode
	}
	return code
}

// readLastSuccess reads the time of the last success from the file that is there. It ignores
// everything but a regular file, because an agent in a sandbox may have put a link there. A file
// that cannot be read or decoded is ignored, too.
func (h *heartbeat) readLastSuccess(path string) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return
	}
	data, err := plainfile.Read(path, maxHeartbeat)
	if err != nil {
		return
	}
	var before struct {
		LastSuccess *int64 `json:"last_success_at"`
	}
	if json.Unmarshal(data, &before) == nil && before.LastSuccess != nil {
		h.setLastSuccess(time.Unix(*before.LastSuccess, 0))
	}
}

func (h *heartbeat) setLastSuccess(at time.Time) {
	seconds, text := at.Unix(), at.Format(isoForm)
	h.LastSuccess, h.LastSuccessISO = &seconds, &text
}

// setEnded fills in how the program ended.
func (h *heartbeat) setEnded(at time.Time, took time.Duration, code int) {
	seconds, text, duration := at.Unix(), at.Format(isoForm), int64(took/time.Second)
	h.FinishedAt, h.FinishedISO, h.ExitCode, h.Duration = &seconds, &text, &code, &duration
	if code == 0 {
		h.setLastSuccess(at)
	}
}

func (a *attempt) writeHeartbeat(path string, h *heartbeat) {
	if err := replaceFile(path, h); err != nil {
		a.out.note("cannot write the heartbeat file: %s", err)
		a.runner.Logger.Warn("cannot write the heartbeat file", "agent", h.Name, "err", err)
	}
}

// replaceFile writes value as JSON, readable by the user alone. It writes the whole file or
// nothing. A link at path is replaced, not followed.
func replaceFile(path string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, append(data, '\n'), atomicfile.Options{}); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
