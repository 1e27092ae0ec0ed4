package python

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// A place is the line of code that an interpreter was executing when it was ended.
type place struct {
	path     string
	line     int
	function string
}

func (p place) String() string {
	if p.path == "" {
		return "an unknown place"
	}
	return fmt.Sprintf("%s:%d in %s", filepath.Base(p.path), p.line, p.function)
}

var (
	// frame matches a line of the stacks that an interpreter writes when it is ended.
	frame = pattern.New(`(?m)^  File "([^"\n]+)", line (\d+) in (\S+)$`)
	// stackHead matches the first line of the stack of each thread. The event loop's stack comes
	// last.
	stackHead = pattern.New(`(?m)^(?:Current thread|Thread) 0x[0-9a-f]+ .*$`)
)

// loopFile is a file of the runner that occurs only in the stack of the event loop.
const loopFile = "plugins/runner.py"

// blockedAt returns where an interpreter was blocked: the innermost frame of a plugin in the stack
// of the event loop. If that stack has none, the loop waits for a thread that holds the
// interpreter. blockedAt then returns the innermost frame of a plugin in the first thread that has
// one.
func blockedAt(stderr string, isPlugin func(path string) bool) place {
	var loop, threads place
	for _, stack := range stackHead.Regexp().Split(stderr, -1) {
		at := innermost(stack, isPlugin)
		switch {
		case strings.Contains(stack, loopFile+`", line `):
			loop = at
		case threads.path == "":
			threads = at
		}
	}
	if loop.path != "" {
		return loop
	}
	return threads
}

func innermost(stack string, isPlugin func(path string) bool) place {
	for _, f := range frame.Regexp().FindAllStringSubmatch(stack, -1) {
		if isPlugin(f[1]) {
			line, _ := strconv.Atoi(f[2]) // digits only; 0 if there are too many
			return place{path: f[1], line: line, function: f[3]}
		}
	}
	return place{}
}

// culprit returns the place in a plugin at which an interpreter was blocked before it was ended.
// loading is the file that was being loaded, or "". Its plugin is not among the opened ones yet.
func (r *runner) culprit(stderr, loading string) place {
	paths := map[string]bool{loading: loading != ""}
	for _, p := range r.opened() {
		paths[p.path] = true
	}
	return blockedAt(stderr, func(path string) bool { return paths[path] })
}
