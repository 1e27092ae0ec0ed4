package kaged_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/dialect/kaged"
	"github.com/patchbay-dev/patchbay/internal/document"
)

// minimal is the shortest valid manifest. The cases below change one line of it (counted from 1) or
// add to its end.
const minimal = `name: tiny
version: 0.1.0
kaged_api: 1
description: Does one thing.
command: [./tiny]
methods: [tiny.run]
`

// edited replaces one line of minimal with text; line 0 is the end.
func edited(line int, text string) string {
	if line == 0 {
		return minimal + text + "\n"
	}
	lines := strings.Split(minimal, "\n")
	lines[line-1] = text
	return strings.Join(lines, "\n")
}

// A manifestCase is a rule, a manifest that breaks it, and the report.
type manifestCase struct {
	rule     string
	line     int
	text     string
	problems []string // as Problem.String formats it: line:column: field: message
	warnings []string
}

func (tc manifestCase) run(t *testing.T) {
	m, problems := kaged.ParseManifest("", []byte(edited(tc.line, tc.text)))
	same(t, "problems", problems, tc.problems)
	same(t, "warnings", m.Warnings, tc.warnings)
}

func same(t *testing.T, what string, got []document.Problem, want []string) {
	t.Helper()
	var lines []string
	for _, p := range got {
		lines = append(lines, p.String())
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func runManifestCases(t *testing.T, cases []manifestCase) {
	for _, tc := range cases {
		t.Run(tc.rule, tc.run)
	}
}

func TestTheMinimalManifestIsValid(t *testing.T) {
	manifestCase{}.run(t)
}

func TestEveryViolationIsReportedAtOnceInTheOrderOfTheFile(t *testing.T) {
	m, problems := kaged.ParseManifest("", readFile(t, "many_problems.yaml"))
	want := strings.Split(strings.TrimSpace(string(readFile(t, "many_problems.txt"))), "\n")
	same(t, "problems", problems, want)
	if m == nil || m.Name != "" || m.Description != "Everything here is wrong but this." {
		t.Errorf("a manifest with problems holds what could be read, got %+v", m)
	}
}

func TestALongReportIsCut(t *testing.T) {
	_, problems := kaged.ParseManifest("", []byte(edited(6, "methods: ["+strings.Repeat("X, ", 500)+"]")))
	list := dialect.Problems(problems)
	if len(list) != 201 {
		t.Fatalf("%d problems, want 200 and one that says how many more", len(list))
	}
	if got, want := list[200], (dialect.Problem{Line: 6, Column: 611, Message: "and 300 more from here on"}); got != want {
		t.Errorf("the last is %v, want %v", got, want)
	}
}

func TestDefaults(t *testing.T) {
	m, problems := kaged.ParseManifest("", []byte(minimal))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := &kaged.Manifest{
		Name: "tiny", Version: "0.1.0", KagedAPI: 1, Description: "Does one thing.",
		Command: []string{"./tiny"}, Env: map[string]string{}, Methods: []string{"tiny.run"},
		ShutdownTimeout: 5 * time.Second, HealthInterval: 30 * time.Second, HookTimeout: 10 * time.Second,
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
}

func TestDefaultRoles(t *testing.T) {
	for _, tc := range []struct{ rule, text, roles string }{
		{"no hooks: none", "", "[]"},
		{"hooks: observer", "hooks: [pre_compact]", "[observer]"},
		{"an empty list stays empty", "hooks: [pre_compact]\nroles: []", "[]"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			m, problems := kaged.ParseManifest("", []byte(minimal+tc.text))
			if got := fmt.Sprint(m.Roles); len(problems) > 0 || got != tc.roles {
				t.Errorf("roles %s, want %s; problems %v", got, tc.roles, problems)
			}
		})
	}
}

func TestAFullManifest(t *testing.T) {
	m, problems := kaged.ParseManifest("", readFile(t, "full.yaml"))
	if len(problems)+len(m.Warnings) > 0 {
		t.Fatal(problems, m.Warnings)
	}
	for _, tc := range []struct {
		field     string
		got, want any
	}{
		{"name", m.Name, "field-notes"},
		{"version", m.Version, "1.4.0-rc.1+build.7"},
		{"author", m.Author, "Mira Okonkwo"},
		{"license", m.License, "MIT"},
		{"homepage", m.Homepage, "https://example.org/field-notes"},
		{"command", m.Command, []string{"node", "dist/main.js", "--stdio"}},
		{"env", m.Env, map[string]string{"NODE_ENV": "production", "NOTES_RETRIES": "3"}},
		{"capabilities", fmt.Sprint(m.Capabilities), "[read:fs:/srv/notes write:fs:/srv/notes/inbox exec:git:/usr/bin/git " +
			"net:api.example.org:443 net:127.0.0.1:* net:[2001:db8::1]:8443 kaged:storage:read kaged:storage:write]"},
		{"methods", m.Methods, []string{"field-notes.search", "field-notes.index.rebuild"}},
		{"notifications", m.Notifications, []string{"field-notes.indexed"}},
		{"config_schema", m.ConfigSchema.Fields(),
			[]string{"model", "temperature", "limit", "style", "archive", "title", "preamble", "folder"}},
		{"system_config_schema", string(m.SystemConfigSchema.JSON()),
			`{"type":"object","properties":{"api_key":{"type":"string","pattern":"^key-[0-9a-f]{8}$"}}}`},
		{"hooks", m.Hooks, []string{"on_session_start", "on_session_idle", "pre_compact", "post_compact"}},
		{"roles", m.Roles, []string{"observer", "compactor"}},
		{"compactor", m.Compactor(), true},
		{"tools[1].name", m.Tools[1].Name, "find-notes"},
		{"tools[1].description", m.Tools[1].Description, "Finds notes.\nThe newest come first.\n"},
		{"tools[0].parameters_schema", string(m.Tools[0].JSON), `{"type":"object","required":["text"],"properties":{` +
			`"text":{"type":"string","maxLength":2000},"weight":{"type":"number","multipleOf":0.01,"maximum":12345678901234567890.5}}}`},
		{"shutdown_timeout_sec", m.ShutdownTimeout, 10 * time.Second},
		{"health_interval_sec", m.HealthInterval, time.Minute},
		{"hook_timeout_sec", m.HookTimeout, 20 * time.Second},
	} {
		if !reflect.DeepEqual(tc.got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.field, tc.got, tc.want)
		}
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "manifest", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
