package conformance

import (
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/mine"
)

// A mineSuite checks a plugin against docs/protocols/mine.md.
type mineSuite struct {
	*bench
	declared mine.Declaration
	startup  time.Duration // how long the last hook took
}

func (s *mineSuite) checks() []Check {
	const valid, program, answers = "mine.manifest.valid", "mine.program.executable", "mine.hook.answers"
	return []Check{
		{ID: valid, Row: "M1", run: s.manifest, Does: "reads `mine-plugin.toml`",
			Rule: "Every key of `[plugin]`, `[[hooks]]`, `[[commands]]` and `[permissions]` has its type; name, version, description, author and protocol_version are required.",
			Fix:  "correct mine-plugin.toml where the message says; `patchbay plugin validate` lists every fault with its line"},
		{ID: "mine.manifest.odd", Row: "M2", needs: []string{valid}, run: manifestOdd, Does: "looks for unknown keys, odd patterns, and a folder of another name",
			Rule: "Unknown keys, and patterns and paths without an effect, are warnings; the folder should have the plugin's name.",
			Fix:  "correct mine-plugin.toml where the message says, or rename the folder; `patchbay plugin validate` has a fix for each"},
		{ID: program, Row: "M3", needs: []string{valid}, run: s.executable, Does: "checks whether the program and its interpreter can be executed",
			Rule: "The program must be executable.",
			Fix:  "build the program, or chmod +x it, and install the interpreter that its #! line names"},
		{ID: answers, Row: "M4", needs: []string{program}, run: s.hooks, Does: "calls every transform hook with contexts of several kinds",
			Rule: "A transform hook answers on stdout and exits with 0, within its `timeout`.",
			Fix:  "read stdin to its end, print the answer and exit with 0; to refuse, exit with another code and say why on stderr"},
		{ID: "mine.hook.stdout-json", Row: "M5", needs: []string{answers}, run: summary(sawNoise, "answers are JSON, or nothing"), Does: "reads what transform hooks print",
			Rule: "Stdout has one JSON object in UTF-8 and nothing else; empty stdout changes nothing.",
			Fix:  "print nothing but the answer to stdout, and text for people to stderr"},
		{ID: "mine.hook.status", Row: "M6", needs: []string{answers}, run: summary(sawStatus, "status is ok"), Does: "looks at `status` of answers",
			Rule: "`status` is `ok`; `error` on stdout with exit code 0 is an error too.",
			Fix:  `answer {"status":"ok","context":…}`},
		{ID: "mine.hook.context", Row: "M7", needs: []string{answers}, run: summary(sawContext, "contexts have their form"), Does: "looks at `context` of answers",
			Rule: "The fields of `context` replace those that were sent: `command` is a string, `args` a list of strings, `flags` maps names to strings.",
			Fix:  "send back the fields that you change, or the whole context; write flags as strings, and [] or {} for none, not null"},
		{ID: "mine.hook.ignored", Row: "M62", needs: []string{answers}, run: s.ignored, Does: "looks for parts of answers that have no effect",
			Rule: "Fields that the protocol does not know are ignored, and so is a result before the command has run.",
			Fix:  "correct the name of the field, or leave it out"},
		{ID: "mine.error.said", Row: "M8", needs: []string{answers}, run: s.refusalText, Does: "looks at the stderr of hooks that refuse or fail",
			Rule: "On an error, exit with a code other than 0 and write the reason to stderr: `{\"status\":\"error\",\"error\":\"…\",\"code\":\"…\"}`.",
			Fix:  `print {"status":"error","error":"…"} to stderr before you exit with a code other than 0`},
		{ID: "mine.hook.notify", Row: "M9", needs: []string{program}, run: s.notify, Does: "calls every notify hook",
			Rule: "A notify hook gets the same message with `\"mode\":\"notify\"`; its stdout is not read.",
			Fix:  "exit with 0 after a notify hook; after an error, write it to stderr and exit with another code"},
		{ID: "mine.command.runs", Row: "M10", needs: []string{program}, run: s.commands, Does: "runs each of its commands without arguments, and with one",
			Rule: "The stdout of a command is shown unchanged and its exit code is passed on. Errors go to stderr.",
			Fix:  "when a command exits with a code other than 0, say on stderr what is wrong; do not wait for input that does not come"},
		{ID: "mine.lifecycle.health", Row: "M11", needs: []string{program}, run: s.health, Does: "sends the lifecycle event `health`",
			Rule: "The answer to `health` is `{\"status\":\"ok\"}`; all three events are optional.",
			Fix:  `answer health with {"status":"ok"}, or with nothing at all`},
		{ID: "mine.lifecycle.brief", Row: "M12", needs: []string{program}, run: s.brief, Does: "sends the lifecycle events `init` and `shutdown`",
			Rule: "`init`, sent when the host starts, and `shutdown`, sent when it ends, need no answer and must end within 5 seconds.",
			Fix:  "exit at once on lifecycle events that you do not need"},
		{ID: "mine.version.refused", Row: "M13", needs: []string{program}, run: s.version, Does: "calls it with protocol version 99.0.0",
			Rule: "Plugins should check `protocol_version`, and fail gracefully if the major version is unsupported.",
			Fix:  `exit with 1 and {"status":"error","error":"unsupported protocol version"} on stderr unless protocol_version begins with "1."`},
		{ID: "mine.type.unknown", Row: "M14", needs: []string{program}, run: s.unknown, Does: "calls it with a type and a stage that do not exist",
			Rule: "A call of an unknown type or stage ends in time, and changes nothing.",
			Fix:  "end without an answer when type or stage is not one that you know"},
		{ID: "mine.input.garbled", Row: "M15", needs: []string{program}, run: s.garbled, Does: "calls it with stdin that is not JSON, and with none",
			Rule: "A call that the plugin does not understand is an error: exit with a code other than 0.",
			Fix:  "exit with a code other than 0 when stdin is not a JSON object"},
		{ID: "mine.input.huge", Row: "M16", needs: []string{answers}, run: s.huge, Does: "calls a hook with a context of 1 MiB",
			Rule: "`context.result` is the whole output of the command, so it may be long.",
			Fix:  "read stdin to its end; do not pass the context on as an argument of a program, whose length is bounded"},
		{ID: "mine.calls.together", Row: "M17", needs: []string{program}, run: s.together, Does: "calls it four times at once",
			Rule: "Notify hooks run at the same time, and so may calls of several commands.",
			Fix:  "use files with unique names (mktemp), and wait for locks"},
		{ID: "mine.stdin.late", Row: "M18", needs: []string{answers}, run: s.late, Does: "starts a hook and writes stdin later",
			Rule: "With `standby` the next process is started ahead and waits for its call.",
			Fix:  "read stdin to its end first, and do the work after that"},
		{ID: "mine.process.left", Row: "M19", sums: true, needs: []string{program}, run: leftRunning, Does: "looks for processes after each call",
			Rule: "After its timeout the process is killed, with all it started; when a call is over, no process of it is left running, except by a command at a terminal.",
			Fix:  "wait for the programs that you start, or end them before you exit"},
		{ID: "mine.sandbox.denied", Row: "M20", sums: true, needs: []string{program}, run: denied, Does: "looks for what its sandbox refused in all calls",
			Rule: "With `sandbox = \"declared\"`, a plugin may use only itself and what `network`, `filesystem`, `store`, `config_read` and `config_write` allow.",
			Fix:  "declare it in [permissions], or do not use it"},
	}
}

func (s *mineSuite) manifest(t *trial) {
	t.manifest()
	s.declared, _ = mine.Declares(s.target.Found, s.env)
}

// manifest fails a check with everything that is wrong with a manifest.
func (t *trial) manifest() {
	var lines []string
	for _, p := range t.target.Found.Problems {
		lines = append(lines, place(p)+p.Message)
		t.fixWith(p.Fix)
	}
	if len(lines) > 1 {
		t.fix = "" // one advice for all faults
	}
	if len(lines) == 0 && t.target.Found.Manifest == nil && t.target.Found.Err != nil {
		lines = append(lines, t.target.Found.Err.Error())
	}
	if len(lines) > 0 {
		t.failf("%s", strings.Join(lines, "\n"))
	}
}

// place returns the place of a problem in a file, as compilers write it.
func place(p dialect.Problem) string {
	if p.Line == 0 {
		return p.Path + ": "
	}
	return fmt.Sprintf("%s:%d:%d: ", p.Path, p.Line, p.Column)
}

// manifestOdd warns about oddities of a manifest.
func manifestOdd(t *trial) {
	var lines []string
	for _, p := range t.target.Found.Warnings {
		lines = append(lines, place(p)+p.Message)
		t.fixWith(p.Fix)
	}
	if len(lines) > 1 {
		t.fix = "" // one advice for all of them
	}
	if len(lines) > 0 {
		t.warnf("%s", strings.Join(lines, "\n"))
	}
}

func (s *mineSuite) executable(t *trial) {
	t.checkStartable(s.declared.Program)
	if t.failed() && t.target.Found.Err != nil { // the dialect's error may name the program that was meant
		_, fix := startFault(t.target.Found.Err)
		t.fixWith(fix)
	}
}

func (s *mineSuite) call(message string, within time.Duration) call {
	return call{launch: launch{path: s.declared.Program, dir: s.work, env: s.declared.Environ}, stdin: []byte(message + "\n"), within: within}
}
