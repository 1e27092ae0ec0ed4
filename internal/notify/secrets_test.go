package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestSecretsNeverShow uses every driver with a service that repeats everything it gets. No error,
// preview or log contains a secret.
func TestSecretsNeverShow(t *testing.T) {
	variables := map[string]string{
		"HOOK": "hook/hush-1", "TOPIC": "hush-2", "TOKEN": "hush-3", "USER": "hush-4", "BOT": "1:hush-5", "TITLE": "hush-6 & \"7\"",
		"CHAT": "@hush-8", "TO": "hush-9",
	}
	for driver, settings := range map[string]map[string]any{
		Slack:    {"webhook_url": "URL/${HOOK}", "channel": "${CHAT}", "username": "${TITLE}", "icon_emoji": "${TITLE}"},
		Ntfy:     {"topic": "${TOPIC}", "base_url": "URL", "token": "${TOKEN}", "title": "${TITLE}", "tags": []any{"${TITLE}"}},
		Pushover: {"token": "${TOKEN}", "user": "${USER}", "base_url": "URL", "title": "${TITLE}"},
		Telegram: {"bot_token": "${BOT}", "chat_id": "${CHAT}", "base_url": "URL"},
	} {
		t.Run(driver, func(t *testing.T) {
			e, s := serve(t), newTestOptions(variables)
			n := s.notifier(t, driver, at(e.URL, settings))
			for _, status := range []int{400, 500} {
				echo(e, n, status)
				err := n.Send(t.Context(), failed())
				reach := n.Reach(t.Context())
				shown := fmt.Sprintf("%v %+v %v %+v", err, n.Describe(failed()), reach, errors.Unwrap(err))
				hasNone(t, "an error or preview", shown, "hush")
			}
			e.Close()
			hasNone(t, "an error of the connection", fmt.Sprint(n.Send(t.Context(), failed()), n.Reach(t.Context())), "hush")
			hasNone(t, "the log", s.logs.String(), "hush")
		})
	}
	for driver, settings := range map[string]map[string]any{
		Desktop:  {"title": "${TITLE}", "subtitle": "${TITLE}", "icon": "${TITLE}", "sound": "${TITLE}"},
		IMessage: {"to": "${TO}"},
	} {
		t.Run(driver, func(t *testing.T) {
			s := newTestOptions(variables)
			s.Procs, s.System, s.Environ = newGroup(t), "darwin", []string{}
			n := s.notifier(t, driver, settings)
			shown := fmt.Sprintf("%v %+v %v", n.Send(t.Context(), failed()), n.Describe(failed()), n.Reach(t.Context()))
			hasNone(t, "an error or preview", shown, "hush")
		})
	}
	t.Run("a setting printed by accident", func(t *testing.T) {
		hidden := text{value: "hush", shown: mask}
		hasNone(t, "fmt", fmt.Sprintf("%v %+v %#v %s %q %x %d", hidden, hidden, hidden, hidden, hidden, hidden, hidden), "hush", "68757368")
	})
}

// at puts an endpoint's address into settings.
func at(url string, settings map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range settings {
		if s, ok := v.(string); ok {
			v = strings.ReplaceAll(s, "URL", url)
		}
		out[key] = v
	}
	return out
}

// echo makes an endpoint answer every try with the whole request of a message, plain and as JSON.
func echo(e *endpoint, n Notifier, status int) {
	req := n.(*remote).message(failed(), revealed)
	all := req.url + " " + req.bearer + " " + req.body
	quoted, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers = nil
	for range maxTries + 1 {
		e.answers = append(e.answers, answer{status: status, body: all + string(quoted)})
	}
}

func TestScrubber(t *testing.T) {
	for _, c := range []struct{ rule, secrets, in, want string }{
		{"a secret that begins with another one leaves nothing", "hush hush-hush", "is hush-hush", `"is ***"`},
		{"an escaped secret is found", "a/b&c", "a%2Fb%26c", `"***"`},
		{"a secret that JSON has quoted is found", `a&"b"`, `{"t":"a\u0026\"b\""}`, `"{\"t\":\"***\"}"`},
		{"a secret that JSON has quoted twice is found", `a&"b"`, `"{\"t\":\"a\u0026\\\"b\\\"\"}"`, `"\"{\\\"t\\\":\\\"***\\\"}\""`},
		{"the path of a webhook is found", "https://x.example/hush", "no /hush here", `"no *** here"`},
		{"an empty secret is ignored", "", "words", `"words"`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			same(t, newScrubber(strings.Split(c.secrets, " ")).scrub(c.in), c.want)
		})
	}
}
