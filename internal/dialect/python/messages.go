package python

import (
	"strconv"
	"strings"
	"time"
)

const (
	// handlerLimit is that of docs/protocols/python.md, row P37.
	handlerLimit = 5 * time.Second
	// grace is how much longer than a handler's limit the host waits for the runner to report a
	// timeout, and how long it waits for a ping. An interpreter that neither reports nor answers is
	// blocked.
	grace = 500 * time.Millisecond
	// startTimeout bounds the start of an interpreter on a busy machine. It usually takes a tenth
	// of a second.
	startTimeout = 30 * time.Second
	// loadTimeout allows for a plugin with many imports: docs/protocols/python.md, row P3.
	loadTimeout = 20 * time.Second
	// slowLoad is when the log says which file keeps the others waiting.
	slowLoad = 3 * time.Second
	// restartWait is how long a call waits for an interpreter that is being restarted.
	restartWait = 3 * time.Second
	// restartPause is the longest pause before an interpreter that keeps crashing is started again.
	// The other plugins need the interpreter.
	restartPause = 5 * time.Second
	// exitTime is how long handlers and atexit functions may run when the last plugin is closed:
	// docs/protocols/python.md, row P12.
	exitTime = 2 * time.Second
	// stacksTime is how long a blocked interpreter may take, after SIGTERM, to write its stacks.
	stacksTime = 500 * time.Millisecond
	// lookEvery is how often a file is checked for changes, in addition to the start of every turn.
	lookEvery = 500 * time.Millisecond
	// replaceWait is how long a file may be missing while an editor replaces it.
	replaceWait = 200 * time.Millisecond
	// largest limits a message in either direction: docs/protocols/python.md, row P11.
	largest = 16 << 20
	// oldest is the oldest supported version of Python: docs/protocols/python.md, row P16.
	oldest = "3.10"
	// tooOld is the exit code of the bootstrap if Python is too old.
	tooOld = 78
)

// The methods of the runner, the notification that it gets, and the one that it sends.
const (
	methodHello    = "hello"
	methodPing     = "ping"
	methodEnviron  = "environ"
	methodLoad     = "load"
	methodReload   = "reload"
	methodUnload   = "unload"
	methodValidate = "validate"
	methodInspect  = "inspect"
	methodCall     = "call"
	notifyOver     = "over"
	notifyStuck    = "stuck"
)

// The error codes of the runner, as in runner/plugins/wire.py.
const (
	codeFailed     = -32000
	codeTimedOut   = -32001
	codeNotLoaded  = -32002
	codeLoadFailed = -32003
	codeTooDeep    = -32004
)

// logMark separates plugin, level and text in a line of the runner's log, as in
// runner/plugins/output.py.
const logMark = "\x1e"

// helloJSON is the answer to hello.
type helloJSON struct {
	Version    string `json:"version"`
	Executable string `json:"executable"`
}

// placeJSON is the data of an error about a file.
type placeJSON struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Fix    string `json:"fix"`

	Reaches bool `json:"reaches"` // it failed because of a file, a module or the network

	Warnings []string `json:"warnings"` // what else is wrong with the file
	Fixes    []string `json:"fixes"`    // of the warnings
}

// stuckJSON is what the runner reports about threads that do not end.
type stuckJSON struct {
	Threads  int      `json:"threads"`
	Handlers []string `json:"handlers"` // FILE:LINE in FUNCTION
}

// raisedJSON is the data of an error about an exception in a handler.
type raisedJSON struct {
	Type string `json:"type"`
	Line int    `json:"line"`
}

// seconds formats a time as Python formats a float: 5.0, 0.25.
func seconds(d time.Duration) string {
	s := strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	if !strings.ContainsRune(s, '.') {
		s += ".0"
	}
	return s
}
