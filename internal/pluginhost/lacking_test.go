package pluginhost

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/trust"
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
	message, fix := splitFix(sayFix(&lackingError{failed, grantFix([]string{"exec:jq:/usr/bin/jq"})}))
	if message != "timed out after 10s" || !strings.HasSuffix(fix, "exec:jq:/usr/bin/jq") {
		t.Errorf("%q, fix %q", message, fix)
	}
}

// TestWhatAMessageDoesNotName: a message about a missing network, or about a path that is not
// absolute, has a fix too, unless the plugin has a network.
func TestWhatAMessageDoesNotName(t *testing.T) {
	online := &policy{grants: []capability.Capability{{Kind: capability.NetHost, Host: "a.example", Port: 443}}}
	offline := &policy{grants: []capability.Capability{{Kind: capability.NetNone}}}
	for message, want := range map[string]string{
		"<urlopen error [Errno -3] Temporary failure in name resolution>":     someHost,
		"getaddrinfo EAI_AGAIN b.example":                                     someHost,
		`Post "https://b.example/": dial tcp: lookup b.example: no such host`: someHost,
		"curl: (6) Could not resolve host: b.example":                         someHost,
		"Unable to connect. Is the computer able to access the url?":          someHost,
		"connect: network is unreachable":                                     someHost,
		"[Errno 30] Read-only file system: 'log.txt'":                         somePath,
		"EROFS: read-only file system, open 'log.txt'":                        somePath,
		"the drawer is stuck":                                                 "",
		"unable to connect the pipes":                                         "",
	} {
		if fix := grantFix(offline.lacksSome(message)); !strings.HasSuffix(fix, want) || (fix == "") != (want == "") {
			t.Errorf("%s: fix %q, want %q", message, fix, want)
		}
		if got := online.lacksSome(message); want == someHost && got != nil {
			t.Errorf("%s: a plugin with a network lacks %q", message, got)
		}
	}
}

// TestWhatATrustedPluginWouldHave: the fix for a lack of capabilities that are only withheld is to
// trust the plugin. Otherwise it names the capabilities.
func TestWhatATrustedPluginWouldHave(t *testing.T) {
	e := &entry{trust: trust.Verdict{Withheld: []string{"exec:sum:/usr/bin/sum", "net:a.example:443", "write:fs:/srv/out"}}}
	for _, c := range []struct {
		grant string
		want  []string
	}{
		{"exec:sum:/usr/bin/sum", []string{"exec:sum:/usr/bin/sum"}},
		{someHost, []string{"net:a.example:443"}},
		{somePath, []string{"write:fs:/srv/out"}},
		{"exec:jq:/usr/bin/jq", nil},
		{"read:fs:/srv/in", nil},
	} {
		if got := e.heldBack([]string{c.grant}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q is withheld, want %q", c.grant, got, c.want)
		}
	}
	if fix := grantFix([]string{"read:fs:/srv/out"}); !strings.Contains(fix, "write:fs: in place of read:fs:") {
		t.Errorf("a file that may have been opened for writing: fix %q", fix)
	}
}
