package pluginhost

import (
	"errors"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// TestNamesInCommandsAreQuoted: a plugin chooses its name, so commands in fixes quote it for the
// shell.
func TestNamesInCommandsAreQuoted(t *testing.T) {
	for name, want := range map[string]string{"keeper": "`patchbay plugin test keeper`", "a b": "`patchbay plugin test 'a b'`", "$(x)": "`patchbay plugin test '$(x)'`"} {
		if fix := FailureFix(&hook.Error{Plugin: name, Kind: hook.Garbled}); !strings.Contains(fix, want) {
			t.Errorf("%s: %s", name, fix)
		}
	}
}

// TestSuggestedCapabilitiesReplaceTheFix: the error of a plugin that lacks a program in its sandbox
// has one fix, and does not contain the general fix of its dialect.
func TestSuggestedCapabilitiesReplaceTheFix(t *testing.T) {
	failed := dialect.WithFix(errors.New("timed out after 10s"), "flush stdout after each line")
	message, fix := splitFix(sayFix(&lackingError{failed, []string{"exec:jq:/usr/bin/jq"}}))
	if message != "timed out after 10s" || !strings.HasSuffix(fix, "exec:jq:/usr/bin/jq") {
		t.Errorf("%q, fix %q", message, fix)
	}
}
