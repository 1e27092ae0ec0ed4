package demo

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/wire"
)

// A sample is one of the demo's plugins.
type sample struct {
	name     string
	folder   string // below the home directory, where its dialect looks
	manifest string // where the dialect has one: manifest.yaml
	serve    func(method string, params json.RawMessage) (any, error)
}

var samples = []sample{tidy, almanac, guard, words, redact, notebook}

const (
	scaffoldFolder = ".local/scaffold/plugins"
	kagedFolder    = ".local/share/kaged/plugins/"
)

// Sample returns the sample plugin that a process started under this name is to
// be; nil for the patchbay command itself.
func Sample(argv0 string) func(in io.Reader, out io.Writer) error {
	name, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(argv0), ".exe"), prefix)
	if !ok {
		return nil
	}
	for _, s := range samples {
		if s.name == name {
			return s.run
		}
	}
	return nil
}

// run answers requests until stdin ends or the host says shutdown.
func (s sample) run(in io.Reader, out io.Writer) error {
	return wire.Serve(in, out, func(method string, params json.RawMessage) (json.RawMessage, error) {
		result, err := s.serve(method, params)
		if err != nil {
			return nil, err
		}
		return json.Marshal(result)
	})
}

// unknown is the answer to a method a plugin does not have.
func unknown(method string) error {
	return &wire.RPCError{Code: -32601, Message: "unknown method " + method}
}
