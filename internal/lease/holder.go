package lease

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/internal/guard"
)

const (
	// leftoverTimeout bounds the wait for what a dead process has left running. The guardian ends it
	// within milliseconds.
	leftoverTimeout = 2 * time.Second
	// leftoverPoll is between two looks. Two in a row must find nothing: a process that is forking
	// may be missed by one.
	leftoverPoll = 10 * time.Millisecond
)

// A Holder is a process that holds something.
type Holder struct {
	Machine string   `json:"machine,omitempty"` // which boot of which machine, and its namespaces; "": not known
	PID     int      `json:"pid"`
	Start   uint64   `json:"start,omitempty"` // when it began, in the machine's own ticks: numbers are given out again
	Marks   []string `json:"marks,omitempty"` // what bears one of them was started by it
	Name    string   `json:"name"`            // for people
}

// Self is this process. The marks are those of the process groups in which it starts others.
func Self(marks ...string) Holder {
	h := Holder{PID: os.Getpid(), Machine: machineID(), Name: processName()}
	h.Marks = slices.DeleteFunc(slices.Clone(marks), func(m string) bool { return m == "" })
	if h.Machine != "" {
		h.Start, _ = startTime(h.PID) // 0: State says elsewhere
	}
	return h
}

func processName() string {
	host, err := os.Hostname()
	if err != nil { // then the process alone must do
		return fmt.Sprintf("process %d", os.Getpid())
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), host)
}

// Known tells whether a holder that was read is one at all.
func (h Holder) Known() bool { return h.PID > 0 && h.Name != "" }

// A State is what can be said of a holder from here.
type State int

// The states.
const (
	Elsewhere State = iota // it is not a process of this machine, or nobody can tell
	Alive
	Dead
)

// State looks whether the process is there.
func (h Holder) State() State {
	if h.Machine == "" || h.Start == 0 || h.PID <= 0 || h.Machine != machineID() {
		return Elsewhere
	}
	if !exists(h.PID) {
		return Dead
	}
	start, ended := startTime(h.PID)
	switch {
	case start == 0: // it exists, and is not ours to look at
		return Alive
	case start != h.Start || ended:
		return Dead
	}
	return Alive
}

// A LeftoverError says that a holder has died and what it started still runs: to take over what it
// held would have two at work.
type LeftoverError struct {
	Holder string
	PIDs   []int
}

func (e *LeftoverError) Error() string {
	return fmt.Sprintf("%s has died, and what it started still runs (%s): end that first", e.Holder, pidList(e.PIDs))
}

// WaitForLeftovers waits until nothing runs that a dead holder has started. A [LeftoverError] names what still
// does.
func (h Holder) WaitForLeftovers(ctx context.Context) error {
	marks, err := h.marks()
	if err != nil || len(marks) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, leftoverTimeout)
	defer cancel()
	for quiet := 0; ; {
		left := guard.Alive(marks...)
		if quiet++; len(left) > 0 {
			quiet = 0
		}
		if quiet == 2 {
			return nil
		}
		select {
		case <-time.After(leftoverPoll):
		case <-ctx.Done():
			if len(left) == 0 {
				return context.Cause(ctx)
			}
			return &LeftoverError{Holder: h.Name, PIDs: left}
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

// pidList names some processes.
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
