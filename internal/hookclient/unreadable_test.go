package hookclient

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// TestUnreadableEvents: an event that cannot be read is refused if a plugin must agree to events of
// its name, or if it is nested too deep or repeats a field. The name is that of the command line,
// or the one in the event. Without a name the event is only logged.
func TestUnreadableEvents(t *testing.T) {
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	for _, c := range []struct {
		event, data string
		refused     bool
		logged      string
	}{
		{"PreToolUse", `{"hook_event_name":`, true, `"event":"PreToolUse","what":"denied"`},
		{"", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_name":"Read"}`, true, `"event":"PreToolUse","what":"denied"`},
		{"", `{"hook_event_name":"PreToolUse"}`, true, "has no name of a tool"},
		{"UserPromptSubmit", `{"hook_event_name":`, false, `"what":"no_opinion"`},
		{"UserPromptSubmit", `{"prompt":"x","a":` + deep + `}`, true, "nested deeper than the limit"},
		{"UserPromptSubmit", `{"prompt":"x","prompt":"y"}`, true, "two values"},
		{"", `{"hook_event_name":"Notification","a":1,"a":2}`, false, ""},
		{"", `{"hook_event_name":`, false, `"what":"no_opinion"`},
		{"", `{"tool_name":"Bash"}`, false, "the event does not say its name"},
	} {
		home := t.TempDir()
		state := filepath.Join(home, ".local", "state", "patchbay")
		if err := os.MkdirAll(state, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(state, "closed-points.json"), []byte(`{"version":1,"points":{"tool.before":["guard"]}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		Run(t.Context(), Options{Agent: codehook.Claude, Event: c.event, In: strings.NewReader(c.data), Out: &out, Err: &out,
			Environ: []string{"HOME=" + home}, Dir: home})
		if refused := strings.Contains(out.String(), `"deny"`) || strings.Contains(out.String(), `"block"`); refused != c.refused {
			t.Errorf("%s %s: answer %q", c.event, c.data, out.String())
		}
		log, err := os.ReadFile(filepath.Join(state, "hook.log"))
		if c.logged == "" != os.IsNotExist(err) || !strings.Contains(string(log), c.logged) {
			t.Errorf("%s %s: log %q, %v", c.event, c.data, log, err)
		}
	}
}

// TestAnswerThatCannotBeWritten: a refusal that does not reach the agent is an exit code that
// refuses. No opinion needs no answer.
func TestAnswerThatCannotBeWritten(t *testing.T) {
	for event, want := range map[string]int{`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_name":"Read"}`: 2, `{"hook_event_name":"Notification"}`: 0} {
		var errs strings.Builder
		code := Run(t.Context(), Options{Agent: codehook.Claude, In: strings.NewReader(event), Out: fullDisk{}, Err: &errs, Environ: []string{"HOME=" + t.TempDir()}})
		if code != want || strings.Contains(errs.String(), "could not be written: no space left") != (want != 0) {
			t.Errorf("%s: exit code %d, stderr %q", event, code, errs.String())
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return 0, errors.New("no space left on device")
}

// TestUnreadableLines: a line of OpenCode that cannot be read gets an answer with its id, because
// OpenCode's plugin would wait for it and then let the tool run.
func TestUnreadableLines(t *testing.T) {
	for _, depth := range []int{2000, 20000} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		for line, want := range map[string]string{
			`{"id":7,"event":"tool.execute.before","input":{"tool":"bash"},"output":{"args":{"command":"rm","a":` + deep + `}}}`:                    `{"id":7,"deny":"`,
			`{"id":8,"event":"chat.message","input":{"sessionID":"s"},"output":{"parts":[{"type":"text","text":"hi","metadata":` + deep + `}]}}`:    `{"id":8,"deny":"`,
			`{"id":9,"event":"tool.execute.after","input":{"tool":"bash"},"output":{"output":"text","metadata":` + deep + `}}`:                      `{"id":9,"output":{"output":"Patchbay could not ask any plugin`,
			`{"id":10,"event":"event","input":{"event":{"type":"session.created","properties":` + deep + `}}}`:                                      `{"id":10}`,
			`{"id":11,"event":"tool.execute.before","input":{"tool":"bash"},"output":{"args":{"command":"` + strings.Repeat("x", codehook.MaxInput): `{"id":11}`,
		} {
			home := t.TempDir()
			var out strings.Builder
			err := Lines(t.Context(), Options{Agent: codehook.OpenCode, In: strings.NewReader(line + "\n"), Out: &out, Environ: []string{"HOME=" + home}, Dir: home})
			if err != nil || !strings.HasPrefix(out.String(), want) {
				t.Errorf("%.90s: answer %.200q, %v; want %s", line, out.String(), err, want)
			}
		}
	}
}

// TestEventsOfASwitchedOffHookAreLogged: those that a plugin could have refused.
func TestEventsOfASwitchedOffHookAreLogged(t *testing.T) {
	home := t.TempDir()
	for _, data := range []string{`{"hook_event_name":"PreToolUse","tool_name":"Bash"}`, `{"hook_event_name":"SessionEnd"}`} {
		var out strings.Builder
		Run(t.Context(), Options{Agent: codehook.Claude, In: strings.NewReader(data), Out: &out, Err: &out,
			Environ: []string{"HOME=" + home, Switch + "=off"}, Dir: home})
		if out.Len() > 0 {
			t.Errorf("%s: answer %q", data, out.String())
		}
	}
	entries, err := ReadLog(filepath.Join(home, ".local", "state", "patchbay"))
	if err != nil || len(entries) != 1 || entries[0].Event != "PreToolUse" || entries[0].Why != "PATCHBAY_HOOK is off" {
		t.Errorf("%+v, %v", entries, err)
	}
}
