package plugintest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

// Tool calls a tool with a struct or a map of arguments. A result that is not a text is JSON.
func (h *Host) Tool(name string, arguments any) (string, error) {
	h.t.Helper()
	switch h.Dialect {
	case plugin.Scaffold:
		a := h.request("tool/execute", map[string]any{"name": name, "arguments": orEmpty(arguments)})
		var r struct {
			Success bool
			Result  string
		}
		if err := h.result(a, &r); err != nil {
			return "", err
		}
		return r.Result, failure(r.Success, r.Result)
	case plugin.MCP:
		a := h.request("tools/call", map[string]any{"name": name, "arguments": orEmpty(arguments)})
		var r struct {
			Content []struct{ Text string }
			IsError bool `json:"isError"`
		}
		if err := h.result(a, &r); err != nil {
			return "", err
		}
		return r.Content[0].Text, failure(!r.IsError, r.Content[0].Text)
	case plugin.Kaged:
		value, err := h.Method(h.plugin.Name()+"."+name, arguments)
		if len(value) > 0 && value[0] == '"' {
			return text(value), err
		}
		return string(value), err
	}
	h.t.Fatalf("%s has no tools", h.Dialect)
	return "", nil
}

func failure(success bool, reason string) error {
	if success {
		return nil
	}
	return errors.New(reason)
}

func (h *Host) result(a answer, into any) error {
	if a.Error != nil {
		return errors.New(a.Error.Message)
	}
	return json.Unmarshal(a.Result, into)
}

// Method calls a method (kaged).
func (h *Host) Method(name string, params any) (json.RawMessage, error) {
	h.t.Helper()
	if h.Dialect != plugin.Kaged {
		h.t.Fatalf("%s has no methods", h.Dialect)
	}
	a := h.request(name, orEmpty(params))
	if a.Error != nil {
		return nil, errors.New(a.Error.Message)
	}
	return a.Result, nil
}

// Health checks the plugin's health (kaged and mine).
func (h *Host) Health() error {
	h.t.Helper()
	switch h.Dialect {
	case plugin.Kaged:
		_, err := h.Method("health.check", nil)
		return err
	case plugin.Mine:
		stdout, stderr, code := h.run(`{"protocol_version":"1.0.0","type":"lifecycle","event":"health"}` + "\n")
		if code != 0 || !strings.Contains(stdout, `"ok"`) {
			return errors.New(outcome{}.refused(stderr).reason)
		}
		return nil
	}
	h.t.Fatalf("%s does not ask for health", h.Dialect)
	return nil
}

// Validate checks a config (dotagent).
func (h *Host) Validate(config any) error {
	h.t.Helper()
	if h.Dialect != plugin.Dotagent {
		h.t.Fatalf("%s has no validate", h.Dialect)
	}
	stdout, _, _ := h.run(string(h.json(config))+"\n", "validate")
	var reply struct {
		OK    bool
		Error string
	}
	if err := json.Unmarshal([]byte(stdout), &reply); err != nil {
		return fmt.Errorf("the reply is %q", stdout)
	}
	return failure(reply.OK, reply.Error)
}

// A CommandResult is the result of a command.
type CommandResult struct {
	Stdout, Stderr string
	Code           int
	Error          string // the plugin's error
}

// Command runs a plugin's own command (mine), with an empty stdin.
func (h *Host) Command(name string, args ...string) CommandResult {
	h.t.Helper()
	return h.command("", name, args)
}

// CommandWith is like Command, for a command with the user's stdin.
func (h *Host) CommandWith(stdin, name string, args ...string) CommandResult {
	h.t.Helper()
	return h.command(stdin, name, args)
}

func (h *Host) command(stdin, name string, args []string) CommandResult {
	h.t.Helper()
	if h.Dialect != plugin.Mine {
		h.t.Fatalf("%s has no commands", h.Dialect)
	}
	sent := string(h.json(struct {
		Version string   `json:"protocol_version"`
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args,omitempty"`
	}{"1.0.0", "command", name, args}))
	if stdin != "" {
		variables := map[string]string{"MINE_INVOCATION": sent}
		for key, value := range h.options.Env {
			variables[key] = value
		}
		given := h.options.Env
		h.options.Env, sent = variables, stdin
		defer func() { h.options.Env = given }()
	}
	var r CommandResult
	r.Stdout, r.Stderr, r.Code = h.run(sent)
	if r.Code != 0 {
		r.Error = outcome{}.refused(r.Stderr).reason
	}
	return r
}
