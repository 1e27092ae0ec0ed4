package python

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// A place is where in a file an interpreter was when it was ended.
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
	// frame is a line of the stacks that an interpreter writes when it is ended.
	frame = pattern.New(`(?m)^  File "([^"\n]+)", line (\d+) in (\S+)$`)
	// stackHead begins the stack of each thread. That of the event loop comes last.
	stackHead = pattern.New(`(?m)^(?:Current thread|Thread) 0x[0-9a-f]+ .*$`)
)

// loopFile is the runner's own file, which only the stack of its event loop has in it.
const loopFile = "plugins/runner.py"

// blockedAt is where an interpreter was blocked: the innermost frame of a plugin's in the stack of
// the event loop. A loop that is in none waits for a thread that does not let go of the
// interpreter: then it is the innermost frame of a thread.
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
			line, _ := strconv.Atoi(f[2]) // digits; too many of them are no line
			return place{path: f[1], line: line, function: f[3]}
		}
	}
	return place{}
}

// culprit is where in which plugin an interpreter that was ended had been blocked. loading is the
// file that was being loaded, and is no plugin yet; "": none.
func (r *runner) culprit(stderr, loading string) place {
	paths := map[string]bool{loading: loading != ""}
	for _, p := range r.opened() {
		paths[p.path] = true
	}
	return blockedAt(stderr, func(path string) bool { return paths[path] })
}
