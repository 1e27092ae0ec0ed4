package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// withTool opens the plugins that may have a tool, and calls use with it.
func (a *app) withTool(ctx context.Context, name string, use func(*pluginhost.Host, pluginhost.Tool) error) error {
	var passed []string
	return a.withHost(ctx, needTool(name, &passed), func(host *pluginhost.Host) error {
		t, err := findTool(host, name, passed)
		if err != nil {
			return err
		}
		return use(host, t)
	})
}

// findTool returns the tool with a name, or the only tool whose name ends with it.
func findTool(host *pluginhost.Host, name string, passed []string) (pluginhost.Tool, error) {
	var near []pluginhost.Tool
	for _, t := range host.Tools() {
		if t.Name == name {
			return t, nil
		}
		if shortFor(t.Name, name) {
			near = append(near, t)
		}
	}
	switch len(near) {
	case 0:
		return pluginhost.Tool{}, noTool(host, name, passed)
	case 1:
		return near[0], nil
	}
	var names []string
	for _, t := range near {
		names = append(names, t.Name)
	}
	return pluginhost.Tool{}, withFix(fmt.Errorf("tool %s: %w: %d tools end with it", name, pluginhost.ErrNotFound, len(near)), "write one of "+strings.Join(names, ", "))
}

// shortFor reports whether name is the end of a tool's full name.
func shortFor(full, name string) bool {
	return strings.HasSuffix(full, "_"+name) || strings.HasSuffix(full, "."+name)
}

// toolArguments returns the arguments of a call: those of --args, and the NAME=VALUE pairs. A pair
// replaces an argument of the same name.
func toolArguments(t pluginhost.Tool, args json.RawMessage, pairs []string) (json.RawMessage, error) {
	object, err := rawjson.Parse(args)
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	given := make(map[string]bool)
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usage("write ARGUMENT=VALUE, or all of them as JSON with --args", "%q is not ARGUMENT=VALUE", pair)
		}
		if given[name] {
			return nil, usage(fmt.Sprintf("give each argument once; a list is written as JSON: '%s=[…]'", name), "the argument %q is given twice", name)
		}
		given[name] = true
		object = object.With(rawjson.Field{Name: name, Value: valueOf(t, name, text)})
	}
	return object.JSON(), nil
}

// valueOf returns the value of NAME=VALUE: a string if the tool wants one, else JSON if it is valid
// JSON.
func valueOf(t pluginhost.Tool, name, text string) json.RawMessage {
	for _, p := range parameters(t.Parameters) {
		if p.name == name && p.kind() == "string" {
			return rawjson.String(text)
		}
	}
	if value, err := rawjson.CleanWithin([]byte(text), rawjson.MaxForeign); err == nil {
		return value
	}
	return rawjson.String(text)
}

// checkArguments refuses arguments that do not fit the tool's schema.
func checkArguments(t pluginhost.Tool, args json.RawMessage) error {
	if wrong := pluginhost.Misfits(t, args); len(wrong) > 0 {
		return usage(fmt.Sprintf("`patchbay tool info %s` lists its arguments", t.Name), "tool %s does not take these arguments: %s", t.Name, strings.Join(wrong, "; "))
	}
	return nil
}
