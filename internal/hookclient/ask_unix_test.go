//go:build unix

package hookclient

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// dyingDaemon returns a program that ends at once in place of a daemon. Each start writes an x to
// the file started.
func dyingDaemon(t *testing.T, home string) (program, started string) {
	t.Helper()
	program, started = filepath.Join(home, "patchbay"), filepath.Join(home, "started")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho x >>'"+started+"'\necho ready\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return program, started
}

// TestDaemonsThatEndAtOnce: after mostStarts daemons that did not stay, the event is answered in
// process.
func TestDaemonsThatEndAtOnce(t *testing.T) {
	home := t.TempDir()
	program, started := dyingDaemon(t, home)
	var out strings.Builder
	code := Run(t.Context(), Options{Agent: codehook.Claude, Event: "PreToolUse", In: strings.NewReader(`{"tool_name":"Bash"}`), Out: &out, Err: &out,
		Environ: []string{"HOME=" + home}, Dir: home, Program: program,
		InProcess: func(context.Context, Request) (*Answer, error) {
			return &Answer{Answer: codehook.Answer{Stdout: "in process"}}, nil
		}})
	text, err := os.ReadFile(started)
	if starts := strings.Count(string(text), "x"); err != nil || starts != mostStarts || code != 0 || out.String() != "in process" {
		t.Errorf("%d starts, exit %d, %q, %v", starts, code, out.String(), err)
	}
}

// TestNoSocketIsPossible: if the path of a socket would be too long, the event is answered in
// process.
func TestNoSocketIsPossible(t *testing.T) {
	t.Setenv("TMPDIR", "/"+strings.Repeat("t", 100))
	t.Setenv("XDG_RUNTIME_DIR", "")
	var out strings.Builder
	code := Run(t.Context(), Options{Agent: codehook.Claude, Event: "PreToolUse", In: strings.NewReader(`{"tool_name":"Bash"}`), Out: &out, Err: &out,
		Environ: []string{"PATCHBAY_HOME=/" + strings.Repeat("h", 100)}, Dir: "/",
		InProcess: func(context.Context, Request) (*Answer, error) {
			return &Answer{Answer: codehook.Answer{Stdout: "in process"}}, nil
		}})
	if code != 0 || out.String() != "in process" {
		t.Errorf("exit %d, %q", code, out.String())
	}
}

// TestNoHomeDirectory: without the directories in which plugins are found, every plugin might have
// to agree.
func TestNoHomeDirectory(t *testing.T) {
	for _, c := range []struct{ event, data, environ, want string }{
		{"PreToolUse", `{"tool_name":"Bash"}`, "", `"permissionDecision":"deny"`},
		{"PreToolUse", `{"tool_name":`, "", "without a home directory"},
		{"PreToolUse", `{"tool_name":"Bash"}`, Switch + "=off", ""},
		{"SessionStart", `{}`, "", ""},
	} {
		var out strings.Builder
		code := Run(t.Context(), Options{Agent: codehook.Claude, Event: c.event, In: strings.NewReader(c.data), Out: &out, Err: &out,
			Environ: []string{c.environ}, Dir: t.TempDir()})
		if code != 0 || !strings.Contains(out.String(), c.want) || c.want == "" && out.Len() > 0 {
			t.Errorf("%s %s: exit %d, %q", c.event, c.data, code, out.String())
		}
	}
}

// TestNoDaemon: if no daemon may be asked, none is started, and the event is answered in process.
func TestNoDaemon(t *testing.T) {
	home := t.TempDir()
	program, started := dyingDaemon(t, home)
	var out strings.Builder
	code := Run(t.Context(), Options{Agent: codehook.Claude, Event: "PreToolUse", In: strings.NewReader(`{"tool_name":"Bash"}`), Out: &out, Err: &out,
		Environ: []string{"HOME=" + home}, Dir: home, Program: program, NoDaemon: errors.New("not today"),
		InProcess: func(context.Context, Request) (*Answer, error) {
			return &Answer{Answer: codehook.Answer{Stdout: "in process"}}, nil
		}})
	if _, err := os.Stat(started); !os.IsNotExist(err) || code != 0 || out.String() != "in process" {
		t.Errorf("exit %d, %q, %v", code, out.String(), err)
	}
}

// TestInterrupted: a process that waits for its event ends when ctx ends. If a plugin must agree to
// the event, it is denied.
func TestInterrupted(t *testing.T) {
	interrupted := func(agent codehook.Agent, event, home string) (string, int, error) {
		ctx, cancel := context.WithCancel(t.Context())
		in, agentEnd := io.Pipe()
		defer agentEnd.Close()
		var out strings.Builder
		o := Options{Agent: agent, Event: event, In: in, Out: &out, Err: &out, Environ: []string{"HOME=" + home}, Dir: home}
		time.AfterFunc(time.Millisecond, cancel)
		if agent == codehook.OpenCode {
			err := Lines(ctx, o)
			return out.String(), 0, err
		}
		code := Run(ctx, o)
		return out.String(), code, nil
	}
	home := t.TempDir()
	if out, code, _ := interrupted(codehook.Claude, "PreToolUse", home); out != "" || code != 130 {
		t.Errorf("exit %d, %q", code, out)
	}
	if out, _, err := interrupted(codehook.OpenCode, "", home); out != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("opencode: %v, %q", err, out)
	}
	config := filepath.Join(home, ".config", "patchbay")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte("[plugins.a]\non_failure = \"deny\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code, _ := interrupted(codehook.Claude, "PreToolUse", home); !strings.Contains(out, `"deny"`) || code != 0 {
		t.Errorf("a plugin must agree: exit %d, %q", code, out)
	}
}
