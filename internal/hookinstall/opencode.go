package hookinstall

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/hook"
)

// shimText is the plugin for OpenCode, whose hooks are functions in its own process.
//
//go:embed opencode.js
var shimText string

// shimMark is in the first line of every plugin that we wrote.
const shimMark = "Written by `patchbay hook install opencode`"

// errForeign is returned for a file in the plugin's place that we did not write.
var errForeign = errors.New("the file was not written by Patchbay: move it away first")

// shim returns the plugin that starts program p.
func shim(old []byte, p Program) ([]byte, error) {
	if err := checkShim(old); err != nil {
		return nil, err
	}
	waits, refusable := make(map[string]int64), make(map[string][]hook.Point)
	for _, spec := range codehook.Events(codehook.OpenCode) {
		waits[spec.Name] = spec.Timeout.Milliseconds()
		if spec.Gates {
			refusable[spec.Name] = spec.Points
		}
	}
	text := shimText
	for name, value := range map[string]any{
		`"START"`:     append([]string{p.Path}, append(slices.Clone(p.Args), string(codehook.OpenCode))...),
		`"WAITS"`:     waits,
		`"REFUSABLE"`: refusable,
		`"CLOSED"`:    p.Closed,
		`"CONFIG"`:    p.Config,
	} {
		written, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		text = strings.Replace(text, name, string(written), 1)
	}
	return []byte(text), nil
}

// checkShim refuses a file that we did not write.
func checkShim(old []byte) error {
	first, _, _ := bytes.Cut(old, []byte("\n"))
	if len(bytes.TrimSpace(old)) > 0 && !bytes.Contains(first, []byte(shimMark)) {
		return errForeign
	}
	return nil
}
