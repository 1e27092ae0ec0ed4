package lease

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/guard"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

const (
	// guardianTime is how long the guardian of a dead process may take to end the processes that it
	// has left. Mostly it takes milliseconds.
	guardianTime = time.Second
	// leftoverPoll is the time between two checks. Two checks in a row must find nothing, because
	// one check may miss a process that is forking.
	leftoverPoll = 10 * time.Millisecond
)

// A Holder identifies a process that holds something.
type Holder struct {
	Machine string   `json:"machine,omitempty"` // identifies the boot of a machine, and the namespaces; "": not known
	PID     int      `json:"pid"`
	Start   uint64   `json:"start,omitempty"` // when the process began, in ticks of the machine: process ids are reused
	Marks   []string `json:"marks,omitempty"` // a process with one of these marks was started by the holder
	Name    string   `json:"name"`            // for people
}

// Self returns the holder for this process. marks are those of the process groups in which it
// starts other processes.
func Self(marks ...string) Holder {
	h := Holder{PID: os.Getpid(), Machine: machineID(), Name: processName()}
	h.Marks = slices.DeleteFunc(slices.Clone(marks), func(m string) bool { return m == "" })
	if h.Machine != "" {
		h.Start, _ = startTime(h.PID) // 0: State returns Elsewhere
	}
	return h
}

func processName() string {
	host, err := os.Hostname()
	if err != nil { // use the process id alone
		return fmt.Sprintf("process %d", os.Getpid())
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), host)
}

// Known reports whether a stored holder is valid.
func (h Holder) Known() bool { return h.PID > 0 && h.Name != "" }

// A State says what this process can find out about a holder.
type State int

// The states.
const (
	Elsewhere State = iota // not a process of this machine, or not known
	Alive
	Dead
)

// State reports whether the process is alive.
func (h Holder) State() State {
	if h.Machine == "" || h.Start == 0 || h.PID <= 0 || h.Machine != machineID() {
		return Elsewhere
	}
	if !exists(h.PID) {
		return Dead
	}
	start, ended := startTime(h.PID)
	switch {
	case start == 0: // it exists, but its start time cannot be read
		return Alive
	case start != h.Start || ended:
		return Dead
	}
	return Alive
}

// A LeftoverError says that a holder has died but processes that it started still run. If another
// process took over now, both would work at the same time.
type LeftoverError struct {
	Holder string
	PIDs   []int
}

func (e *LeftoverError) Error() string {
	return fmt.Sprintf("%s has died, but processes that it started still run (%s): end them first", e.Holder, pidList(e.PIDs))
}

// EndLeftovers returns when no process runs that the holder has started. Its guardian ends them. If
// the holder is dead, and its guardian is slow or dead too, EndLeftovers kills them. If some still
// run, it returns a [LeftoverError].
func (h Holder) EndLeftovers(ctx context.Context) error {
	marks, err := h.marks()
	if err != nil || len(marks) == 0 {
		return err
	}
	left, err := awaitEnd(ctx, marks)
	if err != nil {
		return err
	}
	if len(left) > 0 && h.State() == Dead {
		var sweeper guard.Sweeper
		for _, m := range marks {
			sweeper.Sweep(m)
		}
		left = guard.Alive(marks...)
	}
	if len(left) > 0 {
		return &LeftoverError{Holder: h.Name, PIDs: left}
	}
	return nil
}

// awaitEnd waits until no process with one of the marks runs, at most for guardianTime. It returns
// those that still run.
func awaitEnd(ctx context.Context, marks []guard.Mark) (left []int, err error) {
	end := time.Now().Add(guardianTime)
	for quiet := 0; ; {
		left = guard.Alive(marks...)
		if quiet++; len(left) > 0 {
			quiet = 0
		}
		if quiet == 2 || len(left) > 0 && time.Now().After(end) {
			return left, nil
		}
		if err := pause.For(ctx, leftoverPoll); err != nil {
			return nil, err
		}
	}
}

func (h Holder) marks() ([]guard.Mark, error) {
	var marks []guard.Mark
	for _, text := range h.Marks {
		m, err := guard.ParseMark(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.Name, err)
		}
		marks = append(marks, m)
	}
	return marks, nil
}

// pidList formats some process ids for a message.
func pidList(pids []int) string {
	const most = 5
	if len(pids) == 1 {
		return fmt.Sprintf("process %d", pids[0])
	}
	text := fmt.Sprintf("processes %d", pids[0])
	for _, pid := range pids[1:min(len(pids), most)] {
		text += fmt.Sprintf(", %d", pid)
	}
	if len(pids) > most {
		text += fmt.Sprintf(" and %d more", len(pids)-most)
	}
	return text
}
