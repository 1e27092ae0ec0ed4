//go:build unix

package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
