package job

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// readHooks reads [[preflight]], [[on_success]] or [[on_failure]], which have the same keys.
func readHooks(top *document.Table, list string, s Security) []Hook {
	tables := top.Tables(list)
	hooks := make([]Hook, 0, len(tables))
	for i, t := range tables {
		h := Hook{
			Plugin:  readPlugin(t, "plugin", s),
			Config:  readConfig(t, "config"),
			Events:  readEvents(t, "events"),
			Timeout: readSeconds(t, "timeout_seconds", 0),
			At:      placeOf(top, list, i),
		}
		warnOfHookEvents(t, list, h)
		t.End()
		hooks = append(hooks, h)
	}
	return hooks
}

// The lists of hooks.
const (
	preflightList = "preflight"
	onSuccessList = "on_success"
	onFailureList = "on_failure"
)

// warnOfHookEvents warns if the list of events has no effect, if it keeps the hook from ever being
// called, or if it has events that Patchbay never sends.
func warnOfHookEvents(t *document.Table, list string, h Hook) {
	switch {
	case len(h.Events) == 0:
	case list == preflightList:
		t.Warn("events", "remove it", "it has no effect: a preflight is called before every attempt")
	case list == onSuccessList && !h.Wants(Success):
		t.Warn("events", "add \"success\", or remove the list", "plugin %s is never called: on_success is for success only", document.Cut(h.Plugin))
	case list == onFailureList:
		warnOfUnsentEvents(t, "events", h.Events)
	}
}

// warnOfUnsentEvents warns of events that manifests of dotagent may list and that Patchbay never
// sends.
func warnOfUnsentEvents(t *document.Table, key string, events []Event) {
	for i, e := range events {
		switch e {
		case BeforeRun:
			t.WarnItem(key, i, "list \"attempt_failed\" to hear of it", "Patchbay never sends %q: a preflight that refuses is attempt_failed", e)
		case DailySummary:
			t.WarnItem(key, i, "remove it", "%q has no effect: only dotagent sends it", e)
		}
	}
}

// readPlugin reads the name of a plugin. Its file is found by that name, so the name must not be a
// path.
func readPlugin(t *document.Table, key string, s Security) string {
	name := t.Required(key)
	switch {
	case name == "":
	case strings.ContainsAny(name, "/\\\x00"):
		t.Bad(key, "name the plugin, not its file", "%q cannot be a plugin's name", document.Cut(name))
	case !s.allowsPlugin(name):
		t.Bad(key, "add it there, or remove it here", "security.allowed_plugins does not list %q", document.Cut(name))
	}
	return name
}

// readConfig reads a plugin's config as JSON. It does not escape <, > and &, because shell plugins
// search the text.
func readConfig(t *document.Table, key string) json.RawMessage {
	config := t.Free(key)
	if config == nil {
		return json.RawMessage("{}")
	}
	text, err := rawjson.Marshal(config)
	if err != nil {
		t.Bad(key, "write a value that JSON has: plugins get the config as JSON", "%s", err)
	}
	return text
}

func placeOf(top *document.Table, list string, i int) Place {
	line, column := top.Position(list, i)
	return Place{Key: fmt.Sprintf("%s[%d]", list, i), Line: line, Column: column}
}

func readSecurity(t *document.Table, dir string) Security {
	s := Security{
		AllowedCommands: t.List("allowed_commands"),
		AllowedPlugins:  t.List("allowed_plugins"),
		Network:         readNetwork(t),
		EnvPassthrough:  t.List("env_passthrough"),
	}
	for i, path := range t.List("filesystem_writable") {
		if strings.Contains(path, "\x00") {
			t.BadItem("filesystem_writable", i, noZeroByte, "must not contain a zero byte")
		}
		s.FilesystemWritable = append(s.FilesystemWritable, resolve(dir, path))
	}
	for i, name := range s.EnvPassthrough {
		if strings.ContainsAny(name, "=\x00") {
			t.BadItem("env_passthrough", i, "write only the name; the value comes from the host's environment", "%q: want a variable's name or a glob, not a value", document.Cut(name))
		}
	}
	t.End()
	return s
}

// readNetwork reads `network`: "allow", "deny" or a list of hosts.
func readNetwork(t *document.Table) Network {
	const key = "network"
	if t.Value(key).Kind() != document.List {
		return Network{Restricted: document.OneOf(t, key, "allow", "allow", "deny") == "deny"}
	}
	hosts := t.List(key)
	for i, host := range hosts {
		if host == "" {
			continue // List has reported it
		}
		if _, err := hostGrant(host); err != nil {
			t.BadItem(key, i, `write it without scheme and path, as in "api.example.com" or "127.0.0.1:8080"`, "%q: want a host", document.Cut(host))
		}
	}
	return Network{Restricted: true, Hosts: hosts}
}

// readMinutes reads a number of minutes, or returns 0 if it is absent.
func readMinutes(t *document.Table, key string) time.Duration {
	return time.Duration(number(t, key, 0, span{0, maxMinutes})) * time.Minute
}
