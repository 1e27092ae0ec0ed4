package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/patchbay-dev/patchbay/adapter/command"
	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/fixes"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// The exit codes. The last two are the codes that a shell reports for SIGINT and SIGPIPE.
const (
	exitOK          = 0
	exitFailed      = 1   // the command failed
	exitUsage       = 2   // usage error
	exitRefused     = 3   // a plugin, the user or the command itself refused
	exitNotFound    = 4   // no such plugin, tool, session or other thing
	exitConfig      = 5   // the configuration has an error
	exitChecks      = 6   // a plugin breaks a rule of its protocol, or differs from a recording
	exitTaken       = 7   // the address or the socket of the daemon is in use
	exitInterrupted = 130 // by Ctrl-C or a supervisor
	exitPipe        = 141 // the reader of the output has ended
)

// A kind is a class of errors, as it appears in JSON.
type kind string

// The kinds of errors.
const (
	kindUsage       kind = "usage"
	kindNotFound    kind = "not_found"
	kindConfig      kind = "config"
	kindRefused     kind = "refused"     // a plugin, the user or the command itself refused
	kindFailed      kind = "failed"      // the result is a failure, or the system or the model failed
	kindChecks      kind = "checks"      // a tested plugin failed a check
	kindPlugin      kind = "plugin"      // a call to a plugin failed; the cause is a hook.Kind
	kindDifferent   kind = "different"   // a replay differs from the recording
	kindTaken       kind = "taken"       // another program or daemon uses the address
	kindInterrupted kind = "interrupted" // by a signal, or cancelled by another command
	kindInternal    kind = "internal"    // anything else
)

// classify returns the kind and the exit code of an error. No other function maps errors to exit
// codes.
func classify(ctx context.Context, err error) (kind, int) {
	if p, ok := errors.AsType[*programExit](err); ok { // the exit code of a program is passed on, whatever else happened
		if is[*hook.Error](err) {
			return kindPlugin, p.code
		}
		return kindFailed, p.code
	}
	switch k := statedKind(err); {
	case ctx.Err() != nil, k == kindInterrupted:
		return kindInterrupted, exitInterrupted
	case k == kindUsage, errors.Is(err, hook.ErrBadPayload), errors.Is(err, pluginhost.ErrNoDialect), errors.Is(err, pluginhost.ErrAmbiguous):
		return kindUsage, exitUsage
	case k == kindConfig, is[*config.Error](err), is[*daemon.ModelError](err), errors.Is(err, httpapi.ErrNoToken), errors.Is(err, config.ErrNoHome), is[*engine.DirError](err):
		return kindConfig, exitConfig
	case k == kindRefused, is[*command.Refused](err):
		return kindRefused, exitRefused
	case k == kindTaken, is[*daemon.TakenError](err):
		return kindTaken, exitTaken
	case k == kindDifferent:
		return kindDifferent, exitChecks
	case k == kindFailed:
		return kindFailed, exitFailed
	case k == kindChecks:
		return kindChecks, exitChecks
	case k == kindNotFound, errors.Is(err, pluginhost.ErrNotFound), errors.Is(err, hook.ErrUnknownPoint):
		return kindNotFound, exitNotFound
	case is[*hook.Error](err), is[*program.StartError](err):
		return kindPlugin, exitFailed
	case errors.Is(err, syscall.EPIPE) && !is[*net.OpError](err): // the output, not a connection to a daemon
		return kindInternal, exitPipe
	case is[*model.Error](err), fixOf(err) != "":
		return kindFailed, exitFailed
	}
	return kindInternal, exitFailed
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// A problem is an error of a command, with its fix.
type problem struct {
	err  error
	kind kind   // empty: classify derives it from err
	fix  string // how to fix it; empty: unknown
	told bool   // the user has seen it already, so it is printed only as JSON
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func statedKind(err error) kind {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.kind
	}
	return ""
}

// usage returns the error of a command line that cannot be carried out as written.
func usage(fix, format string, args ...any) error {
	return &problem{kind: kindUsage, err: fmt.Errorf(format, args...), fix: fix}
}

// withFix adds a fix to an error.
func withFix(err error, fix string) error {
	if err == nil {
		return nil
	}
	return &problem{kind: statedKind(err), err: err, fix: fix}
}

// alreadyPrinted returns the error of a command that has printed its failure on stdout.
func alreadyPrinted(k kind, fix, format string, args ...any) error {
	return &problem{kind: k, err: fmt.Errorf(format, args...), fix: fix, told: true}
}

// fixOf returns how to fix an error, or "".
func fixOf(err error) string {
	if p, ok := errors.AsType[*problem](err); ok && p.fix != "" {
		return p.fix
	}
	if start, ok := errors.AsType[*program.StartError](err); ok {
		return joinFixes(start.Fix, withoutPluginFix(err))
	}
	if m, ok := errors.AsType[*model.Error](err); ok && m.Fix != "" {
		return m.Fix
	}
	if refused, ok := errors.AsType[*command.Refused](err); ok && refused.Suggest != "" {
		return refused.Suggest
	}
	if c, ok := errors.AsType[*config.Error](err); ok {
		return onlyFix(c)
	}
	if fix := fixes.Of(err); fix != "" {
		return joinFixes(fix, withoutPluginFix(err))
	}
	if call, ok := errors.AsType[*hook.Error](err); ok {
		return callFix(call)
	}
	return systemFix(err)
}

// onlyFix returns the fix of a file's only problem. If there are several, each line has its own,
// and onlyFix returns "".
func onlyFix(c *config.Error) string {
	if len(c.Problems) != 1 {
		return ""
	}
	return c.Problems[0].Fix
}

// systemFix returns how to fix an error of the file system or the network, or "".
func systemFix(err error) string {
	if call, ok := errors.AsType[*os.SyscallError](err); ok && call.Syscall == "getwd" {
		return "the current directory is gone: change to another one, or name one with --dir DIR"
	}
	at, ok := errors.AsType[*net.OpError](err)
	switch {
	case !ok:
		return fileFix(err)
	case at.Op == "listen" && errors.Is(err, fs.ErrPermission):
		return "choose a port above 1023 with --listen HOST:PORT"
	case at.Op == "listen":
		return "choose another address with --listen HOST:PORT"
	case at.Addr != nil && at.Addr.Network() == "unix" && errors.Is(err, fs.ErrPermission):
		return ownerFix(at.Addr.String())
	}
	return "check the address, and whether this machine can reach it"
}

// fileFix returns how to fix an error of the file system, or "".
func fileFix(err error) string {
	at, ok := errors.AsType[*fs.PathError](err)
	switch {
	case !ok && errors.Is(err, engine.ErrDisk): // the server reports it as a text
		return "make that disk writable again: if it is full, free some room"
	case !ok:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "name a path that exists"
	case errors.Is(err, fs.ErrPermission) && at.Op == "open":
		return ownerFix(at.Path)
	case errors.Is(err, fs.ErrPermission): // to create, rename or remove it takes rights on its directory
		return ownerFix(filepath.Dir(at.Path))
	case errors.Is(err, syscall.ENOTDIR):
		return "a part of this path is a file, and must be a directory: move the file away, or name another place"
	case errors.Is(err, syscall.EISDIR), errors.Is(err, plainfile.ErrKind):
		return "name a file, not a directory"
	case errors.Is(err, syscall.ENOSPC):
		return "free some room on that disk"
	case errors.Is(err, syscall.EROFS):
		return "that disk is read-only: name another place"
	}
	return ""
}

// ownerFix returns how to fix a path that may not be used. It names the path, or the innermost
// directory above it that can be seen, because its rights are the likely reason. For a relative
// path it names none, because the path may be relative to another directory than ours.
func ownerFix(path string) string {
	if !filepath.IsAbs(path) {
		return "`ls -la` in the directory that holds it shows owners and modes; change them, or name another place"
	}
	dir := path
	for _, err := os.Lstat(dir); err != nil && dir != filepath.Dir(dir); _, err = os.Lstat(dir) {
		dir = filepath.Dir(dir)
	}
	return "`ls -ld " + program.Quote(dir) + "` shows its owner and its mode; change them, or name another place"
}

// callFix returns how to fix a failed call to a plugin, by the kind of failure.
func callFix(e *hook.Error) string {
	switch e.Kind {
	case hook.Crash:
		return crashFix(e)
	case hook.Unavailable:
		return joinFixes("`patchbay doctor` says how to fix it", withoutPluginFix(e))
	}
	return pluginhost.FailureFix(e)
}

// crashFix returns where to look for the cause of a crash. The message has one line of stderr.
func crashFix(e *hook.Error) string {
	if strings.Contains(strings.TrimSpace(e.Stderr), "\n") {
		return "run the command again with -v to see all that the plugin wrote to stderr"
	}
	return fmt.Sprintf("`patchbay plugin test %s` tries it with other calls", program.Quote(e.Plugin))
}

// withoutPluginFix returns how to go on without a plugin that cannot be called, if that ended an
// event; otherwise "".
func withoutPluginFix(err error) string {
	e, ok := errors.AsType[*hook.Error](err)
	if !ok || e.Point == "" || e.Kind != hook.Unavailable {
		return ""
	}
	return fmt.Sprintf(`to go on without it, write on_failure = "skip" under [%s] in the configuration`, document.KeyPath("plugins", e.Plugin))
}

// joinFixes joins fixes to one text. After a question it begins a new sentence.
func joinFixes(fixes ...string) string {
	text := ""
	for _, f := range fixes {
		switch {
		case f == "":
		case text == "":
			text = f
		case strings.HasSuffix(text, "?"):
			text += " " + strings.ToUpper(f[:1]) + f[1:]
		default:
			text += "; " + f
		}
	}
	return text
}

// report prints the error, if there is one, and returns the exit code.
func (a *app) report(ctx context.Context, err error) int {
	if a.out.err != nil { // this error comes first, because the output is incomplete
		err = fmt.Errorf("writing the output: %w", a.out.err)
	}
	if err == nil {
		return exitOK
	}
	k, code := classify(ctx, err)
	p, ok := errors.AsType[*problem](err)
	switch {
	case code == exitPipe, ranToItsEnd(err):
	case a.flags.json:
		a.reportJSON(k, err)
	case !ok || !p.told:
		a.reportText(k, err)
	}
	return code
}

// ranToItsEnd reports whether err is the exit of a program that ran and printed its own messages.
func ranToItsEnd(err error) bool {
	p, ok := errors.AsType[*programExit](err)
	return ok && p.err == nil
}

// errorJSON is an error in JSON.
type errorJSON struct {
	Kind     kind          `json:"kind"`
	Cause    hook.Kind     `json:"cause,omitempty"` // how the call to a plugin failed
	Plugin   string        `json:"plugin,omitempty"`
	Message  string        `json:"message"`
	Fix      string        `json:"fix"`
	Problems []problemJSON `json:"problems,omitempty"` // the errors in a file
}

func newErrorJSON(k kind, err error) errorJSON {
	e := errorJSON{Kind: k, Message: message(k, err), Fix: strings.ReplaceAll(fixOf(err), "\n", " ")}
	if call, ok := errors.AsType[*hook.Error](err); ok {
		e.Cause, e.Plugin = call.Kind, call.Plugin
	}
	if c, ok := errors.AsType[*config.Error](err); ok {
		e.Problems = configProblems(c)
	}
	return e
}

func (a *app) reportJSON(k kind, err error) {
	raw, encodeErr := encodeJSON(map[string]errorJSON{"error": newErrorJSON(k, err)})
	if encodeErr != nil {
		a.reportText(k, errors.Join(err, encodeErr))
		return
	}
	fmt.Fprintf(a.Err, "%s\n", raw)
}

// reportText prints an error as text: first what happened, then the fix. Lines after the first are
// not indented, so that editors can jump to file:line:column.
func (a *app) reportText(k kind, err error) {
	screen := a.errScreen()
	head := screen.Paint(render.StyleRed, "error:")
	fmt.Fprintf(a.Err, "%s\n", render.Wrap(head+" "+render.Block(message(k, err)), screen.Width, "  "))
	if fix := fixOf(err); fix != "" {
		fmt.Fprintf(a.Err, "%s\n", fixText(screen, fix))
	}
}

// fixText returns a fix, to be shown below an error.
func fixText(o render.Options, fix string) string {
	const indent = "       "
	return "  " + o.Paint(render.StyleGreen, "fix:") + " " + indentRest(render.Wrap(render.Block(fix), o.Width-len(indent), ""), indent)
}

// problemText returns a problem, to be shown below a heading.
func problemText(o render.Options, problem string) string {
	return "  " + indentRest(render.Wrap(render.Block(problem), o.Width-2, ""), "  ")
}

// message returns what happened. After an interrupt it is "interrupted", not the errors that the
// interrupt caused.
func message(k kind, err error) string {
	if k == kindInterrupted && statedKind(err) != kindInterrupted {
		return "interrupted"
	}
	if c, ok := errors.AsType[*config.Error](err); ok {
		what := "the configuration"
		switch {
		case is[*daemon.ModelError](err):
			what = "the script of the offline model"
		case !slices.ContainsFunc(c.Problems, func(p config.Problem) bool { return filepath.Base(p.File) != "agent.toml" }):
			what = "the manifest of the agent"
		}
		text := fixes.Without(c.Error(), onlyFix(c)) // the fix is printed after it
		return what + " has " + render.Count(len(c.Problems), "problem") + "\n" + text
	}
	text := err.Error() // likewise
	if start, ok := errors.AsType[*program.StartError](err); ok {
		text = fixes.Without(text, start.Fix)
	}
	if m, ok := errors.AsType[*model.Error](err); ok {
		text = fixes.Without(text, m.Fix)
	}
	return fixes.Without(text, fixes.Of(err))
}

func indentRest(text, indent string) string { return strings.ReplaceAll(text, "\n", "\n"+indent) }
