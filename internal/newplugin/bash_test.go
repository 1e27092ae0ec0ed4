package newplugin

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestJSONInBash: the functions in Bash templates accept and refuse the same JSON as encoding/json.
func TestJSONInBash(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	functions, err := os.ReadFile("_templates/shared/json.bash")
	if err != nil {
		t.Fatal(err)
	}
	// For each line: the value of a as it is written, and its text as a JSON string. Both are empty
	// for a line that is not JSON.
	script := string(functions) + `
while IFS= read -r line; do
	raw= text=
	if json_parse "$line"; then
		json_get a && raw=$REPLY
		json_text a && json_quote "$REPLY" && text=$REPLY
	fi
	printf '%s\n%s\n' "$raw" "$text"
done`
	lines := []string{
		`{"a":"x"}`, `{"b":{"a":1},"a":"top","c":[{"a":2}]}`, ` { "b" : [ ] , "a" : [ 1, 2 , {"x":null} ] } `, `{"a":-1.5e+3}`, `{"a":{}}`, `{"a":""}`,
		`{"a":"\u00e9\ud83d\ude00 \u003c\n\t\r\b\f\\ \" \/ é"}`, `{"a":"\u005cu0041 \\u0041 \u005cn"}`, `{"a":"& \\& && $x $(x)"}`, `{"a":"` + strings.Repeat(`line \"q\"\n`, 5000) + `"}`,
		`{"a":1,}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a"}`, `{"a":}`, `{a:1}`, `[`, ``, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":tru}`, `{"a":01}`, `{"a":.5}`, `{"a":"x"} y`, `{"a":"x`, "{\"a\":\"\ttab\"}",
		strings.Repeat("[", 10000), `{"a":1}}`, `no JSON`, `{"a":"x"`,
	}
	cmd := exec.Command("bash", "-c", script)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(got) != 2*len(lines) {
		t.Fatalf("%d lines, want %d", len(got), 2*len(lines))
	}
	for i, line := range lines {
		checkBash(t, line, got[2*i], got[2*i+1])
	}
}

// checkBash compares the values found by Bash with those found by encoding/json.
func checkBash(t *testing.T, line, raw, text string) {
	t.Helper()
	var want struct{ A any }
	if err := json.Unmarshal([]byte(line), &want); err != nil {
		if raw != "" || text != "" {
			t.Errorf("%.80q is not JSON, but was read: %.80q", line, raw)
		}
		return
	}
	var value any
	if err := json.Unmarshal([]byte(raw), &value); err != nil || show(t, value) != show(t, want.A) {
		t.Errorf("%.80q: got %.80q (%v)", line, raw, err)
	}
	if s, ok := want.A.(string); ok {
		s = strings.Map(func(c rune) rune { // Bash writes these as spaces
			if c == '\b' || c == '\f' {
				return ' '
			}
			return c
		}, s)
		var quoted string
		if err := json.Unmarshal([]byte(text), &quoted); err != nil || quoted != s {
			t.Errorf("%.80q: the text is %.80q (%v)", line, text, err)
		}
	}
}

func show(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
