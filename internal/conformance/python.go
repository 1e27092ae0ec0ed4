package conformance

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/python"
	"github.com/patchbay-dev/patchbay/internal/version"
)

// A pythonSuite checks a plugin against docs/protocols/python.md. Our program harness.py calls the
// plugin's hooks in an interpreter. It uses the same Python package as the host.
type pythonSuite struct {
	*bench
	harness  string // the file of our program
	packages string // where the package is
	loaded   pythonLoaded
	late     string // why loading took too long; "": it did not
	asked    bool   // the hooks have been asked
	reports  []pythonReport
	exit     *returned
}

//go:embed harness.py
var pythonHarness string

// A pythonLoaded describes the loaded plugin.
type pythonLoaded struct {
	Error    string   `json:"error"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Fix      string   `json:"fix"`
	Reaches  bool     `json:"reaches"` // it failed because of a file, a module or the network
	Name     string   `json:"name"`
	Hooks    []string `json:"hooks"`
	Warnings []string `json:"warnings"`
	Wrong    []string `json:"wrong"` // warnings about answers of a wrong type
	Fixes    []string `json:"fixes"` // of the warnings
	Seconds  float64  `json:"seconds"`
}

// A pythonReport is the result of one call of a handler.
type pythonReport struct {
	Hook    string  `json:"hook"`
	With    string  `json:"with"`  // what it got, in words
	Part    string  `json:"part"`  // the check that it is for: usual, large, apart
	Error   string  `json:"error"` // an exception
	Line    int     `json:"line"`
	Wrong   string  `json:"wrong"`   // an answer of the wrong type
	Blocked float64 `json:"blocked"` // how long it blocked the interpreter, in seconds
	Over    bool    `json:"over"`    // it took longer than allowed
	Changed string  `json:"changed"` // what it changed in place and did not return
}

// The times of the protocol.
const (
	pythonLoad    = 20 * time.Second
	pythonHandler = 5 * time.Second
	pythonBlock   = time.Second // a busy machine may stand still for some tenths of a second
	pythonExit    = 2 * time.Second
)

func (s *pythonSuite) checks() []Check {
	const loads = "python.file.loads"
	return []Check{
		{ID: "python.interpreter.found", Row: "P1", run: s.interpreter, Does: "looks for Python",
			Rule: "Python 3.10 or newer, found as `python3`.",
			Fix:  "install Python 3.10 or newer, and put it first in PATH"},
		{ID: loads, Row: "P2", needs: []string{"python.interpreter.found"}, run: s.loads, Does: "loads the file",
			Rule: "Files with syntax errors, files that fail while they run, and files with a handler that cannot be called are left out, with line and column.",
			Fix:  "correct the file where the message says"},
		{ID: "python.load.time", Row: "P3", needs: []string{"python.interpreter.found"}, after: []string{loads}, run: s.loadTime, Does: "measures how long loading took",
			Rule: "Code that takes more than 20 seconds to load is not a plugin.",
			Fix:  "do slow work in a handler, not at the top of the file"},
		{ID: "python.hooks.known", Row: "P4", needs: []string{loads}, run: s.hooksKnown, Does: "looks for misspelt decorators and fields, and for two handlers of one hook",
			Rule: "A misspelt decorator handles nothing, and a misspelt field of `__plugin__` is not used; of several handlers of one hook, the one whose function name sorts last is used.",
			Fix:  "use the six decorators, each once"},
		{ID: "python.hook.answers", Row: "P5", needs: []string{loads}, run: s.answers, Does: "asks each of its handlers, with texts, calls and results of several kinds",
			Rule: "An exception in a handler is logged, and its answer is ignored.",
			Fix:  "handle every call and every result, also an empty input, an empty text and a tool that you do not know"},
		{ID: "python.hook.type", Row: "P6", needs: []string{loads}, run: s.types, Does: "looks at what handlers return",
			Rule: "`on_tool_call` returns a `ToolCall`, `on_resolve_tool` and `on_tool_result` a `ToolResult`, `on_final` a `str`. Each of them may return `None` instead; the other hooks return nothing. The fields of a `ToolCall` or `ToolResult` have the types of the protocol, and an `input` is JSON.",
			Fix:  "return the type that the table of decorators has, or None"},
		{ID: "python.hook.time", Row: "P7", needs: []string{loads}, run: s.inTime, Does: "measures how long handlers take",
			Rule: "Each handler has 5 seconds.",
			Fix:  "limit slow work with asyncio.wait_for"},
		{ID: "python.hook.blocking", Row: "P8", needs: []string{loads}, run: s.blocking, Does: "checks whether handlers block the interpreter",
			Rule: "If a handler blocks the interpreter beyond its time, the process is restarted.",
			Fix:  "await asyncio.sleep instead of time.sleep; run blocking code with asyncio.to_thread, or in a handler with a plain def, which gets a thread"},
		{ID: "python.hook.inplace", Row: "P9", needs: []string{loads}, run: s.inPlace, Does: "looks for changes to the objects that handlers get",
			Rule: "A handler gets its own objects: changing `call.input` and returning `None` changes nothing.",
			Fix:  "return the changed ToolCall or ToolResult"},
		{ID: "python.requests.apart", Row: "P10", needs: []string{loads}, run: s.apart, Does: "has two requests under way at once",
			Rule: "`ctx.state` is one object for all plugins and hooks of a request, and is dropped after it.",
			Fix:  "keep the data of a request in ctx.state, and create it in on_begin"},
		{ID: "python.input.huge", Row: "P11", needs: []string{loads}, run: s.huge, Does: "asks each of its handlers with a text of 1 MiB",
			Rule: "A message may have at most 16 MiB in either direction.",
			Fix:  "work on long texts in one pass; avoid regular expressions that backtrack"},
		{ID: "python.process.exit", Row: "P12", needs: []string{loads}, run: s.ends, Does: "waits for the end of the interpreter",
			Rule: "When the last plugin is closed, the interpreter exits within 2 seconds.",
			Fix:  "start threads with daemon=True, and end them in on_done"},
		{ID: "python.process.left", Row: "P13", sums: true, needs: []string{loads}, run: summary(sawLeft, "nothing was left running"), Does: "looks for processes after the end of the interpreter",
			Rule: "No process survives the host.",
			Fix:  "wait for the programs that you start"},
	}
}

func (s *pythonSuite) interpreter(t *trial) {
	dir, err := python.Export(filepath.Join(s.dir, "python"), version.Number)
	if err != nil {
		t.failf("%v", err)
		return
	}
	s.packages, s.harness = dir, filepath.Join(s.dir, "harness.py")
	if err := os.WriteFile(s.harness, []byte(pythonHarness), 0o600); err != nil {
		t.failf("%v", err)
		return
	}
	r := s.python(t, "version", mostTime)
	if t.failed() {
		return
	}
	if r.exit.Code != 0 {
		t.failf("python3 ended with %s%s", r.exit, stderrEnd(r.stderr))
		return
	}
	t.passf("Python %s", strings.TrimSpace(string(r.stdout)))
}

// python runs harness.py. do says what it does: load, call or version.
func (s *pythonSuite) python(t *trial, do string, within time.Duration) *returned {
	limit := fmt.Sprint(s.limit(pythonHandler).Seconds())
	r, err := s.run(call{launch: launch{path: "python3", args: []string{"-I", s.harness, s.packages, s.target.Path, do, s.work, limit}, dir: s.work, env: s.env.Pick(dialect.BaseNames)}, within: within, fixed: true, grace: time.Second})
	if err != nil {
		t.failStart(err)
	}
	return r
}

func (s *pythonSuite) loads(t *trial) {
	r := s.python(t, "load", s.limit(pythonLoad))
	switch {
	case t.failed():
		return
	case r.over:
		s.late = fmt.Sprintf("it was not loaded within %s%s", s.limit(pythonLoad), stderrEnd(r.stderr))
		t.skipf("it was still being loaded when its time was over")
		return
	}
	if err := json.Unmarshal(lastLine(r.stdout), &s.loaded); err != nil {
		t.failf("the interpreter ended with %s while it loaded the file%s", r.exit, stderrEnd(r.stderr))
		t.fixWith("remove what ends the process, such as os._exit: the other plugins need it too")
		return
	}
	if s.loaded.Error != "" {
		t.failf("%s:%d:%d: %s", s.target.Path, s.loaded.Line, s.loaded.Column, s.loaded.Error)
		t.fixWith(s.loaded.Fix)
		if s.loaded.Fix == "" && s.loaded.Reaches {
			t.fixWith("the test has a temporary home without the user's files: make the file load without them, or read them in a handler")
		}
		return
	}
	s.target.Name = s.loaded.Name
	t.passf("%s: %s", s.loaded.Name, strings.Join(s.loaded.Hooks, ", "))
}

// lastLine returns the last line of an output, which is the program's own. A plugin may have
// printed lines before it.
func lastLine(text []byte) []byte {
	text = bytes.TrimSpace(text)
	return text[bytes.LastIndexByte(text, '\n')+1:]
}

func (s *pythonSuite) loadTime(t *trial) {
	switch {
	case s.late != "":
		t.failf("%s", s.late)
		return
	case s.results["python.file.loads"].Status == Fail:
		t.skipf("it was not loaded")
		return
	}
	took := time.Duration(s.loaded.Seconds * float64(time.Second))
	if limit := s.limit(pythonLoad) / 10; took > limit {
		t.warnf("loading took %s", took.Round(10*time.Millisecond))
		return
	}
	t.passf("%s", took.Round(time.Millisecond))
}

func (s *pythonSuite) hooksKnown(t *trial) {
	if len(s.loaded.Warnings) > 0 {
		t.failf("%s", strings.Join(s.loaded.Warnings, "; "))
		t.fixWith(strings.Join(s.loaded.Fixes, "; "))
		return
	}
	if len(s.loaded.Hooks) == 0 {
		t.warnf("it has no handlers: it does nothing")
	}
}

// calls calls every handler once for all checks, in one interpreter, and returns the reports for
// one check.
func (s *pythonSuite) calls(t *trial, part string) []pythonReport {
	if !s.asked {
		s.asked = true
		s.exit = s.python(t, "call", mostTime)
		for line := range bytes.Lines(s.exit.stdout) {
			var r pythonReport
			if rest, ok := bytes.CutPrefix(line, []byte("conformance ")); ok && json.Unmarshal(rest, &r) == nil {
				s.reports = append(s.reports, r)
			}
		}
	}
	var out []pythonReport
	for _, r := range s.reports {
		if r.Part == part || part == "" {
			out = append(out, r)
		}
	}
	return out
}

// sentence returns a sentence with the place of a handler, what it got, and what it did.
func (r *pythonReport) sentence(path, what string) string {
	where := ""
	if r.Line > 0 {
		where = fmt.Sprintf("%s:%d: ", path, r.Line)
	}
	return fmt.Sprintf("%s%s with %s: %s", where, r.Hook, r.With, what)
}
