package cli

import (
	"strings"
	"testing"
)

// TestNoSessionsSaysHowOneBegins: the hint names the command for the HOST of --host.
func TestNoSessionsSaysHowOneBegins(t *testing.T) {
	for host, want := range map[string]string{
		"":       "No session yet. `patchbay chat` begins one.\n",
		"chat":   "No session from chat yet. `patchbay chat` begins one.\n",
		"http":   "No session from http yet. POST /session to `patchbay serve` begins one.\n",
		"claude": "No session from claude yet. A session in claude is listed if its hooks were installed before: `patchbay hook install claude`.\n",
	} {
		c := newConsole(t)
		if code := c.run("session", "list", "--host="+host); code != exitOK || strings.Join(strings.Fields(c.out.String()), " ")+"\n" != want {
			t.Errorf("--host=%s: exit code %d, %q, want %q\n%s", host, code, c.out.String(), want, c.err.String())
		}
	}
}
