package python

import (
	"strconv"
	"strings"
	"time"
)

// The protocol's figures, and ours.
const (
	// handlerLimit: the rulings, "5 s per handler".
	handlerLimit = 5 * time.Second
	// grace is what the interpreter has beyond a handler's limit to say that it was overrun, and
	// again to answer a ping. One that does neither is blocked.
	grace = 500 * time.Millisecond
	// startTimeout is for an interpreter on a machine with other things to do: the usual is a tenth
	// of a second.
	startTimeout = 30 * time.Second
	// loadTimeout is for a plugin that imports half the world.
	loadTimeout = 20 * time.Second
	// restartWait is how long a call waits for an interpreter that is being started again.
	restartWait = 3 * time.Second
	// restartPause is the longest between two starts of an interpreter that keeps crashing. The
	// plugins beside the one that makes it crash have nothing else to run in.
	restartPause = 5 * time.Second
	// farewell is what handlers and atexit have when the last plugin is closed.
	farewell = 2 * time.Second
	// lastWords is what a blocked interpreter has, after SIGTERM, to write where it is.
	lastWords = 500 * time.Millisecond
	// lookEvery is how often a file is looked at for changes, beside every beginning of a turn.
	lookEvery = 500 * time.Millisecond
	// replaceWait is how long a file may be away while an editor replaces it.
	replaceWait = 200 * time.Millisecond
	// largest is the size of a message either way: a tool's output, with room.
	largest = 16 << 20
	// oldest is the first version of Python that will do, as people write it (rulings: "Python 3.10
	// or newer").
	oldest = "3.10"
	// tooOld is the exit code of the bootstrap where the version will not do.
	tooOld = 78
)

// The methods of the runner, and the one notification it sends.
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
	notifyStuck    = "stuck"
)

// The codes of the runner's errors, as in runner/plugins/wire.py.
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

// helloWire is the answer to the handshake.
type helloWire struct {
	Version    string `json:"version"`
	Executable string `json:"executable"`
}

// placeWire is the data of an error that a file was the cause of.
type placeWire struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Fix    string `json:"fix"`

	Reaches bool `json:"reaches"` // it failed over something outside of itself: a file, a module, the network
}

// raisedWire is the data of an error that a handler raised.
type raisedWire struct {
	Type string `json:"type"`
	Line int    `json:"line"`
}

// seconds writes a time as Python writes a float: 5.0, 0.25.
func seconds(d time.Duration) string {
	s := strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	if !strings.ContainsRune(s, '.') {
		s += ".0"
	}
	return s
}
