package notify

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func TestExpand(t *testing.T) {
	variables := map[string]string{"A": "alpha", "B_2": "${A}", "EMPTY": "", "LONG": strings.Repeat("x", maxExpanded+1)}
	lookup := func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
	for _, c := range []struct{ rule, in, value, shown string }{
		{"a plain text stays", "abc", "abc", "abc"},
		{"variables are replaced", "x-${A}-${A}", "x-alpha-alpha", "x-***-***"},
		{"values are not expanded again", "${B_2}", "${A}", "***"},
		{"an empty variable counts as set", "a${EMPTY}b", "ab", "a***b"},
		{"other dollars stand for themselves", "$A $ $$ {A} 5$", "$A $ $$ {A} 5$", "$A $ $$ {A} 5$"},
		{"$${ is ${ itself", "$${A} ${A}", "${A} alpha", "${A} ***"},
		{"an escape need not be closed", "a$${", "a${", "a${"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, _, err := expand(c.in, lookup)
			if err != nil || got.value != c.value || got.shown != c.shown {
				t.Errorf("got %q, shown %q, %v", got.value, got.shown, err)
			}
		})
	}
	for _, c := range []struct{ rule, in, want string }{
		{"an unknown variable is named", "${NOPE}", "NOPE"},
		{"an open brace is an error", "${A", "without a }"},
		{"no name is an error", "${}", "not a variable name"},
		{"an invalid name is not repeated", "${hush hush}", "not a variable name"},
		{"a huge value is an error", "${LONG}", "longer than"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			_, _, err := expand(c.in, lookup)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") || len(err.Error()) > 200 {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestExpandJSONNamesTheSameVariable: of several variables that are not set, the error always names
// the same, so that a check that is repeated reports the same problem.
func TestExpandJSONNamesTheSameVariable(t *testing.T) {
	for range 20 {
		_, _, err := ExpandJSON([]byte(`{"b":"${B}","a":"${A}","c":"${C}"}`), func(string) (string, bool) { return "", false })
		if err == nil || !strings.Contains(err.Error(), "variable A ") {
			t.Fatalf("got %v", err)
		}
	}
}

func FuzzExpand(tf *testing.F) {
	f := variants.Of(tf)
	for _, s := range []string{"", "${A}", "$${A}", "${", "${A}${B}$", "$$${A}", "a}b${A}", "${é}"} {
		f.Add(s)
	}
	const secret = "\x00secret\x00"
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "\x00") {
			return
		}
		got, values, err := expand(s, func(name string) (string, bool) { return secret, isName(name) })
		if err != nil {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error shows the value: %v", err)
			}
			return
		}
		if strings.Contains(got.shown, secret) || strings.ReplaceAll(got.value, secret, mask) != got.shown {
			t.Errorf("%q became %q, shown as %q", s, got.value, got.shown)
		}
		if strings.Count(got.value, secret) != len(values) {
			t.Errorf("%q has %d values, returned %d", s, strings.Count(got.value, secret), len(values))
		}
		if !strings.Contains(s, "${") && got.value != s {
			t.Errorf("%q became %q", s, got.value)
		}
	})
}

func TestSettings(t *testing.T) {
	slack := map[string]any{"webhook_url": "https://hooks.example/x"}
	with := func(settings map[string]any, key string, value any) map[string]any {
		out := maps.Clone(settings)
		out[key] = value
		return out
	}
	ntfy := map[string]any{"topic": "x-y"}
	telegram := map[string]any{"bot_token": "12345:token", "chat_id": "1"}
	desktop := map[string]any{}
	for _, c := range []struct {
		rule, driver string
		settings     map[string]any
		want         string
	}{
		{"a missing key is reported", Slack, nil, "webhook_url: is required"},
		{"all problems are reported at once", Pushover, nil, `notifier pushover: token: is required (write token = "…"); user: is required (write user = "…")`},
		{"an empty value counts as missing", Slack, map[string]any{"webhook_url": " "}, "webhook_url: is required"},
		{"an unknown key is refused, with what was meant", Slack, with(slack, "chanel", "x"), `unknown key chanel; did you mean "channel"?`},
		{"another driver's key is unknown", Slack, with(slack, "topic", "x"), "unknown key topic"},
		{"a number is not a string", Slack, with(slack, "channel", int64(5)), "channel: must be a string, got a whole number"},
		{"a string is not a number", Pushover, map[string]any{"token": "abcd", "user": "abcd", "priority": "1"}, `priority: must be one of lowest, low, normal, high, emergency, got "1"; write one of them`},
		{"a fraction is not a whole number", Ntfy, with(ntfy, "priority", 1.5), "priority: must be a whole number, got a number with a fraction"},
		{"a number has its range", Ntfy, with(ntfy, "priority", int64(6)), "priority: 6 is out of range; write a number from 1 to 5"},
		{"a name is one of a few", Ntfy, with(ntfy, "priority", "hihg"), `priority: must be one of min, low, default, high, max, urgent, got "hihg"; did you mean "high"?`},
		{"a mode is one of a few", Telegram, with(telegram, "parse_mode", "html"), `parse_mode: must be one of HTML, MarkdownV2, Markdown, got "html"; did you mean "HTML"?`},
		{"a string is not a flag", Telegram, with(telegram, "disable_notification", "yes"), "disable_notification: must be true or false, got a string"},
		{"tags are an array", Ntfy, with(ntfy, "tags", "a,b"), "tags: must be an array of strings, got a string"},
		{"tags are strings", Ntfy, with(ntfy, "tags", []any{"a", int64(1)}), "tags[1]: must be a string, got a whole number"},
		{"an unknown variable is named", Slack, map[string]any{"webhook_url": "${NO_HOOK}"}, `is neither in the secrets file nor in the environment; write NO_HOOK = "…" into secrets.toml`},
		{"an unknown variable in an array is named", Ntfy, with(ntfy, "tags", []any{"${NO_TAG}"}), "NO_TAG"},
		{"a webhook is a URL, and not repeated", Slack, map[string]any{"webhook_url": "hush-hush"}, "webhook_url: not a web address; write https://HOST…"},
		{"a base URL has no user", Ntfy, with(ntfy, "base_url", "https://u:hush-hush@x"), "base_url: must be a plain URL"},
		{"a token has no spaces inside", Ntfy, with(ntfy, "token", "a hush-hush"), "token: has characters that are not allowed"},
		{"an urgency is one of three", Desktop, with(desktop, "urgency", "high"), `urgency: must be one of low, normal, critical, got "high"`},
		{"the value of a variable is not repeated", Desktop, with(desktop, "urgency", "${HUSH}"), `urgency: must be one of low, normal, critical, got "***"`},
		{"an expiry is not negative", Desktop, with(desktop, "expire_ms", int64(-1)), "expire_ms: -1 is out of range; write a number from 0"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := newTestOptions(map[string]string{"HUSH": "hush-hush"})
			s.Procs, s.System = newGroup(t), "linux"
			_, err := New(c.driver, c.settings, s.Options)
			if _, ok := errors.AsType[*SettingsError](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got  %v\nwant %s", err, c.want)
			}
			hasNone(t, "the error", err.Error(), "hush-hush")
		})
	}
}

func TestNew(t *testing.T) {
	t.Run("an unknown driver is refused, with what was meant", func(t *testing.T) {
		if _, err := New("slak", nil, Options{}); err == nil || !strings.Contains(err.Error(), `did you mean "slack"?`) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("plugin is not a built-in driver", func(t *testing.T) {
		if _, err := New("plugin", nil, Options{}); err == nil || !strings.Contains(err.Error(), "the host calls plugins") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("iMessage is unsupported on other systems than macOS", func(t *testing.T) {
		_, err := New(IMessage, map[string]any{"to": "me"}, Options{System: "linux"})
		if !errors.Is(err, errors.ErrUnsupported) || err.Error() != "notifier imessage: only on macOS, and this is linux: unsupported operation" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a desktop is unsupported on an unknown system", func(t *testing.T) {
		if _, err := New(Desktop, nil, Options{System: "plan9", Procs: newGroup(t)}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("every driver is listed and built", func(t *testing.T) {
		for _, driver := range Drivers() {
			if builders()[driver] == nil {
				t.Errorf("%s is not built", driver)
			}
		}
		if len(Drivers()) != len(builders()) {
			t.Errorf("got %d drivers, built %d", len(Drivers()), len(builders()))
		}
	})
}

// TestRead: Read checks the keys of a manifest's entry as New does, and reports positions. It does
// not check the values of variables.
func TestRead(t *testing.T) {
	for _, c := range []struct{ rule, driver, text, want string }{
		{"variables are not replaced", Slack, `webhook_url = "${HOOK}"`, ""},
		{"variables are not replaced in words and numbers either", Ntfy, "topic = \"${T}\"\npriority = \"${P}\"\nbase_url = \"${B}\"\ntags = [\"${X}\"]", ""},
		{"a ${ that begins no variable is an error", Slack, `webhook_url = "${HOOK"`, "1:15: webhook_url: has a ${ without a }"},
		{"a missing key", Telegram, `bot_token = "a"`, "1:1: chat_id: is required"},
		{"a chat may be a number", Telegram, "bot_token = \"a\"\nchat_id = -100", ""},
		{"another driver's key", IMessage, "to = \"me\"\ntopic = \"x\"", "2:1: unknown key topic"},
		{"an address", Ntfy, "topic = \"t\"\nbase_url = \"example.org\"", "2:12: base_url: not a web address"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			table, err := document.TOML("", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			values := Read(c.driver, table)
			table.End()
			err = table.Err()
			if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if len(values) != len(table.Self.Names()) {
				t.Errorf("got %v", values)
			}
		})
	}
}
