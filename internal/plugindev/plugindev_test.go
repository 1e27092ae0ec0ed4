package plugindev

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/schema"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// TestArgumentsFitTheSchema: the sample of a tool fits its schema.
func TestArgumentsFitTheSchema(t *testing.T) {
	for _, text := range []string{
		`{"type":"object"}`,
		`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer","minimum":3,"maximum":5}},"required":["path"]}`,
		`{"type":"object","properties":{"mode":{"enum":["fast","slow"]},"when":{"type":"string","format":"date-time"},"list":{"type":"array","items":{"type":"number","exclusiveMinimum":7},"minItems":2}}}`,
		`{"type":"object","properties":{"who":{"$ref":"#/$defs/person"}},"required":["who"],"$defs":{"person":{"type":"object","properties":{"name":{"type":"string","minLength":12},"friend":{"$ref":"#/$defs/person"}},"required":["name"]}}}`,
		`{"type":"object","properties":{"x":{"anyOf":[{"type":"integer","multipleOf":4},{"type":"null"}]},"y":{"type":["boolean","null"]},"z":{"const":7}},"required":["x","y","z"],"additionalProperties":false}`,
		`{"type":"object","properties":{"bad":{"type":"string","pattern":"^[0-9]{4}$"},"good":{"type":"string"}},"required":["good"]}`,
	} {
		compiled, faults := schema.Compile(json.RawMessage(text))
		if len(faults) > 0 {
			t.Fatalf("%s: %v", text, faults)
		}
		got := arguments(json.RawMessage(text))
		if bad := compiled.Check(got); len(bad) > 0 {
			t.Errorf("%s\nis given %s: %v", text, got, bad)
		}
	}
	if got := string(arguments(nil)); got != "{}" {
		t.Errorf("without a schema: %s", got)
	}
}

// TestPayloadsHaveTheFieldsOfThePoint: every point has a sample with its subject. A subject that is
// a text fits the pattern of the hook.
func TestPayloadsHaveTheFieldsOfThePoint(t *testing.T) {
	for _, spec := range hook.Points() {
		o, err := rawjson.Parse(payload(spec.Point, "todo.*"))
		if err != nil || len(o) == 0 && len(spec.Fields) > 0 {
			t.Errorf("%s: %v, %v", spec.Point, o, err)
		}
		if spec.Subject == "" {
			continue
		}
		if subject := string(o.Get(spec.Subject)); subject != `"todo.sample"` && !strings.HasPrefix(subject, "[") {
			t.Errorf("%s is about %s", spec.Point, subject)
		}
	}
}

func TestParse(t *testing.T) {
	for line, want := range map[string]Command{
		"":                           {},
		"# fire x":                   {},
		"fire turn.input":            {Verb: "fire", Name: "turn.input"},
		` fire  turn.input {"a":1} `: {Verb: "fire", Name: "turn.input", Payload: json.RawMessage(`{"a":1}`)},
		`again {}`:                   {Verb: "again", Payload: json.RawMessage(`{}`)},
		"restart":                    {Verb: "restart"},
	} {
		got, err := Parse(line)
		if err != nil || got.Verb != want.Verb || got.Name != want.Name || string(got.Payload) != string(want.Payload) {
			t.Errorf("%q is %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{"fire", "frie x", "restart now", "call x [1]", "call x {", "again nonsense"} {
		if _, err := Parse(line); err == nil {
			t.Errorf("%q was accepted", line)
		}
	}
	if _, err := Parse("list now"); !errors.Is(err, ErrBadCommand) {
		t.Errorf("list now: %v", err)
	}
}

// A record holds the events of a session.
type record struct {
	mu  sync.Mutex
	all []Event
}

func (r *record) emit(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
}

func (r *record) of(k Kind) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.all), func(e Event) bool { return e.Event != k })
}

const diary = `#!/bin/bash
echo started >>"$(dirname "$0")/diary.txt"
while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]} || continue
  case $line in
  *'"method":"initialize"'*) result='{"name":"diary","version":"0.1.0","api_version":1,"methods":["diary.write"],"notifications":[],"capabilities_used":[]}' ;;
  *'"method":"diary.write"'*) echo written >>"$(dirname "$0")/diary.txt"; result='{}' ;;
  *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`

// TestManyFiles: if there are too many files, those of the plugin itself come first, and the
// session knows that there are more.
func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "assets", "deep")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range mostFiles {
		write(filepath.Join(deep, strconv.Itoa(i)), "")
	}
	plugin := filepath.Join(dir, "zoo")
	write(plugin, "one")
	before, complete := take([]string{dir})
	write(plugin, "three")
	now, _ := take([]string{dir})
	if got := now.since(before); complete || !slices.Equal(got, []string{plugin}) || len(now) > mostFiles {
		t.Errorf("%q have changed, of %d files, complete %v", got, len(now), complete)
	}
}

// TestAPluginThatWritesItsOwnFiles: such a plugin is not restarted forever.
func TestAPluginThatWritesItsOwnFiles(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	home := t.TempDir()
	dir := filepath.Join(home, "diary")
	for name, text := range map[string]string{"diary.sh": diary,
		"manifest.yaml": "name: diary\nversion: 0.1.0\nkaged_api: 1\ndescription: d\ncommand: [./diary.sh]\nmethods: [diary.write]\n"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(home, "config.toml")
	if err := os.WriteFile(config, []byte("sandbox = \"off\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var told record
	s, err := Start(t.Context(), Options{Path: dir, Emit: told.emit,
		Open: func(ctx context.Context, log *slog.Logger, notify func(pluginhost.Notification)) (*pluginhost.Host, error) {
			return pluginhost.Open(ctx, &pluginhost.Options{Logger: log, OnNotification: notify, NoSearch: true, Paths: []string{dir}, ConfigFile: config,
				Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}})
		}})
	if err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if err := s.Do(t.Context(), Command{Verb: "call", Name: "diary.write"}); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := len(told.of(Ready)); n > 3 {
		t.Errorf("the plugin was started %d times", n)
	}
	if notes := told.of(Logged); !slices.ContainsFunc(notes, func(e Event) bool { return strings.Contains(e.Text, "diary.txt itself") }) {
		t.Errorf("nothing says that the plugin writes its own file: %+v", notes)
	}
}
