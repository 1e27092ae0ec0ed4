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
	online := &policy{grants: []capability.Capability{{Kind: capability.NetHost, Host: "a.example", Port: 443}, {Kind: capability.NetHost, Host: "localhost", AnyPort: true}}}
	offline := &policy{grants: []capability.Capability{{Kind: capability.NetNone}}}
	for message, want := range map[string]string{
		"<urlopen error [Errno -3] Temporary failure in name resolution>":                            someHost,
		"getaddrinfo EAI_AGAIN b.example":                                                            someHost,
		`Post "https://b.example/": dial tcp: lookup b.example: no such host`:                        someHost,
		"curl: (6) Could not resolve host: b.example":                                                someHost,
		"Unable to connect. Is the computer able to access the url?":                                 someHost,
		"connect: network is unreachable":                                                            someHost,
		"<urlopen error [Errno 111] Connection refused>":                                             someHost,
		"connect ECONNREFUSED 127.0.0.1:8080":                                                        "net:127.0.0.1:8080",
		"connect ECONNREFUSED ::1:8080":                                                              "net:[::1]:8080",
		"connect EPERM 192.0.2.7:443 - Local (undefined:undefined)":                                  "net:192.0.2.7:443",
		"dial tcp [::1]:8080: connect: connection refused":                                           "net:[::1]:8080",
		"dial tcp 192.0.2.7:443: connect: operation not permitted":                                   "net:192.0.2.7:443",
		"curl: (7) Failed to connect to db.example port 5432 after 0 ms: Couldn't connect to server": "net:db.example:5432",
		"connect ECONNREFUSED /run/app.sock":                                                         "",
		"[Errno 30] Read-only file system: 'log.txt'":                                                somePath,
		"EROFS: read-only file system, open 'log.txt'":                                               somePath,
		"the drawer is stuck":                                                                        "",
		"unable to connect the pipes":                                                                "",
	} {
		if fix := grantFix(offline.lacksSome(message)); !strings.HasSuffix(fix, want) || (fix == "") != (want == "") {
			t.Errorf("%s: fix %q, want %q", message, fix, want)
		}
		if got := online.lacksSome(message); isHost(want) && got != nil {
			t.Errorf("%s: a plugin with a network lacks %q", message, got)
		}
	}
}

// TestAnotherPortOfThisMachine: a sandbox has a loopback of its own, so a plugin with a network may
// still lack a port of this machine. The address of another host may be that of a granted name.
func TestAnotherPortOfThisMachine(t *testing.T) {
	online := &policy{grants: []capability.Capability{{Kind: capability.NetHost, Host: "a.example", Port: 443}, {Kind: capability.NetHost, Host: "localhost", Port: 8080}}}
	for message, want := range map[string][]string{
		"connect ECONNREFUSED 127.0.0.1:8081": {"net:127.0.0.1:8081"},
		"connect ECONNREFUSED 127.0.0.1:8080": nil,
		"connect ECONNREFUSED 192.0.2.7:443":  nil,
	} {
		if got := online.lacksSome(message); !slices.Equal(got, want) {
			t.Errorf("%s: a plugin with a network lacks %q, want %q", message, got, want)
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
		{"net:192.0.2.7:443", []string{"net:a.example:443"}},
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
