package conformance

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// TestCrashed: the words of interpreters and runtimes for an error that was not handled are a
// crash. A reason that the program has written itself is not.
func TestCrashed(t *testing.T) {
	for name, stderr := range map[string]string{
		"Python":               "Traceback (most recent call last):\n  File \"/p/run\", line 4, in <module>\n    print(call[\"contxt\"])\nKeyError: 'contxt'\n",
		"Python, its syntax":   "  File \"/p/run\", line 1\n    x = (\n        ^\nSyntaxError: '(' was never closed\n",
		"Node":                 "/p/run:2\nconsole.log(c.contxt.args)\n\nTypeError: Cannot read properties of undefined (reading 'args')\n    at Object.<anonymous> (/p/run:2:3)\n\nNode.js v20.20.2\n",
		"Bun":                  "1 | throw 1\n    ^\nerror: x\n      at /p/run:1:7\n\nBun v1.1.30 (Linux x64)\n",
		"Deno":                 "error: Uncaught (in promise) Error: x\n    at file:///p/run:1:7\n",
		"Go":                   "panic: runtime error: index out of range [0] with length 0\n\ngoroutine 1 [running]:\nmain.main()\n",
		"Go, a fatal error":    "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select (no cases)]:\n",
		"Rust":                 "\nthread 'main' (4711) panicked at src/main.rs:2:5:\nno\nnote: run with `RUST_BACKTRACE=1`\n",
		"Java":                 "Exception in thread \"main\" java.lang.NullPointerException\n\tat Main.main(Main.java:3)\n",
		"Ruby":                 "/p/run:3:in 'Object#foo': undefined local variable (NameError)\n\tfrom /p/run:5:in '<main>'\n",
		"Bash, a missing name": "/p/run: line 4: jqq: command not found\n",
		"Bash, its syntax":     "/p/run: line 2: syntax error near unexpected token `newline'\n/p/run: line 2: `foo('\n",
		"dash":                 "/p/run: 4: FOO: parameter not set\n",
		"zsh":                  "/p/run:4: division by zero\n",
	} {
		t.Run(name, func(t *testing.T) {
			if !crashed(proc.Exit{Code: 1}, stderr) {
				t.Errorf("not a crash: %s", stderr)
			}
			if crashed(proc.Exit{}, stderr) {
				t.Error("a crash with exit code 0")
			}
		})
	}
	for name, stderr := range map[string]string{
		"nothing":                      "",
		"a sentence":                   "not on a Friday\n",
		"an error object":              `{"status":"error","error":"no"}`,
		"a sentence with a place":      "notes.txt: line 3: a link without a target\n",
		"a shell's remark before it":   "/p/run: line 3: warning: setlocale: LC_ALL: cannot change locale\nnot on a Friday\n",
		"a sentence about a traceback": "the test failed: Traceback (most recent call last): …\n",
	} {
		t.Run(name, func(t *testing.T) {
			if crashed(proc.Exit{Code: 1}, stderr) {
				t.Errorf("a crash: %s", stderr)
			}
		})
	}
	if !crashed(proc.Exit{Code: -1, Signal: "SIGSEGV"}, "") {
		t.Error("a signal is no crash")
	}
}
