//go:build unix

package conformance

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// TestAPluginThatCannotBeStarted checks that one check fails with the cause and its own fix, and
// that the others are skipped because of it.
func TestAPluginThatCannotBeStarted(t *testing.T) {
	needSandbox(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"mine-plugin.toml": "[plugin]\nname = \"stuck\"\nversion = \"1.0.0\"\ndescription = \"d\"\nauthor = \"a\"\nprotocol_version = \"1.0.0\"\nentrypoint = \"run\"\n" +
			"[[hooks]]\ncommand = \"*\"\nstage = \"preexec\"\nmode = \"transform\"\n" +
			fmt.Sprintf("[permissions]\nfilesystem = [%q]\n", dir), // the sandbox starts no program that may change itself
		"run": "#!/bin/sh\ncat > /dev/null\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	target, err := At(dir, "mine", dialect.Env{Vars: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), target, Options{Environ: os.Environ(), Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	const first = "mine.hook.answers"
	after := false
	for _, c := range report.Checks {
		switch {
		case c.ID == first:
			after = true
			if c.Status != Fail || !strings.HasPrefix(c.Message, "cannot start ") || !strings.HasSuffix(c.Fix, "; to test it without its sandbox: --no-sandbox") {
				t.Errorf("%+v", c)
			}
		case after && (c.Status != Skip || c.Message != NotTried+first+" failed"):
			t.Errorf("%+v", c)
		}
	}
	if report.OK || report.Count(Fail) != 1 {
		t.Errorf("%+v", report)
	}
}

// TestOnlyReportsTheCause chooses one check that is not tried because another one fails. The report
// must have the failure of the other one.
func TestOnlyReportsTheCause(t *testing.T) {
	o := Options{Environ: os.Environ(), Bare: true, Only: []string{"kaged.hook"}, Log: testLog(t)}
	report, err := Run(t.Context(), install(t, "kaged", "start-error"), o)
	if err != nil {
		t.Fatal(err)
	}
	if c := report.Checks[0]; report.OK || c.ID != "kaged.handshake.answer" || c.Status != Fail || c.Fix == "" || report.Count(Fail) != 1 {
		t.Errorf("%+v", report)
	}
}

// TestNoAnswerShowsStderr: if a plugin does not answer, the failure shows what it has written to
// stderr meanwhile, which is mostly the reason.
func TestNoAnswerShowsStderr(t *testing.T) {
	file, gate := filepath.Join(t.TempDir(), "mute"), filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nread -r x <'%s'\necho 'jq: syntax error' >&2\ncat >/dev/null\n", gate)
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	target, err := At(file, "scaffold", dialect.Env{Vars: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	logged := make(chan struct{}, 9)
	var once sync.Once
	within := func(check string, _ time.Duration) time.Duration {
		if check == "scaffold.handshake.answer" {
			once.Do(func() { // the question is asked: now the plugin complains
				if err := os.WriteFile(gate, []byte("x\n"), 0o600); err != nil {
					t.Error(err)
				}
				<-logged
			})
		}
		return time.Millisecond
	}
	report, err := Run(t.Context(), target, Options{Environ: os.Environ(), Only: []string{"scaffold.handshake.answer"},
		within: within, Log: slog.New(slog.NewTextHandler(writes(logged), nil))})
	if err != nil {
		t.Fatal(err)
	}
	if c := report.Checks[0]; c.Status != Fail || !strings.HasSuffix(c.Message, `; stderr ends with "jq: syntax error"`) {
		t.Errorf("%+v", c)
	}
}

// writes is a writer that sends a value for each write.
type writes chan struct{}

func (s writes) Write(p []byte) (int, error) {
	s <- struct{}{}
	return len(p), nil
}
