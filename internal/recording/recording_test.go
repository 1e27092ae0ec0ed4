package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect/inproc"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// replies returns a plugin whose hook sets the message, and whose tool returns the answer.
func replies(name, message, answer string) inproc.Plugin {
	return inproc.Plugin{Name: name,
		Hooks: map[hook.Point]func(context.Context, *hook.Event) (hook.Reply, error){
			hook.TurnInput: func(_ context.Context, ev *hook.Event) (hook.Reply, error) {
				return hook.Reply{Set: hook.Object{{Name: "message", Value: rawjson.String(message)}},
					Sent: ev.Payload.JSON(), Received: rawjson.String(message)}, nil
			}},
		Tools: []inproc.Tool{{Name: "say", Call: func(context.Context, json.RawMessage) (string, error) { return answer, nil }}}}
}

func open(t *testing.T, record func(*pluginhost.Traffic), environ []string, plugins ...inproc.Plugin) *pluginhost.Host {
	t.Helper()
	h, err := pluginhost.Open(t.Context(), &pluginhost.Options{Dirs: []string{}, Dir: t.TempDir(), Environ: append(environ, "HOME="+t.TempDir()),
		Plugins: plugins, Record: record})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// record records one event and one tool call of these plugins.
func record(t *testing.T, environ []string, plugins ...inproc.Plugin) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.trace")
	r, err := Create(path, Options{Command: []string{"fire"}})
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, r.Record, environ, plugins...)
	ctx := hook.WithSession(t.Context(), "s1")
	if _, err := h.Fire(ctx, hook.TurnInput, json.RawMessage(`{"message":"hello"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.CallTool(ctx, h.Tools()[0].Name, nil); err != nil {
		t.Fatal(err)
	}
	if s, err := r.Close(false); err != nil || s.Events != 1 || s.Calls != 1 || s.LeftOut != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	return path
}

// replay plays a recording against plugins.
func replay(t *testing.T, path string, o ReplayOptions, plugins ...inproc.Plugin) *Report {
	t.Helper()
	r, err := Read(path, false)
	if err != nil {
		t.Fatal(err)
	}
	o.Last = new(LastCall)
	o.Host = open(t, o.Last.Record, nil, plugins...)
	report, err := Replay(t.Context(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestReplay(t *testing.T) {
	path := record(t, nil, replies("a", "from a", "one"), replies("b", "from b", "two"))
	for name, c := range map[string]struct {
		plugins []inproc.Plugin
		o       ReplayOptions
		want    string // the differences
	}{
		"the same plugins do the same": {plugins: []inproc.Plugin{replies("a", "from a", "one"), replies("b", "from b", "two")}},
		"a changed plugin is the only difference, although the next plugin gets its answer": {
			plugins: []inproc.Plugin{replies("a", "from A", "one"), replies("b", "from b", "two")},
			want:    `a /received/message "from a" "from A"`},
		"a tool's answer counts": {plugins: []inproc.Plugin{replies("a", "from a", "uno"), replies("b", "from b", "two")},
			want: `a /result/result "one" "uno"`},
		"a plugin that no longer exists is one difference": {plugins: []inproc.Plugin{replies("a", "from a", "one")}, want: "b there is no such plugin"},
		"a hook that no longer exists is one difference": {plugins: []inproc.Plugin{replies("a", "from a", "one"), {Name: "b"}},
			want: "b it no longer has this hook"},
		"a plugin that no longer works is one difference": {
			plugins: []inproc.Plugin{replies("a", "from a", "one"), {Name: "b", Hooks: map[hook.Point]func(context.Context, *hook.Event) (hook.Reply, error){hook.TurnInput: nil}}},
			want:    "b the plugin does not work: its hook at turn.input has no function"},
		"one plugin alone":   {plugins: []inproc.Plugin{replies("b", "from b", "two")}, o: ReplayOptions{Plugin: "b"}},
		"under another name": {plugins: []inproc.Plugin{replies("new", "from a", "one")}, o: ReplayOptions{Plugin: "a", As: "new"}},
		"ignored fields do not count": {plugins: []inproc.Plugin{replies("a", "from A", "uno"), replies("b", "from b", "two")},
			o: ReplayOptions{Ignore: []string{"/received", "result"}}},
	} {
		t.Run(name, func(t *testing.T) {
			report := replay(t, path, c.o, c.plugins...)
			if got := shown(report); got != c.want || report.OK != (c.want == "") {
				t.Errorf("got %q, want %q (%+v)", got, c.want, report)
			}
		})
	}
}

// shown returns a report's differences in one line.
func shown(r *Report) string {
	var all []string
	for _, d := range r.Differences {
		text := d.Plugin + " " + d.Problem
		for _, c := range d.Changes {
			text += fmt.Sprintf("%s %s %s", c.Path, c.Old, c.New)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// TestSecretsAreNotRecorded checks that no secret is in the file in any spelling. A short secret is
// replaced if it is a whole text.
func TestSecretsAreNotRecorded(t *testing.T) {
	const secret = `p"a/ss word`
	path := record(t, []string{"MY_API_TOKEN=" + secret, "OTHER_PASSWORD=abc"},
		replies("a", `"`+secret+`" and `+strings.ReplaceAll(secret, `"`, `\"`)+` in abcdef`, "abc"))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); strings.Contains(s, "ss word") || !strings.Contains(s, "[secret]") || !strings.Contains(s, "in abcdef") ||
		!strings.Contains(s, `"result":"[secret]"`) {
		t.Errorf("%s", s)
	}
}

// TestKilled checks that a killed recorder leaves complete lines in an unfinished file, and the
// previous recording.
func TestKilled(t *testing.T) {
	path := record(t, nil, replies("a", "from a", "one"))
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Create(path, Options{Command: []string{"fire"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, Options{}); !errors.Is(err, ErrBusy) {
		t.Errorf("a second recorder: %v", err)
	}
	h := open(t, r.Record, nil, replies("a", "from a", "one"))
	if _, err := h.Fire(t.Context(), hook.TurnInput, json.RawMessage(`{"message":"hello"}`)); err != nil {
		t.Fatal(err)
	}
	r.file.Close() // as the kernel does for a killed process
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the existing recording is %s, %v", after, err)
	}
	if _, err := Read(path+partialSuffix, false); !errors.Is(err, ErrCut) {
		t.Errorf("the unfinished one is read: %v", err)
	}
	if left, err := Read(path+partialSuffix, true); err != nil || len(left.Entries) != 1 || left.Cut == "" {
		t.Errorf("the unfinished file: %+v, %v", left, err)
	}
	again, err := Create(path, Options{})
	if err != nil {
		t.Fatalf("after that: %v", err)
	}
	if s, err := again.Close(false); err != nil || s.Events != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("an empty recording has replaced the existing one: %s, %v", after, err)
	}
	if _, err := os.Stat(path + partialSuffix); err == nil {
		t.Error("the file of the empty recording still exists")
	}
}

func TestEntriesThatAreTooLongAreNoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.trace")
	r, err := Create(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.limit = 3000
	h := open(t, r.Record, nil, replies("a", "from a", "one"))
	for range 9 {
		payload, _ := json.Marshal(map[string]string{"message": strings.Repeat("x", 400)})
		if _, err := h.Fire(t.Context(), hook.TurnInput, json.RawMessage(payload)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := r.Close(false)
	if err != nil || s.LeftOut == 0 || s.LeftOut == 9 || s.Bytes > 5000 {
		t.Errorf("%+v, %v", s, err)
	}
	read, err := Read(path, false)
	if err != nil || read.LeftOut != s.LeftOut || len(read.Entries)+read.LeftOut != 9 {
		t.Errorf("%d entries, %d left out, %v", len(read.Entries), read.LeftOut, err)
	}
}

func TestOnlyARecordingIsOverwritten(t *testing.T) {
	for name, text := range map[string]string{"notes": "buy milk\n", "json": `{"type":"other"}` + "\n"} {
		path := filepath.Join(t.TempDir(), "f"+partialSuffix)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(path, Options{}); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(path + partialSuffix); err == nil {
			t.Errorf("%s: something was left beside it", name)
		}
		if _, err := Create(strings.TrimSuffix(path, partialSuffix), Options{}); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%s in the place of an unfinished recording: %v", name, err)
		}
		if kept, err := os.ReadFile(path); err != nil || string(kept) != text {
			t.Errorf("%s: now it has %q, %v", name, kept, err)
		}
	}
}

const head = `{"type":"recording","version":1,"patchbay":"0","command":[],"plugins":[]}` + "\n"

func TestHostileFiles(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":                   {"", "the file is empty"},
		"not JSON":                {"hello\n", "it is not a recording"},
		"another version":         {`{"type":"recording","version":2}` + "\n", "version 2"},
		"a garbled line":          {head + "{\"type\":\n", ":2: it is not JSON"},
		"another type":            {head + `{"type":"surprise"}` + "\n", `type "surprise" is unknown`},
		"no such point":           {head + `{"type":"event","point":"no.such"}` + "\n", "no point"},
		"a step without a plugin": {head + `{"type":"event","point":"turn.input","steps":[{}]}` + "\n", "no plugin"},
		"deep":                    {head + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n", "not JSON"},
		"a missing line":          {head + `{"type":"end","entries":3}` + "\n", "lines are missing"},
		"more at the end":         {head + `{"type":"end"}` + "\n{}\n", "lines after the end"},
		"half a line":             {head + `{"type":"ev`, "the last line is cut off"},
		"no end":                  {head, "last line is missing"},
		"a long line":             {head + strings.Repeat("x", maxLine+2), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read(path, false)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 500 {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if _, err := Read(t.TempDir(), false); err == nil {
		t.Error("a directory was read")
	}
}

// TestNormal checks that values that change from run to run become equal, and no others.
func TestNormal(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"times":                       {`{"at":"2026-11-16T13:00:00Z"}`, `{"at":"2027-01-02T03:04:05.678+01:00"}`, true},
		"times in a text":             {`{"t":"it is 2026-11-16 13:00:00 now"}`, `{"t":"it is 2026-11-17 14:00:00 now"}`, true},
		"uuids":                       {`{"id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}`, `{"id":"7ba7b810-9dad-11d1-80b4-00c04fd430c8"}`, true},
		"epochs":                      {`{"created_at":1700000000}`, `{"created_at":1800000000123}`, true},
		"durations":                   {`{"duration_ms":3}`, `{"duration_ms":4}`, true},
		"request ids":                 {`{"request_id":"a"}`, `{"request_id":"b"}`, true},
		"a time and an empty text":    {`{"at":"2026-11-16T13:00:00Z"}`, `{"at":""}`, false},
		"a number that is not a time": {`{"timeout":5}`, `{"timeout":6}`, false},
		"a count":                     {`{"count":1700000000}`, `{"count":1700000001}`, false},
		"another type":                {`{"created_at":1700000000}`, `{"created_at":"x"}`, false},
		"a word":                      {`{"t":"a"}`, `{"t":"b"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			for exact, want := range map[bool]bool{false: c.same, true: false} {
				k := &comparer{normal: normal{exact: exact, places: places(nil)}}
				if got := len(k.changes(json.RawMessage(c.a), json.RawMessage(c.b))) == 0; got != want {
					t.Errorf("exact %v: same %v, want %v", exact, got, want)
				}
			}
		})
	}
}
