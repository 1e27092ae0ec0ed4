package mine

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// TestThePagesMessages: the messages that docs/protocols/mine.md prints are sent byte for byte, and
// the replies that it prints are understood.
func TestThePagesMessages(t *testing.T) {
	page, err := os.ReadFile("../../../docs/protocols/mine.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(label string) string {
		t.Helper()
		_, text, ok := strings.Cut(string(page), "```json "+label+"\n")
		text, _, closed := strings.Cut(text, "\n```")
		if !ok || !closed {
			t.Fatalf("the page has no block %q", label)
		}
		return text
	}
	shown := hookContext{command: "todo.add", args: []string{"buy milk"}, timestamp: "2026-01-15T10:30:00Z",
		flags: hook.Object{{Name: "due", Value: rawjson.String("tomorrow")}, {Name: "priority", Value: rawjson.String("high")}}}
	for label, sent := range map[string]json.RawMessage{
		"sent=hook": hookCall(stagePreexec, &shown), "sent=command": commandCall("sync", []string{"--vault", "notes"}),
		"sent=lifecycle": lifecycleCall(eventHealth),
	} {
		if got := block(label); got != string(sent) {
			t.Errorf("%s\nthe page  %s\nis sent   %s", label, got, sent)
		}
	}
	c, err := parseReply([]byte(block("reply=ok")))
	if err != nil || flagOf(c, "tags") != "groceries" || *c.command != "todo.add" {
		t.Errorf("the reply: %+v, %v", c, err)
	}
	if said := saidOn(block("reply=error")); said == nil || said.Error() != "vault not found at /path/to/vault (VAULT_NOT_FOUND)" {
		t.Errorf("the error: %v", said)
	}
}

func flagOf(c *changes, name string) string {
	if c == nil {
		return ""
	}
	value, _ := c.flags.String(name)
	return value
}
