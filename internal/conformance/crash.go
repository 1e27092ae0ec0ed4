package conformance

import (
	"regexp"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// traces match what interpreters and runtimes write to stderr about an error that a program did not
// handle.
var traces = regexp.MustCompile(`(?m)^(?:` + strings.Join([]string{
	`Traceback \(most recent call last\):`, // Python
	`(?:Syntax|Indentation|Tab)Error: `,    // Python, about a file that it cannot parse
	`(?:Node\.js|Bun) v\d`,                 // below the error and its stack
	`error: Uncaught `,                     // Deno
	`panic: |fatal error: `,                // Go
	`thread '.*' .*panicked at `,           // Rust
	`Exception in thread "`,                // Java
	`Unhandled exception\. `,               // .NET
	`\S+:\d+:in .* \(\w+\)$`,               // Ruby
}, "|") + `)`)

// shellFault matches the last line of a shell's stderr if an error ended the script. Bash and
// BusyBox write "/path: line 4: …", dash writes "/path: 4: …", and zsh "/path:4: …".
var shellFault = regexp.MustCompile(`^/[^\n]*:(?: line | ?)\d+: [^\n]*$`)

// crashed reports whether a program was ended by an error that it did not handle, or by a signal.
// Otherwise it chose its exit code itself.
func crashed(exit proc.Exit, stderr string) bool {
	return exit.Signal != "" || exit.Code != 0 && (traces.MatchString(stderr) || shellFault.Match(lastLine([]byte(stderr))))
}

// crashFix says what to do about a program that has crashed.
const crashFix = "handle the error; the same command with -v shows all that it writes to stderr"

// checkCrash fails a check if a program has crashed, and reports whether it has.
func (t *trial) checkCrash(what string, exit proc.Exit, stderr string) bool {
	yes := crashed(exit, stderr)
	if yes {
		t.failf("%s crashed (%s)%s", what, exit, stderrEnd(stderr))
		t.fixWith(crashFix)
	}
	return yes
}
