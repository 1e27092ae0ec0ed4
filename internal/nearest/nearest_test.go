package nearest

import "testing"

func TestWord(t *testing.T) {
	allowed := []string{"priority", "timeout", "enabled", "env", "on_failure", "tool_timeout", "tool_limit"}
	for word, want := range map[string]string{
		"priorty":  "priority",
		"tiemout":  "timeout",
		"TIMEOUT":  "timeout",
		"evn":      "env",
		"xyz":      "",
		"capacity": "",
		"on_fail":  "on_failure",
		"tool":     "", // it may be one of two
		"failure":  "on_failure",
		"on_fial":  "on_failure",
		"timeuot":  "timeout",
		"limit":    "tool_limit",
		"limt":     "tool_limit",
	} {
		if got := Word(word, allowed); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestAPartOfAWordMayHaveATypingError(t *testing.T) {
	allowed := []string{"name", "description", "version", "monitor", "timeout_seconds", "max_retries", "retry_backoff_minutes"}
	for word, want := range map[string]string{
		"timout":  "timeout_seconds",
		"timeout": "timeout_seconds",
		"retries": "max_retries",
		"backoff": "retry_backoff_minutes",
		"retry":   "retry_backoff_minutes", // its beginning counts more than a part with an error
		"seconds": "timeout_seconds",
		"minute":  "retry_backoff_minutes",
		"time_ms": "",
	} {
		if got := Word(word, allowed); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestSuggestListsAFewWordsIfNoneIsNear(t *testing.T) {
	if got, want := Suggest("zzz", []string{"a", "b"}), "known here: a, b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Suggest("tiem", []string{"time"}), `did you mean "time"?`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestALongWordIsNotATypingError(t *testing.T) {
	long := make([]byte, 10_000)
	if got := Word(string(long), []string{"a"}); got != "" {
		t.Errorf("got %q", got)
	}
}
