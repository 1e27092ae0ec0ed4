package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/program"
)

func TestClassify(t *testing.T) {
	tests := map[string]struct {
		err  error
		kind kind
		code int
	}{
		"a bad command line is usage":              {usage("", "bad"), kindUsage, exitUsage},
		"a payload that is not an object is usage": {fmt.Errorf("x: %w", hook.ErrBadPayload), kindUsage, exitUsage},
		"a plugin that does not exist":             {fmt.Errorf("x: %w", pluginhost.ErrNotFound), kindNotFound, exitNotFound},
		"a fix does not change the kind":           {withFix(pluginhost.ErrNotFound, "look"), kindNotFound, exitNotFound},
		"a point that does not exist":              {hook.ErrUnknownPoint, kindNotFound, exitNotFound},
		"a bad configuration":                      {fmt.Errorf("x: %w", &config.Error{}), kindConfig, exitConfig},
		"no home directory":                        {config.ErrNoHome, kindConfig, exitConfig},
		"a refused event":                          {alreadyPrinted(kindRefused, "", "no"), kindRefused, exitRefused},
		"a failed tool":                            {alreadyPrinted(kindFailed, "", "no"), kindFailed, exitFailed},
		"a plugin that timed out":                  {hook.Failure(hook.Timeout, errors.New("late")), kindPlugin, exitFailed},
		"a plugin that refused a call":             {hook.Failure(hook.Refused, errors.New("no")), kindPlugin, exitFailed},
		"a program that does not start":            {&program.StartError{}, kindPlugin, exitFailed},
		"an error with a fix":                      {withFix(errors.New("?"), "look"), kindFailed, exitFailed},
		"a model that refuses":                     {&model.Error{Fix: "check the key"}, kindFailed, exitFailed},
		"a file that cannot be read":               {fmt.Errorf("x: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}), kindFailed, exitFailed},
		"an address that does not answer":          {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, kindFailed, exitFailed},
		"a reader of the output that has ended":    {&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}, kindInternal, exitPipe},
		"a disk that the engine cannot write":      {fmt.Errorf("turn: %w", engine.ErrDisk), kindFailed, exitFailed},
		"a daemon that ends during a request":      {&net.OpError{Op: "write", Err: syscall.EPIPE}, kindFailed, exitFailed},
		"any other error is internal":              {errors.New("?"), kindInternal, exitFailed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if k, code := classify(t.Context(), tt.err); k != tt.kind || code != tt.code {
				t.Errorf("%s, %d; want %s, %d", k, code, tt.kind, tt.code)
			}
		})
	}
	t.Run("an interrupt counts, not the errors that it causes", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if k, code := classify(ctx, hook.Failure(hook.Crash, ctx.Err())); k != kindInterrupted || code != exitInterrupted {
			t.Errorf("%s, %d", k, code)
		}
	})
}

// TestFileFixes: an error of the file system says what to do.
func TestFileFixes(t *testing.T) {
	dir := t.TempDir()
	for cause, want := range map[error]string{
		syscall.ENOENT: "name a path that exists", syscall.EACCES: "`ls -ld " + program.Quote(dir) + "` shows its owner", syscall.ENOTDIR: "move the file away",
		syscall.EISDIR: "name a file", syscall.ENOSPC: "free some room", syscall.EROFS: "read-only", syscall.EIO: "",
	} {
		if runtime.GOOS == "windows" && cause == syscall.ENOTDIR {
			continue // there it is the error of a path that does not exist
		}
		err := fmt.Errorf("data directory: %w", &fs.PathError{Op: "open", Path: filepath.Join(dir, "a b", "c"), Err: cause})
		if got := fixOf(err); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%v: %q", err, got)
		}
	}
	for path, want := range map[string]string{ // that may not be opened
		filepath.Join(dir, "a b"): "`ls -ld " + program.Quote(dir) + "` shows", dir: "`ls -ld " + program.Quote(dir) + "` shows", ".gemini": "`ls -la` in the directory that holds it",
	} {
		if got := fixOf(&fs.PathError{Op: "open", Path: path, Err: syscall.EACCES}); !strings.Contains(got, want) {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := fixOf(&fs.PathError{Op: "unlink", Path: dir, Err: syscall.EACCES}); !strings.Contains(got, program.Quote(filepath.Dir(dir))+"`") {
		t.Errorf("a directory that may not be removed: %q", got)
	}
	socket := &net.UnixAddr{Name: filepath.Join(dir, "sock"), Net: "unix"}
	for err, want := range map[*net.OpError]string{
		{Op: "dial", Addr: socket, Err: syscall.EACCES}: "`ls -ld " + program.Quote(dir) + "`",
		{Op: "listen", Err: syscall.EACCES}:             "a port above 1023", {Op: "listen", Err: syscall.EADDRNOTAVAIL}: "another address", {Op: "dial", Err: syscall.ECONNREFUSED}: "can reach it",
	} {
		if got := fixOf(err); !strings.Contains(got, want) {
			t.Errorf("%v: %q", err, got)
		}
	}
	if got := fixOf(fmt.Errorf("working directory: %w", os.NewSyscallError("getwd", syscall.ENOENT))); !strings.Contains(got, "--dir DIR") {
		t.Errorf("a current directory that is gone: %q", got)
	}
	if got := fixOf(syscall.ENOENT); got != "" {
		t.Errorf("an error without a path: %q", got)
	}
}

// TestFilesWithProblems: the error names the kind of file.
func TestFilesWithProblems(t *testing.T) {
	for file, want := range map[string]string{"/c/config.toml": "the configuration has 1 problem\n", "/a/agent.toml": "the manifest of the agent has 1 problem\n"} {
		err := &config.Error{Problems: []config.Problem{{File: file, Message: "bad"}}}
		if got := message(kindConfig, err); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", file, got)
		}
	}
}

// TestTheFixOfAFile: the fix of a file's only problem is below the error. Several problems have
// their fixes beside them.
func TestTheFixOfAFile(t *testing.T) {
	one := config.Problem{File: "/c/config.toml", Line: 1, Column: 2, Message: "bad", Fix: "make it good"}
	err := &config.Error{Problems: []config.Problem{one}}
	if got, fix := message(kindConfig, err), fixOf(err); got != "the configuration has 1 problem\n/c/config.toml:1:2: bad" || fix != "make it good" {
		t.Errorf("one problem: %q, fix %q", got, fix)
	}
	err = &config.Error{Problems: []config.Problem{one, one}}
	if got, fix := message(kindConfig, err), fixOf(err); strings.Count(got, "; make it good") != 2 || fix != "" {
		t.Errorf("two problems: %q, fix %q", got, fix)
	}
}

// TestErrorsWithAFix: the fix of an error is not in its message too.
func TestErrorsWithAFix(t *testing.T) {
	for _, err := range []error{config.ErrNoHome, httpapi.CheckListen("0.0.0.0:1", false)} {
		if got := message(kindConfig, err); fixOf(err) == "" || strings.Contains(got, ";") {
			t.Errorf("message %q, fix %q", got, fixOf(err))
		}
	}
}

func TestFixOf(t *testing.T) {
	start := fmt.Errorf("open: %w", &program.StartError{Fix: "chmod +x it"})
	if got := fixOf(start); got != "chmod +x it" {
		t.Errorf("a program that does not start: %q", got)
	}
	tool := &hook.Error{Plugin: "slow", Hook: "tool", Kind: hook.Timeout}
	if got := fixOf(tool); !strings.Contains(got, "tool_timeout in [plugins.slow]") {
		t.Errorf("a tool that timed out: %q", got)
	}
	event := &hook.Error{Plugin: "slow", Hook: "pre", Point: hook.ToolBefore, Kind: hook.Timeout}
	if got := fixOf(event); !strings.Contains(got, "longer, set timeout in [plugins.slow]") {
		t.Errorf("a hook that timed out: %q", got)
	}
	if got := fixOf(withFix(start, "reinstall it")); got != "reinstall it" {
		t.Errorf("the command's own fix comes first: %q", got)
	}
}

func TestJoinFixes(t *testing.T) {
	for want, fixes := range map[string][]string{
		"":                                 {"", ""},
		"do this; to go on, do that":       {"do this", "", "to go on, do that"},
		`did you mean "a"? To go on, wait`: {`did you mean "a"?`, "to go on, wait"},
	} {
		if got := joinFixes(fixes...); got != want {
			t.Errorf("%q: got %q, want %q", fixes, got, want)
		}
	}
}
