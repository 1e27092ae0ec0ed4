package mine

import (
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A Declaration is the part of a manifest that is needed to call the plugin without a host.
type Declaration struct {
	Program  string // its path
	Hooks    []Registration
	Commands []dialect.CommandDoc
	Environ  []string // the program's environment
}

// A Registration is one entry of a manifest's hooks.
type Registration struct {
	Pattern string // a glob over commands
	Stage   string
	Mode    string
	Timeout time.Duration
}

// Declares returns the declaration of a plugin that Find or At returned. ok is false if its
// manifest cannot be read.
func Declares(f dialect.Found, env dialect.Env) (d Declaration, ok bool) {
	m, ok := f.Manifest.(*manifest)
	if !ok {
		return Declaration{}, false
	}
	d = Declaration{Program: filepath.Join(f.Path, m.entrypoint), Commands: m.commands, Environ: environment(env, &m.permissions, nil)}
	for _, h := range m.hooks {
		d.Hooks = append(d.Hooks, Registration{Pattern: h.pattern, Stage: h.stage, Mode: modeOf(h.stage), Timeout: h.timeout})
	}
	return d, true
}

// CheckAnswer reads the answer of a transform hook as a host does, without applying it. context is
// what the hook was sent. notes list the parts of the answer that are ignored, even if there is an
// error.
func CheckAnswer(stage string, context json.RawMessage, stdout []byte) (notes []string, err error) {
	c, err := parseReply(stdout)
	if c == nil {
		return nil, err
	}
	if err != nil {
		return c.notes, err
	}
	sent, err := rawjson.Parse(context)
	if err != nil {
		return nil, err
	}
	t := nativeAt(stage)
	shown := t.show(sent)
	if err := c.check(t, &shown); err != nil {
		return c.notes, err
	}
	_, more := t.apply(sent, &shown, c)
	return append(c.notes, more...), nil
}
