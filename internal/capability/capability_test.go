package capability_test

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		text string
		want capability.Capability
	}{
		{"read:fs:/srv/notes", capability.Capability{Kind: capability.ReadFS, Path: "/srv/notes"}},
		{"read:fs:/", capability.Capability{Kind: capability.ReadFS, Path: "/"}},
		{"read:fs:/a: b/..c", capability.Capability{Kind: capability.ReadFS, Path: "/a: b/..c"}},
		{"write:fs:/srv/notes/", capability.Capability{Kind: capability.WriteFS, Path: "/srv/notes"}},
		{"exec:git:/usr/bin/git", capability.Capability{Kind: capability.Exec, Binary: "git", Path: "/usr/bin/git"}},
		{"net:example.org:443", capability.Capability{Kind: capability.NetHost, Host: "example.org", Port: 443}},
		{"net:API.Example.ORG:1", capability.Capability{Kind: capability.NetHost, Host: "api.example.org", Port: 1}},
		{"net:localhost:*", capability.Capability{Kind: capability.NetHost, Host: "localhost", AnyPort: true}},
		{"net:127.0.0.1:65535", capability.Capability{Kind: capability.NetHost, Host: "127.0.0.1", Port: 65535}},
		{"net:[::1]:443", capability.Capability{Kind: capability.NetHost, Host: "::1", Port: 443}},
		{"net:[2001:DB8:0::1]:*", capability.Capability{Kind: capability.NetHost, Host: "2001:db8::1", AnyPort: true}},
		{"net:*", capability.Capability{Kind: capability.NetAny}},
		{"net:[]", capability.Capability{Kind: capability.NetNone}},
		{"kaged:storage:read", capability.Capability{Kind: capability.StorageRead}},
		{"kaged:storage:write", capability.Capability{Kind: capability.StorageWrite}},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := capability.Parse(tc.text)
			if err != nil || got != tc.want {
				t.Fatalf("got %+v, %v; want %+v", got, err, tc.want)
			}
			if again, err := capability.Parse(got.String()); err != nil || again != got {
				t.Errorf("%q reads back as %+v, %v", got.String(), again, err)
			}
		})
	}
}

func TestInvalidCapabilities(t *testing.T) {
	const forms = "expected read:fs:<path>, write:fs:<path>, exec:<binary>:<path>, " +
		"net:<host>:<port>, net:<host>:*, net:*, net:[], kaged:storage:read or kaged:storage:write"
	const netForms = "expected net:<host>:<port>, net:<host>:*, net:* or net:[]"
	for _, tc := range []struct{ rule, text, want string }{
		{"empty", "", forms},
		{"an unknown subject", "gpu:0", forms},
		{"a space in front", " net:*", forms},
		{"read without fs", "read:/srv", "expected read:fs:<path>"},
		{"write without a path", "write:fs", "expected write:fs:<path>"},
		{"an empty path", "read:fs:", `the path must be absolute: begin with /, got ""`},
		{"a relative path", "read:fs:./a", `the path must be absolute: begin with /, got "./a"`},
		{"a home", "read:fs:~/a", `the path must be absolute: ~ is not expanded, so write the whole path, got "~/a"`},
		{"a path upwards", "read:fs:/srv/../etc", `the path must have no .., . or empty parts, got "/srv/../etc"`},
		{"a path with a dot", "read:fs:/srv/./a", `the path must have no .., . or empty parts, got "/srv/./a"`},
		{"a doubled slash", "write:fs://srv", `the path must have no .., . or empty parts, got "//srv"`},
		{"a NUL in a path", "read:fs:/a\x00b", `the path has a control character in it: "/a\x00b"`},
		{"exec without a path", "exec:git", "expected exec:<binary>:<path>, the binary by its name alone"},
		{"exec without a binary", "exec::/usr/bin/git", "expected exec:<binary>:<path>, the binary by its name alone"},
		{"exec by a path", "exec:/usr/bin/git:/usr/bin/git", "expected exec:<binary>:<path>, the binary by its name alone"},
		{"exec at a relative path", "exec:git:bin/git", `the path must be absolute: begin with /, got "bin/git"`},
		{"net without a host", "net:", netForms},
		{"net without a port", "net:example.org", netForms},
		{"an empty port", "net:example.org:", `the port must be a number from 1 to 65535, or *, got ""`},
		{"port 0", "net:example.org:0", `the port must be a number from 1 to 65535, or *, got "0"`},
		{"a port too high", "net:example.org:65536", `the port must be a number from 1 to 65535, or *, got "65536"`},
		{"a port with a sign", "net:example.org:+80", `the port must be a number from 1 to 65535, or *, got "+80"`},
		{"a port with a zero in front", "net:example.org:080", `the port must be a number from 1 to 65535, or *, got "080"`},
		{"a service", "net:example.org:https", `the port must be a number from 1 to 65535, or *, got "https"`},
		{"any host at a port", "net:*:443", "a host cannot be a pattern; net:* is all of the network"},
		{"a pattern of hosts", "net:*.example.org:443", "a host cannot be a pattern; net:* is all of the network"},
		{"an empty host", "net::443", `"" is neither a host name nor an IP address`},
		{"an address with a scheme", "net:https://example.org:443", "an IPv6 address must be in brackets: net:[::1]:443"},
		{"a host with a hyphen in front", "net:-a.org:1", `"-a.org" is neither a host name nor an IP address`},
		{"a host with an empty label", "net:a..org:1", `"a..org" is neither a host name nor an IP address`},
		{"a host with a space", "net:a b:1", `"a b" is neither a host name nor an IP address`},
		{"a host that is nearly an address", "net:256.1.1.1:1", `"256.1.1.1" is neither a host name nor an IP address`},
		{"a label too long", "net:" + strings.Repeat("a", 64) + ":1", `"` + strings.Repeat("a", 60) + `"… is neither a host name nor an IP address`},
		{"IPv6 without brackets", "net:::1:443", "an IPv6 address must be in brackets: net:[::1]:443"},
		{"brackets without a port", "net:[::1]", netForms},
		{"brackets around IPv4", "net:[127.0.0.1]:1", `"127.0.0.1" is not an IPv6 address`},
		{"IPv6 with a zone", "net:[fe80::1%eth0]:1", `"fe80::1%eth0" is not an IPv6 address`},
		{"storage without a mode", "kaged:storage", "expected kaged:storage:read or kaged:storage:write"},
		{"storage with another mode", "kaged:storage:delete", "expected kaged:storage:read or kaged:storage:write"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			got, err := capability.Parse(tc.text)
			if err == nil {
				t.Fatalf("it was parsed as %+v", got)
			}
			if _, why, _ := strings.Cut(err.Error(), ": "); !strings.HasSuffix(err.Error(), ": "+tc.want) {
				t.Errorf("got  %s\nwant %s", why, tc.want)
			}
			if got != (capability.Capability{}) {
				t.Errorf("%+v beside the error", got)
			}
		})
	}
}

func FuzzParse(tf *testing.F) {
	f := variants.Of(tf)
	for _, s := range []string{
		"read:fs:/a", "write:fs:/a/", "exec:git:/usr/bin/git", "net:a.b:1", "net:[::1]:*", "net:*", "net:[]",
		"kaged:storage:read", "net:[::ffff:1.2.3.4]:5", "read:fs:/..", "net:0x7f.1:1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := capability.Parse(s)
		if err != nil {
			if c != (capability.Capability{}) {
				t.Fatalf("%q: %+v beside %v", s, c, err)
			}
			return
		}
		again, err := capability.Parse(c.String())
		if err != nil || again != c {
			t.Fatalf("%q is %+v, but %q is %+v, %v", s, c, c.String(), again, err)
		}
	})
}
