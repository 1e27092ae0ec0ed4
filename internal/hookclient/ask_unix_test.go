//go:build unix

package hookclient

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// TestDaemonsThatEndAtOnce: after mostStarts daemons that did not stay, the event is answered in
// process.
func TestDaemonsThatEndAtOnce(t *testing.T) {
	home := t.TempDir()
	program, started := filepath.Join(home, "patchbay"), filepath.Join(home, "started")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho x >>'"+started+"'\necho ready\n"), 0o700); err != nil {
		t.Fatal(err)
	}
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
