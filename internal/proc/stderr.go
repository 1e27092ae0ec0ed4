package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// maxLine is the length at which a line for the log is cut.
	maxLine = 8 << 10

	// maxTail is how much of the end of stderr is kept for error messages.
	maxTail = 4 << 10

	// The budget for one plugin's stderr in the log. It has room for many stack traces, and cuts a
	// flood to a rate that any log can take.
	budgetWindow = 10 * time.Second
	budgetLines  = 1000
	budgetBytes  = 1 << 20
)

// stderr reads a process's stderr to its end. It passes lines to the log and keeps the last bytes.
// It never stops reading, so that a flood does not block the plugin, and it stores at most one line
// and the last bytes.
type stderr struct {
	src      *os.File
	finished chan struct{} // closed when the process's own output has been read

	// The goroutine in run owns the following fields.
	log     func(string) // may be nil
	line    []byte       // the current line, up to maxLine bytes
	began   bool         // a line has begun, although nothing of it may be stored
	window  time.Time    // when the current budget began
	lines   int          // lines of the budget used
	size    int          // bytes of the budget used
	dropped int          // lines beyond the budget

	mu   sync.Mutex // protects last
	last []byte     // at least the last maxTail bytes, at most twice as many
}

func newStderr(src *os.File, log func(string)) *stderr {
	return &stderr{src: src, log: log, finished: make(chan struct{})}
}

// run reads until every holder of the pipe has closed it, or until the deadline that is set when
// the process has ended. Processes that were left behind may then continue to write to the log,
// within limits (Group.keepDraining).
func (e *stderr) run(g *Group) {
	defer g.work.Done()
	defer e.src.Close()
	err := e.read()
	e.flush()
	draining := errors.Is(err, os.ErrDeadlineExceeded) && g.keepDraining(e.src)
	close(e.finished)
	if draining {
		_ = e.read()
		e.flush()
		g.doneDraining(e.src)
	}
}

// read reads to the end of the file, the deadline, or another error.
func (e *stderr) read() error {
	buf := make([]byte, 4<<10)
	for {
		n, err := e.src.Read(buf)
		e.remember(buf[:n])
		if e.log != nil {
			e.split(buf[:n])
		}
		if err != nil {
			return err
		}
	}
}

// remember keeps the end of the output.
func (e *stderr) remember(chunk []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.last)+len(chunk) > 2*maxTail {
		keep := max(0, len(e.last)-maxTail)
		e.last = append(e.last[:0], e.last[keep:]...)
	}
	e.last = append(e.last, chunk...)
}

// tail returns the end of stderr, beginning at the start of a character.
func (e *stderr) tail() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	tail := e.last
	if len(tail) > maxTail {
		tail = tail[len(tail)-maxTail:]
		for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
			tail = tail[1:]
		}
	}
	return string(tail)
}

// split splits a chunk into lines.
func (e *stderr) split(chunk []byte) {
	for len(chunk) > 0 {
		part, rest, ended := bytes.Cut(chunk, []byte{'\n'})
		e.began = true
		e.line = append(e.line, part[:min(len(part), maxLine-len(e.line))]...)
		if ended {
			e.emit()
		}
		chunk = rest
	}
}

// flush ends a line without a newline, and reports dropped lines.
func (e *stderr) flush() {
	if e.log == nil {
		return
	}
	if e.began {
		e.emit()
	}
	e.report()
}

// emit logs the current line, if the budget allows it.
func (e *stderr) emit() {
	line := bytes.TrimSuffix(e.line, []byte{'\r'})
	e.line, e.began = e.line[:0], false
	if now := time.Now(); now.Sub(e.window) >= budgetWindow {
		e.report()
		e.window, e.lines, e.size = now, 0, 0
	}
	if e.lines >= budgetLines || e.size+len(line) > budgetBytes {
		e.dropped++
		return
	}
	e.lines++
	e.size += len(line)
	e.log(string(line))
}

// report logs how many lines were dropped since the last report.
func (e *stderr) report() {
	if e.dropped > 0 {
		e.log(fmt.Sprintf("… %d lines dropped", e.dropped))
		e.dropped = 0
	}
}
