package projectfiles

import (
	"strings"
	"testing"
)

// TestPlainHidesNothing: the model gets no text that a reader of the file cannot see. The test
// tries several kinds of characters with which an invisible message can be written.
func TestPlainHidesNothing(t *testing.T) {
	for text, want := range map[string]string{
		"a\U000e0068\U000e0069b":             "ab", // tags
		"a\U000e0101\U000e0120\ufe01\ufe05b": "ab", // variation selectors, one for each value of a byte
		"a\u200c\u200d\u200d\u200cb":         "ab", // joiners as bits
		"a\u034f\u115f\u3164\uffa0\u2065b":   "ab", // fillers
		"\u2764\ufe0f":                       "\u2764\ufe0f",
		"\u2764\ufe0f\ufe0e\ufe0f":           "\u2764\ufe0f",
		"\U0001f469\u200d\U0001f4bb":         "\U0001f469\u200d\U0001f4bb",
		"\U0001f469\u200d\u200c\u200d":       "\U0001f469\u200d",
		"\u0645\u06cc\u200c\u062e":           "\u0645\u06cc\u200c\u062e",
		"a\u2028b":                           "a\nb",
	} {
		if got := plain(text); got != want {
			t.Errorf("%+q became %+q, want %+q", text, got, want)
		}
	}
}

// TestAPromptIsAMessage: a prompt is sent as a message even if its text begins with ! or /, like a
// line for the shell or a command. No plugin takes it for a command. It is still a message if the
// user interrupts the turn, gets the text back and sends it again.
func TestAPromptIsAMessage(t *testing.T) {
	for _, text := range []string{"!touch owned", "/quit", "/deploy now", "! x", "$ARGUMENTS"} {
		want := strings.ReplaceAll(text, arguments, "!ls")
		if got := (Prompt{Text: text}).With("!ls"); !strings.HasPrefix(got, " "+want) {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := (Prompt{Text: "Look at $ARGUMENTS."}).With("!ls"); got != "Look at !ls." {
		t.Errorf("%q", got)
	}
}
