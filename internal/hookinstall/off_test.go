package hookinstall

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// TestTurnedOff: settings that turn an agent's hooks off are faults, in the user's files and in
// those of a project. A later file overrides an earlier one.
func TestTurnedOff(t *testing.T) {
	const user, project = "", "project/"
	for _, c := range []struct {
		rule  string
		agent codehook.Agent
		files map[string]string
		want  string // "": no fault
	}{
		{"nothing", codehook.Claude, nil, ""},
		{"Claude Code, by a project", codehook.Claude, map[string]string{project + ".claude/settings.json": `{"disableAllHooks":true}`},
			"project/.claude/settings.json turns all hooks of Claude Code off with disableAllHooks"},
		{"Claude Code, by a local file", codehook.Claude, map[string]string{project + ".claude/settings.local.json": `{"disableAllHooks":true}`},
			"settings.local.json turns all hooks of Claude Code off"},
		{"Claude Code, turned off by one file and on again by another", codehook.Claude, map[string]string{project + ".claude/settings.json": `{"disableAllHooks":true}`,
			project + ".claude/settings.local.json": `{"disableAllHooks":false}`}, ""},
		{"Claude Code, by the environment of hooks", codehook.Claude, map[string]string{project + ".claude/settings.json": `{"env":{"PATCHBAY_HOOK":"off","A":"b"}}`},
			`sets PATCHBAY_HOOK to "off": no plugin is called`},
		{"Claude Code, by another home", codehook.Claude, map[string]string{project + ".claude/settings.json": `{"env":{"PATCHBAY_HOME":"/tmp/x"}}`},
			`sets PATCHBAY_HOME to "/tmp/x", so hooks call other plugins than yours, or none`},
		{"Claude Code, by the user's own choice", codehook.Claude, map[string]string{user + ".claude/settings.json": `{"env":{"PATCHBAY_HOME":"/tmp/x","PATCHBAY_HOOK":"on"}}`}, ""},
		{"Codex", codehook.Codex, map[string]string{user + ".codex/config.toml": "[features]\nhooks = false\n"}, ".codex/config.toml turns all hooks of Codex off with features.hooks"},
		{"Codex, by the older name", codehook.Codex, map[string]string{project + ".codex/config.toml": "features.codex_hooks = false"}, "features.codex_hooks"},
		{"Copilot CLI", codehook.Copilot, map[string]string{project + ".github/copilot/settings.json": `{"disableAllHooks":true}`}, "all hooks of Copilot CLI off"},
		{"Gemini CLI", codehook.Gemini, map[string]string{project + ".gemini/settings.json": "{ // off\n\"hooksConfig\":{\"enabled\":false}}"}, "hooksConfig.enabled"},
		{"Gemini CLI, by the name of the hook", codehook.Gemini, map[string]string{project + ".gemini/settings.json": `{"hooksConfig":{"disabled":["patchbay"]}}`}, "hooksConfig.disabled"},
		{"Gemini CLI, another hook", codehook.Gemini, map[string]string{project + ".gemini/settings.json": `{"hooksConfig":{"enabled":true,"disabled":["other"]}}`}, ""},
		{"Gemini CLI, by the environment", codehook.Gemini, map[string]string{project + ".env": "A=1\nexport PATCHBAY_HOOK = 'off' \n"}, `.env sets PATCHBAY_HOOK to "off"`},
		{"Qwen Code, by the environment", codehook.Qwen, map[string]string{project + ".qwen/.env": "PATCHBAY_HOME=/tmp/x"}, "sets PATCHBAY_HOME"},
		{"Claude Code, which does not read .env", codehook.Claude, map[string]string{project + ".env": "PATCHBAY_HOOK=off"}, ""},
		{"Qwen Code", codehook.Qwen, map[string]string{project + ".qwen/settings.json": `{"disableAllHooks":true}`}, "all hooks of Qwen Code off"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			home := t.TempDir()
			for name, text := range c.files {
				write(t, Place{Dir: home, Name: name}, text)
			}
			p, err := Find(c.agent, home, "", noVariables)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Install(p, self(t), false); err != nil {
				t.Fatal(err)
			}
			all, errs := All(home, filepath.Join(home, "project"), noVariables)
			if len(all) != 1 || len(errs) > 0 {
				t.Fatalf("%+v, %v", all, errs)
			}
			faults := all[0].Faults
			if c.want == "" && len(faults) == 0 {
				return
			}
			if len(faults) != 1 || c.want == "" || !strings.Contains(faults[0].Problem, c.want) || faults[0].Fix == "" {
				t.Errorf("%+v, want %q", faults, c.want)
			}
		})
	}
}

// TestAnUnreadableFileIsReportedOnce: a project's file is read for its entries and for its
// settings.
func TestAnUnreadableFileIsReportedOnce(t *testing.T) {
	home := t.TempDir()
	p, err := Find(codehook.Claude, home, "", noVariables)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Install(p, self(t), false); err != nil {
		t.Fatal(err)
	}
	write(t, Place{Dir: home, Name: "project/.claude/settings.json"}, `{"disableAllHooks":`)
	if _, errs := All(home, filepath.Join(home, "project"), noVariables); len(errs) != 1 {
		t.Errorf("%v", errs)
	}
}
