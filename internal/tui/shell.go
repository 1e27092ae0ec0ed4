package tui

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/internal/attach"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/render"
)

const (
	// maxRan is how many bytes of a command's output go with the next message. A longer output is
	// meant for the user; the model can run the command itself.
	maxRan = 16 << 10
	// keptRan is how many commands go with a message.
	keptRan = 10
	// ranLines is how many lines of an output are shown: a screenful.
	ranLines = 40
)

// A running is the output of a command that the user runs. The screen reads it whenever it draws.
type running struct {
	mu   sync.Mutex // protects tail
	tail string
}

func (r *running) output(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tail = keepTail(r.tail, text)
}

func (r *running) lines(l look) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return l.tailLines(r.tail, runningLines)
}

// ranMsg is the end of a command that the user ran.
type ranMsg struct {
	line   string
	output string
	err    error
}

// isShell reports whether a line is a command for the shell.
func isShell(typed string) bool {
	return strings.HasPrefix(typed, "!") && strings.TrimSpace(typed[1:]) != ""
}

// runShell runs a command of the user in the background.
func (s *screen) runShell(line string) tea.Cmd {
	if s.turn != nil || s.busy != "" {
		s.printWarning("! has to wait until this is done; Esc interrupts it")
		return nil
	}
	s.printUser("!" + line)
	run := &running{}
	s.running = run
	return s.work("running "+line, func(ctx context.Context) tea.Msg {
		output, err := s.talk.Shell(ctx, line, run.output)
		return ranMsg{line, output, err}
	})
}

// ranShell shows the output of a command, and keeps it for the next message.
func (s *screen) ranShell(msg ranMsg) tea.Cmd {
	s.busy, s.stopBusy, s.running, s.ended = "", nil, nil, time.Now()
	if msg.err != nil {
		s.printError(errorText(msg.err))
		return s.sendQueued()
	}
	s.printer.add(blockTool, s.look.excerpt(fewerLines(msg.output), render.StylePlain, ranLines+1))
	s.ran = append(s.ran, attach.Command(msg.line, fewerBytes(msg.output)))
	s.ran = s.ran[max(len(s.ran)-keptRan, 0):]
	s.printNote("the output is added to your next message")
	return s.sendQueued()
}

// fewerLines returns the beginning and the end of a long output. The end says how the command
// ended.
func fewerLines(output string) string {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	left := len(lines) - ranLines
	if left <= 1 {
		return output
	}
	head, tail := lines[:ranLines/2], lines[len(lines)-ranLines/2:]
	return strings.Join(head, "\n") + fmt.Sprintf("\n… %s are left out …\n", render.Count(left, "line")) + strings.Join(tail, "\n")
}

// fewerBytes does the same for the output that goes with a message.
func fewerBytes(output string) string {
	if len(output) <= maxRan {
		return output
	}
	tail := strings.ToValidUTF8(output[len(output)-maxRan/2:], "")
	return excerpt.Head(output, maxRan/2) + "\n[the middle of the output is left out]\n" + tail
}
