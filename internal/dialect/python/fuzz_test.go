package python

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// FuzzDescription: for any description of the runner, a plugin has a name and known hooks, or an
// error, and its metadata is JSON or nil.
func FuzzDescription(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		`{"name":"p","hooks":["on_begin","on_done"],"metadata":{"api":"1.0","name":"p","version":"2"},"description":"d","warnings":["w"]}`,
		`{"name":"p","hooks":null,"metadata":[]}`, `{"metadata":{"version":7}}`, `{"hooks":["no_such","on_final","on_final"]}`, `null`, `{"name":7}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, result []byte) {
		var about description
		if json.Unmarshal(result, &about) != nil {
			return
		}
		p := &plugin{name: "p", about: about, limit: handlerLimit}
		if m := p.Metadata(); m != nil && rawjson.Check(m) != nil {
			t.Errorf("%q has the metadata %q", result, m)
		}
		if p.Info().Name != "p" || len(p.Hooks()) > len(native) {
			t.Errorf("%q is %+v with %d hooks", result, p.Info(), len(p.Hooks()))
		}
	})
}

// FuzzFailure: errors of the runner, whose text and data a plugin chooses, are failures of a known
// kind.
func FuzzFailure(tf *testing.F) {
	f := variants.Of(tf)
	for _, data := range []string{``, `{"line":3,"column":1,"fix":"f"}`, `{"type":"KeyError","line":7}`, `{"line":"x"}`, `[]`, `{"line":1e99}`, `{"line":-1}`} {
		f.Add(codeFailed, "Plugin p on_begin failed: 'k'", []byte(data))
		f.Add(codeLoadFailed, "SyntaxError", []byte(data))
	}
	f.Add(codeTimedOut, "Plugin p on_begin timed out after 5.0s", []byte(nil))
	f.Add(1, " failed:  failed: ", []byte(`0`))
	f.Fuzz(func(t *testing.T, code int, message string, data []byte) {
		if len(data) > 0 && rawjson.Check(data) != nil { // wire.Peer passes only valid JSON on
			return
		}
		err := loadFailure("/p.py", &wire.RPCError{Code: code, Message: message, Data: data}, nil)
		if broken, ok := errors.AsType[*LoadError](err); ok {
			if code != codeLoadFailed || len(broken.Problems()) != 1 || broken.Problem.Path != "/p.py" {
				t.Errorf("%d %q: %v", code, data, err)
			}
			return
		}
		if !errors.Is(err, hook.Timeout) && !errors.Is(err, hook.Refused) && !errors.Is(err, hook.Garbled) {
			t.Errorf("%d %q %q: %v", code, message, data, err)
		}
	})
}

// FuzzLogLine: a line of the runner's stderr, to which any plugin can write, is one line in one
// plugin's log.
func FuzzLogLine(tf *testing.F) {
	f := variants.Of(tf)
	for _, line := range []string{"plain", "\x1ep\x1eW\x1etext", "\x1ep", "\x1e\x1e\x1e\x1e", "\x1eother\x1eE\x1ex\x1ey", "\x1ep\x1e?\x1e\x1b[2J", "\xff"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "\n") {
			return
		}
		var own, others bytes.Buffer
		p := &plugin{name: "p", path: "/p.py", log: slog.New(slog.NewJSONHandler(&own, &slog.HandlerOptions{Level: slog.LevelDebug}))}
		r := &runner{log: slog.New(slog.NewJSONHandler(&others, nil)), plugins: []*plugin{p}}
		r.listen("p", p)
		r.logLine(line)
		if n := bytes.Count(own.Bytes(), []byte("\n")); n != 1 || others.Len() > 0 || !utf8.Valid(own.Bytes()) {
			t.Errorf("%q is logged as %q and %q", line, own.Bytes(), others.Bytes())
		}
	})
}

// FuzzCulprit: any stack of an interpreter that was ended names one of our plugins or none.
func FuzzCulprit(tf *testing.F) {
	f := variants.Of(tf)
	for _, stack := range []string{
		"Fatal Python error: Terminated\n\nThread 0x1 (most recent call first):\n  File \"/lib/asyncio.py\", line 3 in wait\n  File \"/p.py\", line 12 in spin\n",
		"  File \"/p.py\", line 99999999999999999999 in x", "  File \"\", line 1 in \n", "  File \"/p.py\", line 1 in a b", "",
	} {
		f.Add(stack)
	}
	r := &runner{plugins: []*plugin{{name: "p", path: "/p.py"}}}
	f.Fuzz(func(t *testing.T, stack string) {
		got := r.culprit(stack, "").String()
		if got != "an unknown place" && (!strings.HasPrefix(got, "p.py:") || strings.Contains(got, "\n") || !strings.Contains(stack, `"/p.py"`)) {
			t.Errorf("%q: %q", stack, got)
		}
	})
}
