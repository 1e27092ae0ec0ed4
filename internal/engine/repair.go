package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
)

// An InUseError reports that a data directory cannot be changed because a process runs the engine
// on it.
type InUseError struct {
	Dir string
	PID int // 0: not known
}

func (e *InUseError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("data directory %s: %s runs the engine on it", e.Dir, who)
}

// holdStopped takes the lock of a data directory, so that no engine can run on it. It returns nil
// if the directory does not exist.
func holdStopped(dir string) (*fileLock, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	lock, err := tryLock(dir)
	if errors.Is(err, errLocked) {
		return nil, &InUseError{Dir: dir, PID: holder(dir)}
	}
	return lock, err
}

// A CheckResult is the result of a check of a data directory.
type CheckResult struct {
	Dir     string          `json:"dir"`
	Running int             `json:"running,omitempty"` // the process that runs the engine; 0: none, or not known
	Read    *blocks.Checked `json:"read,omitempty"`    // nil: an engine runs, so no block was read
	Reports []Report        `json:"reports"`           // found before, and not acknowledged
}

// OK reports whether nothing is wrong.
func (r *CheckResult) OK() bool {
	return len(r.Reports) == 0 && (r.Read == nil || len(r.Read.Findings) == 0 && len(r.Read.Gone) == 0)
}

// Check reads every block of a data directory and changes nothing. While an engine runs on it,
// Check only returns what that engine has found. With brief it skips the streams whose files have
// not changed since the last clean stop.
func Check(dir string, brief bool, log *slog.Logger) (*CheckResult, error) {
	reports, err := blocks.Unacknowledged(dir)
	if err != nil {
		return nil, err
	}
	r := &CheckResult{Dir: dir, Reports: append([]Report{}, reports...)}
	lock, err := holdStopped(dir)
	if used, ok := errors.AsType[*InUseError](err); ok {
		r.Running = used.PID
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if lock == nil { // there is no directory, and nothing to read
		r.Read = &blocks.Checked{}
		return r, nil
	}
	read, err := blocks.Check(dir, brief, log)
	r.Read = &read
	return r, errors.Join(err, lock.release())
}

// A RepairResult is the result of a repair.
type RepairResult struct {
	Dir          string          `json:"dir"`
	Found        *Report         `json:"found,omitempty"` // found by this repair; nil: nothing
	Acknowledged []Report        `json:"settled"`         // all reports that it acknowledged, with Found
	Read         *blocks.Checked `json:"read"`            // the store after the repair
}

// Repair recovers the undamaged messages of damaged blocks, lets a server open the result and
// compares the counts, and acknowledges all reports. No engine may run on the directory.
func Repair(ctx context.Context, dir string, log *slog.Logger) (*RepairResult, error) {
	r := &RepairResult{Dir: dir, Acknowledged: []Report{}, Read: &blocks.Checked{}}
	lock, err := holdStopped(dir)
	if err != nil || lock == nil {
		return r, err
	}
	return r, errors.Join(r.run(ctx, log), lock.release())
}

func (r *RepairResult) run(ctx context.Context, log *slog.Logger) (err error) {
	if r.Found, _, err = blocks.Open(r.Dir, blocks.Options{Now: time.Now(), Logger: log, All: true}); err != nil {
		return err
	}
	read, err := blocks.Check(r.Dir, false, log)
	if err != nil {
		return err
	}
	r.Read = &read
	if len(read.Findings) > 0 {
		return fmt.Errorf("still damaged after the repair: %s", read.Findings[0])
	}
	if err := verify(ctx, r.Dir, read.Counts, log); err != nil {
		return fmt.Errorf("the repaired store does not open as it should: %w", err)
	}
	if err := blocks.Seal(r.Dir, nil); err != nil {
		return err
	}
	r.Acknowledged, err = blocks.Acknowledge(r.Dir, time.Now())
	return err
}

// verify lets a server open a directory, and compares how many messages each stream has.
func verify(ctx context.Context, dir string, want []blocks.Count, log *slog.Logger) error {
	if _, err := os.Stat(filepath.Join(dir, "jetstream")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var bad faults
	srv, err := startServer(dir, log, bad.report, nil)
	if err != nil {
		return err
	}
	err = compare(ctx, srv, want)
	srv.Shutdown()
	srv.WaitForShutdown()
	return errors.Join(err, bad.since(time.Time{}))
}

func compare(ctx context.Context, srv *server.Server, want []blocks.Count) error {
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for _, c := range want {
		if c.Unopened {
			continue
		}
		s, err := js.Stream(ctx, c.Stream)
		if err != nil {
			return fmt.Errorf("stream %s: %w", c.Stream, err)
		}
		got := int(s.CachedInfo().State.Msgs)
		if got > c.Messages || c.Unlimited && got != c.Messages {
			return fmt.Errorf("stream %s: the server has %d messages, the files have %d", c.Stream, got, c.Messages)
		}
	}
	return nil
}
