package hookinstall

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// shimText is the plugin for OpenCode, whose hooks are functions in its own process.
//
//go:embed opencode.js
var shimText string

// shimMark is in the first line of every plugin that we wrote.
const shimMark = "Written by `patchbay hook install opencode`"

// errForeign is returned for a file in the plugin's place that we did not write.
var errForeign = errors.New("the file was not written by Patchbay: move it away first")

// shim is the plugin that starts a program.
func shim(old []byte, program Program) ([]byte, error) {
	if err := checkShim(old); err != nil {
		return nil, err
	}
	start, err := json.Marshal(append([]string{program.Path}, append(program.Args, string(codehook.OpenCode))...))
	if err != nil {
		return nil, err
	}
	waits := make(map[string]int64)
	for _, spec := range codehook.Events(codehook.OpenCode) {
		waits[spec.Name] = spec.Timeout.Milliseconds()
	}
	times, err := json.Marshal(waits)
	if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(shimText, `"START"`, string(start))
	return []byte(strings.ReplaceAll(text, `"WAITS"`, string(times))), nil
}

// checkShim refuses a file that is somebody else's.
func checkShim(old []byte) error {
	first, _, _ := bytes.Cut(old, []byte("\n"))
	if len(bytes.TrimSpace(old)) > 0 && !bytes.Contains(first, []byte(shimMark)) {
		return errForeign
	}
	return nil
}
