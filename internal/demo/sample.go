package demo

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/wire"
)

// A sample is one of the demo's plugins: the binary itself, under another name.
type sample struct {
	file   string // the name
	folder string // below the home directory, where its dialect looks for it
	run    func(args []string, in io.Reader, out io.Writer) error
}

var samples = []sample{tidy, almanac, guard, words, redact, notebook, tagger, disk, diary}

// A file is another file of the samples: a manifest, or a plugin that is a text.
type file struct{ folder, name, text string }

// files returns the files of the samples. The Python plugin is included only if there is a Python.
func files() []file {
	all := []file{notebookManifest, taggerManifest}
	if hasPython() {
		all = append(all, footer)
	}
	return all
}

// The plugin folders of the dialects, below the home directory.
const (
	scaffoldFolder = ".local/scaffold/plugins"
	kagedFolder    = ".local/share/kaged/plugins/"
	mineFolder     = ".local/share/mine/plugins/"
	dotagentFolder = ".config/dotagent/plugins"
	pythonFolder   = ".agent/plugins"
)

// Sample returns the sample plugin that a process with these arguments has to run, or nil for the
// patchbay command itself.
func Sample(argv []string) func(in io.Reader, out io.Writer) error {
	if len(argv) == 0 {
		return nil
	}
	name := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
	i := slices.IndexFunc(samples, func(s sample) bool { return s.file == name })
	if i < 0 {
		return nil
	}
	return func(in io.Reader, out io.Writer) error { return samples[i].run(argv[1:], in, out) }
}

// serving returns a long-lived plugin, which answers requests until stdin ends.
func serving(answer func(method string, params json.RawMessage) (any, error)) func([]string, io.Reader, io.Writer) error {
	return func(_ []string, in io.Reader, out io.Writer) error {
		return wire.Serve(in, out, func(method string, params json.RawMessage) (json.RawMessage, error) {
			result, err := answer(method, params)
			if err != nil {
				return nil, err
			}
			return json.Marshal(result)
		})
	}
}

// calling returns a plugin with a process for each call: one JSON object in, one out.
func calling(answer func(args []string, in map[string]any) any) func([]string, io.Reader, io.Writer) error {
	return func(args []string, in io.Reader, out io.Writer) error {
		request := make(map[string]any)
		if err := json.NewDecoder(in).Decode(&request); err != nil && err != io.EOF { // info has no input
			return err
		}
		return json.NewEncoder(out).Encode(answer(args, request))
	}
}

// unknown returns the error for a method that a plugin does not have.
func unknown(method string) error {
	return &wire.RPCError{Code: -32601, Message: "unknown method " + method}
}
