//go:build linux

package faults

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// A row is a misbehaviour, with the expected result in each dialect.
type row struct {
	moment plugtest.Moment
	act    string
	loud   bool // the row is played alone, and the heap is watched
	twice  bool // the culprit is called twice at once
	then   func(*play)

	scaffold, kaged, mine, dotagent, python cell
}

// A cell is the expected result of a misbehaviour in one dialect.
type cell struct {
	kind         hook.Kind // of the call's error; empty if the call works
	words        []string  // the words that the error, or the log, must contain
	isBroken     bool      // the plugin is left out, with the words as the reason
	isNotStarted bool      // the plugin is left out without having been started
	isLost       bool      // the plugin does not work afterwards
	why          string    // why the row does not apply
}

// works: the call is answered, or no failure is visible, and the plugin works afterwards.
func works() cell { return cell{} }

// fails: the call fails with this kind, its error contains these words, and the plugin works
// afterwards.
func fails(kind hook.Kind, words ...string) cell { return cell{kind: kind, words: words} }

// broken: the plugin is left out when the host is opened, and its error contains these words.
func broken(words ...string) cell { return cell{words: words, isBroken: true} }

// exceeded: the call fails with a timeout. The error names the time that was left when the plugin
// was started, which on a busy machine is less than the limit.
var exceeded = fails(hook.Timeout, "exceeded", "killed")

// none: why the row does not apply to this dialect.
func none(why string) cell { return cell{why: why} }

// notStarted: the plugin is left out without having been started.
func (c cell) notStarted() cell { c.isNotStarted = true; return c }

// lost: the plugin does not work afterwards.
func (c cell) lost() cell { c.isLost = true; return c }

// says: the log contains these words.
func says(words ...string) cell { return cell{words: words} }

// levels is how an error names the limit of nesting.
const levels = "the limit of 1000 levels"

// The reasons why some rows do not apply to some dialects.
var (
	perCall     = none("each call has its own process, and none runs between calls")
	noHandshake = none("the host asks the plugin nothing before the first call")
	noTools     = none("the dialect has no tools")
	noHealth    = none("the dialect has no health check")
	noShutdown  = none("the dialect has no message before the end")
	noWire      = none("a plugin cannot write to the wire; its output goes to its log")
	noIDs       = none("each call has its own process, which sends one reply without an id")
	oneInFlight = none("one request at a time: replies cannot be out of order")
	oneOrigin   = none("a plugin starts when it is loaded: see the next row")
)

var matrix = []row{
	// Crashes, at each moment of a plugin's life.
	{moment: plugtest.AtStart, act: "crash",
		scaffold: broken("exit code 7", "boom"), kaged: broken("exit code 7", "boom"), mine: fails(hook.Crash, "boom").lost(),
		dotagent: broken("exit 7", "boom"), python: oneOrigin},
	{moment: plugtest.InHandshake, act: "crash",
		scaffold: broken("exit code 7", "boom"), kaged: broken("exit code 7", "boom"), mine: works(),
		dotagent: broken("exit 7", "boom"), python: broken("exit code 7")},
	{moment: plugtest.AfterHandshake, act: "crash",
		scaffold: works(), kaged: works(), mine: noHandshake, dotagent: perCall, python: works()},
	{moment: plugtest.AfterHandshake, act: "crash-always", // it is restarted after each crash, with growing pauses
		scaffold: works().lost(), kaged: works().lost(), mine: noHandshake, dotagent: perCall, python: none("all plugins run in the process that crashes")},
	{moment: plugtest.InHook, act: "crash",
		scaffold: fails(hook.Crash, "exit code 7", "boom"), kaged: fails(hook.Crash, "exit code 7", "boom"),
		mine: fails(hook.Crash, "boom"), dotagent: fails(hook.Crash, "exit 7", "boom"), python: fails(hook.Crash, "exit code 7")},
	{moment: plugtest.InHook, act: "killed",
		scaffold: fails(hook.Crash, "SIGKILL"), kaged: fails(hook.Crash, "SIGKILL"),
		mine: fails(hook.Crash, "SIGKILL"), dotagent: fails(hook.Crash, "exit -1"), python: fails(hook.Crash, "SIGKILL")},
	{moment: plugtest.InTool, act: "crash",
		scaffold: fails(hook.Crash, "exit code 7"), kaged: fails(hook.Crash, "exit code 7"), mine: noTools, dotagent: noTools, python: noTools},
	{moment: plugtest.AfterHook, act: "crash",
		scaffold: works(), kaged: works(), mine: perCall, dotagent: perCall, python: works()},
	{moment: plugtest.WhenTold, act: "crash",
		scaffold: works(), kaged: works(), mine: perCall, dotagent: perCall, python: works()},
	{moment: plugtest.InShutdown, act: "crash",
		scaffold: works(), kaged: works(), mine: works(), dotagent: noShutdown, python: noShutdown},

	// Hanging, in each call.
	{moment: plugtest.InHandshake, act: "hang",
		scaffold: broken("initialize", "5s"), kaged: broken("initialize", "10s"), mine: works(),
		dotagent: broken("info exceeded", "killed"), python: broken("took more than 20s to load")},
	{moment: plugtest.InHook, act: "hang",
		scaffold: fails(hook.Timeout, brief.String()).lost(), kaged: fails(hook.Timeout, brief.String()), mine: fails(hook.Timeout, brief.String()),
		dotagent: exceeded, python: fails(hook.Timeout, inPython(brief))},
	{moment: plugtest.InTool, act: "hang",
		scaffold: fails(hook.Timeout, brief.String()).lost(), kaged: fails(hook.Timeout, brief.String()), mine: noTools, dotagent: noTools, python: noTools},
	{moment: plugtest.InHealth, act: "hang",
		scaffold: noHealth, kaged: says("no answer to health.check within 5s"), mine: works(), dotagent: noHealth, python: noHealth},
	{moment: plugtest.InShutdown, act: "hang",
		scaffold: works(), kaged: works(), mine: works(), dotagent: noShutdown, python: noShutdown},
	{moment: plugtest.InHook, act: "silence",
		scaffold: fails(hook.Timeout, brief.String()), kaged: fails(hook.Timeout, brief.String()), mine: fails(hook.Timeout, brief.String()),
		dotagent: exceeded, python: none("a function returns, or hangs")},

	// Garbage.
	{moment: plugtest.InHandshake, act: "binary",
		scaffold: broken("initialize", "5s"), kaged: broken("initialize", "10s"), mine: works(), dotagent: broken("JSON"),
		python: works()},
	{moment: plugtest.InHook, act: "binary",
		scaffold: fails(hook.Timeout, brief.String()), kaged: fails(hook.Timeout, brief.String()), mine: fails(hook.Garbled, "parse error"),
		dotagent: fails(hook.Garbled, "not a JSON object"), python: works()},
	{moment: plugtest.InHook, act: "not-json",
		scaffold: fails(hook.Timeout, brief.String()), kaged: fails(hook.Timeout, brief.String()), mine: fails(hook.Garbled, "parse error"),
		dotagent: fails(hook.Garbled, "not a JSON object"), python: noWire},
	{moment: plugtest.InHook, act: "wrong-types",
		scaffold: fails(hook.Garbled, "[1,2]"), kaged: fails(hook.Garbled, "[1,2]"), mine: fails(hook.Garbled, "parse error"),
		dotagent: fails(hook.Garbled, "[1,2]"), python: fails(hook.Refused, "returned object")},
	{moment: plugtest.InHook, act: "deep",
		scaffold: fails(hook.Garbled, levels), kaged: fails(hook.Garbled, levels), mine: fails(hook.Garbled, levels),
		dotagent: fails(hook.Garbled, levels), python: fails(hook.Refused, "returned list")},
	{moment: plugtest.InHook, act: "deep-valid",
		scaffold: fails(hook.Garbled, levels), kaged: fails(hook.Garbled, levels), mine: fails(hook.Garbled, levels),
		dotagent: fails(hook.Garbled, levels), python: none("the same as the row above")},
	{moment: plugtest.InTool, act: "deep-valid",
		scaffold: fails(hook.Garbled, levels), kaged: fails(hook.Garbled, levels), mine: noTools, dotagent: noTools, python: noTools},
	{moment: plugtest.InHandshake, act: "deep-valid",
		scaffold: broken("initialize", levels), kaged: broken("initialize", levels), mine: works(), dotagent: broken("info", levels),
		python: none("a file's metadata is read by the runner")},
	{moment: plugtest.InHook, act: "half-line",
		scaffold: fails(hook.Crash, "exit code 4"), kaged: fails(hook.Crash, "exit code 4"), mine: fails(hook.Crash, "exit code 4"),
		dotagent: fails(hook.Crash, "exit 4"), python: noWire},
	{moment: plugtest.InHook, act: "half-line-hang",
		scaffold: fails(hook.Timeout, brief.String()).lost(), kaged: fails(hook.Timeout, brief.String()), mine: fails(hook.Timeout, brief.String()),
		dotagent: exceeded, python: noWire},

	// Floods.
	{moment: plugtest.InHook, act: "endless-line", loud: true,
		scaffold: fails(hook.TooLarge, "10485760"), kaged: works(), mine: fails(hook.TooLarge, "4194304"),
		dotagent: fails(hook.TooLarge, "4194304"), python: works()},
	{moment: plugtest.InHook, act: "huge", loud: true,
		scaffold: fails(hook.TooLarge, "10485760"), kaged: fails(hook.TooLarge, "4194304"), mine: fails(hook.TooLarge, "4194304"),
		dotagent: fails(hook.TooLarge, "4194304"), python: fails(hook.TooLarge, "16777216")},
	{moment: plugtest.InHook, act: "stderr-flood", loud: true,
		scaffold: works(), kaged: works(), mine: works(), dotagent: works(), python: works()},
	{moment: plugtest.InHook, act: "stderr-endless", loud: true,
		scaffold: works(), kaged: works(), mine: works(), dotagent: works(), python: works()},
	{moment: plugtest.InHook, act: "notify-flood", loud: true,
		scaffold: works(), kaged: works(), mine: perCall, dotagent: perCall, python: noWire},
	{moment: plugtest.InHook, act: "request-flood", loud: true,
		scaffold: works(), kaged: works(), mine: perCall, dotagent: perCall, python: noWire},
	{moment: plugtest.InHandshake, act: "huge", loud: true,
		scaffold: broken("initialize", "10485760"), kaged: broken("initialize", "4194304"), mine: works(),
		dotagent: broken("4194304"), python: none("a file's metadata is read by the runner")},
	{moment: plugtest.InHandshake, act: "many-tools", loud: true,
		scaffold: works(), kaged: broken("manifest").notStarted(), mine: noTools, dotagent: noTools, python: noTools},

	// Processes that ignore requests to end, and processes that their plugin leaves behind.
	{moment: plugtest.AtStart, act: "stubborn",
		scaffold: works(), kaged: works(), mine: perCall, dotagent: perCall, python: oneOrigin},
	{moment: plugtest.InHook, act: "stubborn-hang",
		scaffold: fails(hook.Timeout, brief.String()).lost(), kaged: fails(hook.Timeout, brief.String()), mine: fails(hook.Timeout, brief.String()),
		dotagent: exceeded, python: fails(hook.Timeout, inPython(brief))},
	{moment: plugtest.InHook, act: "stray",
		scaffold: works(), kaged: works(), mine: works(), dotagent: works(), python: works()},
	{moment: plugtest.InHook, act: "fork-bomb",
		scaffold: works(), kaged: works(), mine: works(), dotagent: works(), python: works()},

	// Pipes.
	{moment: plugtest.InHook, act: "close-stdin",
		scaffold: works(), kaged: works(), mine: fails(hook.Timeout, brief.String()), dotagent: exceeded, python: works()},
	{moment: plugtest.InHook, act: "close-stdout",
		scaffold: fails(hook.Crash, "closed its end"), kaged: fails(hook.Crash, "closed its end"),
		mine: fails(hook.Timeout, brief.String()), dotagent: exceeded, python: fails(hook.Crash)},

	// Replies.
	{moment: plugtest.InHook, act: "reply-twice",
		scaffold: works(), kaged: works(), mine: fails(hook.Garbled, "parse error"), dotagent: fails(hook.Garbled, "not a JSON object"), python: noWire},
	{moment: plugtest.InHook, act: "late",
		scaffold: fails(hook.Timeout, brief.String()), kaged: fails(hook.Timeout, brief.String()), mine: perCall, dotagent: perCall, python: noWire},
	{moment: plugtest.InHook, act: "out-of-order", twice: true,
		scaffold: oneInFlight, kaged: works(), mine: perCall, dotagent: perCall, python: noWire},
	{moment: plugtest.InHook, act: "wrong-id",
		scaffold: works(), kaged: fails(hook.Timeout, brief.String()), mine: noIDs, dotagent: noIDs, python: noWire},

	// A full disk, and a plugin's files that change.
	{moment: plugtest.InHook, act: "disk-full",
		scaffold: fails(hook.Crash, "no space left"), kaged: fails(hook.Crash, "no space left"), mine: fails(hook.Crash, "no space left"),
		dotagent: fails(hook.Crash, "no space left"), python: fails(hook.Refused, "No space left")},
	{moment: plugtest.InHook, act: "rewrite", then: (*play).refresh,
		scaffold: works(), kaged: works(), mine: works(), dotagent: works().lost(), python: works()},
}

// inPython formats a duration as Python does.
func inPython(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// times returns how often the culprit is called at once.
func (r *row) times() int {
	if r.twice {
		return 2
	}
	return 1
}

// refresh reads the plugins' files again, one of which is damaged by now.
func (p *play) refresh() {
	if err := p.host.Refresh(p.Context()); err != nil {
		p.Errorf("refresh: %v", err)
	}
}

func TestMatrix(t *testing.T) {
	before := descriptors(t)
	t.Run("loud", func(t *testing.T) { each(t, true, 1) })
	t.Run("quiet", func(t *testing.T) { each(t, false, atOnce) })
	wantDescriptors(t, before)
}

// each plays the loud cells, or the others.
func each(t *testing.T, loud bool, atOnce int) {
	var playing sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i := range matrix {
		r := &matrix[i]
		for _, c := range r.columns() {
			if r.loud != loud {
				continue
			}
			places <- struct{}{}
			playing.Go(func() {
				defer func() { <-places }()
				t.Run(string(r.moment)+"/"+r.act+"/"+c.dialect, func(t *testing.T) { one(t, r, c) })
			})
		}
	}
	playing.Wait()
}

// one plays a cell, or skips it with the reason.
func one(t *testing.T, r *row, c column) {
	if c.why != "" {
		t.Skip("the row does not apply: " + c.why)
	}
	if c.dialect == plugtest.Python {
		plugtest.NeedTool(t, "python3")
	}
	if !r.loud {
		run(t, r, c.dialect, c.cell)
		return
	}
	before, heap := descriptors(t), watchHeap()
	run(t, r, c.dialect, c.cell)
	heap.end(t)
	wantDescriptors(t, before)
}

// A column is the cell of one dialect in a row.
type column struct {
	dialect string
	cell
}

func (r *row) columns() []column {
	return []column{{plugtest.Scaffold, r.scaffold}, {plugtest.Kaged, r.kaged}, {plugtest.Mine, r.mine},
		{plugtest.Dotagent, r.dotagent}, {plugtest.Python, r.python}}
}
