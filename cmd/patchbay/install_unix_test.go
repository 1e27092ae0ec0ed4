//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// writeSources writes the sources of two plugins, both of the given version: a scaffold plugin of
// several files, and a mine plugin.
func writeSources(t *testing.T, home string, version int) {
	t.Helper()
	write(t, home, "src/loud/loud", `#!/bin/sh
. "$(dirname "$0")/lib/version"
while IFS= read -r line; do
  id=${line##*\"id\":}; id=${id%%\}*}
  case $line in
  *initialize*) result='{"name":"loud","hooks":["post_user_input"],"tools":[]}' ;;
  *) result='{"message":"loud '$version'"}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`)
	executable(t, home, "src/loud/loud")
	write(t, home, "src/loud/lib/version", fmt.Sprintf("version=%d\n", version))
	write(t, home, "src/tags/mine-plugin.toml", `[plugin]
name = "tags"
version = "1.0.0"
description = "d"
author = "a"
protocol_version = "1.0.0"
[[hooks]]
command = "*"
stage = "preexec"
mode = "transform"
`)
	write(t, home, "src/tags/mine-plugin-tags", fmt.Sprintf(`#!/bin/sh
IFS= read -r input
context=${input#*'"context":'}
context=$(printf '%%s' "$context" | sed 's/"args":\[[^]]*\]/"args":["v%d"]/')
printf '{"status":"ok","context":%%s\n' "$context"
`, version))
	executable(t, home, "src/tags/mine-plugin-tags")
}

// install installs both plugins.
func install(t *testing.T, home string) {
	t.Helper()
	for _, name := range []string{"loud", "tags"} {
		if out, err := patchbayIn(home, "plugin", "install", filepath.Join(home, "src", name)).CombinedOutput(); err != nil {
			t.Errorf("install %s: %v\n%s", name, err, out)
		}
	}
}

// TestInstallLosesNoEvent: plugins are replaced while a daemon calls them all the time. The old or
// the new version answers every event, with trust = "locked".
func TestInstallLosesNoEvent(t *testing.T) {
	home := t.TempDir()
	write(t, home, ".config/patchbay/config.toml", "trust = \"locked\"\n")
	writeSources(t, home, 1)
	install(t, home)
	s := serve(t, home)
	ctx, stop := context.WithCancel(t.Context())
	var events atomic.Int64
	var firing sync.WaitGroup
	for body, want := range map[string]string{
		`{"point":"turn.input","data":{"message":"hi"}}`:                          `"message":"loud [0-9]+"`,
		`{"point":"command.before","data":{"command":"ls","args":[],"flags":{}}}`: `"args":\["v[0-9]+"\]`,
	} {
		pattern := regexp.MustCompile(want)
		firing.Go(func() {
			for ctx.Err() == nil {
				var answer json.RawMessage
				if code := s.call("POST", "/v1/fire", body, &answer); code != 200 || !pattern.Match(answer) || !strings.Contains(string(answer), `"verdict":"continue"`) {
					t.Errorf("an event was lost: %d %s", code, answer)
					return
				}
				events.Add(1)
			}
		})
	}
	last := 4
	for version := 2; version <= last; version++ {
		began := events.Load()
		waitUntil(t, "events are under way", func() bool { return events.Load() > began+5 })
		writeSources(t, home, version)
		install(t, home)
	}
	stop()
	firing.Wait()
	var answer json.RawMessage
	if s.call("POST", "/v1/fire", `{"point":"turn.input","data":{"message":"hi"}}`, &answer); !strings.Contains(string(answer), fmt.Sprintf("loud %d", last)) {
		t.Errorf("the new version does not answer: %s", answer)
	}
	if left, err := filepath.Glob(home + "/.local/*/*/.patchbay-*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	s.stop()
	if strings.Contains(s.log.String(), "have changed since they were recorded") {
		t.Errorf("the daemon reports an installation as a change:\n%s", s.log)
	}
}

// TestADaemonUsesPluginChanges: a running daemon notices when plugins are installed, disabled,
// enabled, trusted and removed.
func TestADaemonUsesPluginChanges(t *testing.T) {
	home := t.TempDir()
	s := serve(t, home)
	writeSources(t, home, 1)
	says := func(when, want string) {
		t.Helper()
		var answer json.RawMessage
		if s.call("POST", "/v1/fire", `{"point":"turn.input","data":{"message":"hi"}}`, &answer); !strings.Contains(string(answer), want) {
			t.Errorf("%s: %s", when, answer)
		}
	}
	run := func(args ...string) {
		t.Helper()
		out, err := patchbayIn(home, append([]string{"plugin"}, args...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "the daemon has reloaded") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	run("install", home+"/src/loud")
	says("installed", "loud 1")
	run("disable", "loud")
	says("disabled", `"message":"hi"`)
	run("enable", "loud")
	says("enabled", "loud 1")
	run("remove", "loud", "--yes")
	says("removed", `"message":"hi"`)
	if _, err := os.Stat(home + "/.local/share/patchbay/plugins/scaffold/loud"); err == nil {
		t.Error("its files are still there")
	}
}
