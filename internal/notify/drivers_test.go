package notify

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSlack(t *testing.T) {
	e, s := serve(t, answer{status: 200, body: "ok"}), newTestOptions(map[string]string{"HOOK": "hush-hush"})
	n := s.notifier(t, Slack, map[string]any{
		"driver": "slack", "events": []any{"given_up"}, "rate_limit_minutes": int64(5),
		"webhook_url": e.URL + "/services/${HOOK}", "channel": "#alerts", "username": "agents", "icon_emoji": ":robot_face:",
	})
	const text = `*finops (weekly): attempt 2 of 3 failed (exit code 7)*\ncannot &lt;read&gt; A&amp;B\n\nSuggestion: log in again`
	const body = `{"text":"` + text + `","channel":"#alerts","username":"agents","icon_emoji":":robot_face:"}`

	t.Run("a message is one POST of JSON to the webhook", func(t *testing.T) {
		if err := n.Send(t.Context(), failed()); err != nil {
			t.Fatal(err)
		}
		got := e.only(t)
		if got.Method != http.MethodPost || got.Path != "/services/hush-hush" || got.Kind != "application/json" || got.Auth != "" {
			t.Errorf("got %+v", got)
		}
		same(t, got.Body, body)
	})
	t.Run("a preview shows only the host of the webhook", func(t *testing.T) {
		p := n.Describe(failed())
		if p.Driver != Slack || p.Method != http.MethodPost || p.Address != e.URL+"/***" {
			t.Errorf("got %+v", p)
		}
		same(t, p.Body, body)
	})
	t.Run("reaching asks for the front page and posts nothing", func(t *testing.T) {
		if err := n.Reach(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := e.requests()[1]; got.Method != http.MethodHead || got.Path != "/" || got.Body != "" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a message cannot mention people", func(t *testing.T) {
		if text := slackText(Message{Title: "<!channel> *x*", Body: "<@U1>"}); strings.ContainsAny(text, "<>") {
			t.Errorf("got %s", text)
		}
	})
	t.Run("a long text is cut after it was escaped", func(t *testing.T) {
		m := failed()
		m.Body = strings.Repeat("<&>", 5000)
		got := slackText(m)
		if n := utf8.RuneCountInString(got); n > slackLimit || n < slackLimit-20 {
			t.Errorf("got %d characters", n)
		}
		if !strings.Contains(got, "…\n\nSuggestion: log in again") {
			t.Errorf("the end is lost: %s", got[len(got)-200:])
		}
	})
}

func TestNtfy(t *testing.T) {
	e, s := serve(t), newTestOptions(map[string]string{"TOKEN": "tok-en\n"})
	n := s.notifier(t, Ntfy, map[string]any{
		"topic": "my-topic", "base_url": e.URL + "/sub/", "token": "${TOKEN}", "priority": int64(4),
		"title": "nightly\r\nX-Evil: 1", "tags": []any{"warning", "skull"},
	})

	t.Run("a message is published as JSON", func(t *testing.T) {
		if err := n.Send(t.Context(), failed()); err != nil {
			t.Fatal(err)
		}
		got := e.only(t)
		if got.Method != http.MethodPost || got.Path != "/sub/" || got.Auth != "Bearer tok-en" {
			t.Errorf("got %+v", got)
		}
		same(t, got.Body, `{"topic":"my-topic","title":"nightly X-Evil: 1","priority":4,"tags":["warning","skull"],
			"message":"finops (weekly): attempt 2 of 3 failed (exit code 7)\ncannot <read> A&B\n\nSuggestion: log in again"}`)
	})
	t.Run("a preview hides the topic and the token", func(t *testing.T) {
		p := n.Describe(failed())
		if p.Address != e.URL+"/sub/" || !strings.Contains(p.Body, `"topic":"***"`) {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("reaching asks for the health", func(t *testing.T) {
		e.answers = []answer{{status: 200, body: `{"healthy":true}`}, {status: 404}, {status: 502}}
		for _, want := range []bool{true, true, false} {
			if err := n.Reach(t.Context()); (err == nil) != want {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		if got := e.requests()[1]; got.Method != http.MethodGet || got.Path != "/sub/v1/health" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a priority has a name too", func(t *testing.T) {
		n := s.notifier(t, Ntfy, map[string]any{"topic": "x", "priority": "high"})
		if p := n.Describe(failed()); !strings.Contains(p.Body, `"priority":4`) || p.Address != "https://ntfy.sh/" {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("a message is never empty: ntfy would show its own text", func(t *testing.T) {
		n := s.notifier(t, Ntfy, map[string]any{"topic": "x"})
		p := n.Describe(Message{Agent: "finops", Schedule: "weekly", Event: Recovered})
		if !strings.Contains(p.Body, `"message":"finops (weekly) has recovered"`) {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("a message has at most 4,096 bytes", func(t *testing.T) {
		m := failed()
		m.Body = strings.Repeat("é", 4000)
		var post ntfyPost
		if err := json.Unmarshal([]byte(n.Describe(m).Body), &post); err != nil {
			t.Fatal(err)
		}
		if len(post.Message) > 4096 || len(post.Message) < 4080 || !utf8.ValidString(post.Message) {
			t.Errorf("got %d bytes", len(post.Message))
		}
	})
}

func TestPushover(t *testing.T) {
	e, s := serve(t, answer{status: 200, body: `{"status":1,"request":"x"}`}), newTestOptions(nil)
	n := s.notifier(t, Pushover, map[string]any{"token": "app-token", "user": "user-key", "priority": 2.0, "base_url": e.URL})

	t.Run("a message is one form", func(t *testing.T) {
		if err := n.Send(t.Context(), failed()); err != nil {
			t.Fatal(err)
		}
		got := e.only(t)
		form, err := url.ParseQuery(got.Body)
		if err != nil || got.Method != http.MethodPost || got.Path != "/1/messages.json" || got.Kind != kindForm {
			t.Fatalf("got %+v, %v", got, err)
		}
		want := url.Values{
			"token": {"app-token"}, "user": {"user-key"}, "title": {"finops (weekly): attempt 2 of 3 failed (exit code 7)"},
			"message":   {"cannot <read> A&B\n\nSuggestion: log in again"},
			"timestamp": {"1800000000"},
			"priority":  {"2"}, "retry": {"60"}, "expire": {"3600"},
		}
		if form.Encode() != want.Encode() {
			t.Errorf("got  %v\nwant %v", form, want)
		}
	})
	t.Run("a priority has a name too", func(t *testing.T) {
		for name, want := range map[string]string{"lowest": "-2", "high": "1"} {
			n := s.notifier(t, Pushover, map[string]any{"token": "t", "user": "u", "priority": name})
			if p := n.Describe(failed()); !strings.Contains(p.Body, "priority="+want+"\n") {
				t.Errorf("%s: got %s", name, p.Body)
			}
		}
	})
	t.Run("a preview hides token and user", func(t *testing.T) {
		p := n.Describe(failed())
		if !strings.Contains(p.Body, "\ntoken=***\n") || !strings.HasSuffix(p.Body, "\nuser=***") {
			t.Errorf("got %s", p.Body)
		}
	})
	t.Run("reaching asks Pushover to check the user", func(t *testing.T) {
		e.answers = []answer{{status: 400, body: `{"status":0,"errors":["user key is invalid","try again"]}`}}
		err := n.Reach(t.Context())
		if err == nil || err.Error() != `notifier pushover: 400 bad request: "user key is invalid, try again"` {
			t.Errorf("got %v", err)
		}
		if got := e.requests()[1]; got.Path != "/1/users/validate.json" || got.Body != "token=app-token&user=user-key" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a refusal with a good status is an error", func(t *testing.T) {
		e.answers = []answer{{status: 200, body: `{"status":0,"errors":["no"]}`}}
		if err := n.Send(t.Context(), failed()); err == nil {
			t.Error("got no error")
		}
	})
	t.Run("limits are kept and a message is never empty", func(t *testing.T) {
		form := url.Values{}
		pushoverText(form, strings.Repeat("t", 300), Message{Body: strings.Repeat("b", 2000)})
		if len([]rune(form.Get("title"))) != 250 || len([]rune(form.Get("message"))) != 1024 {
			t.Errorf("got %v", form)
		}
		pushoverText(form, "title", Message{})
		if form.Get("message") != "title" {
			t.Errorf("got %v", form)
		}
	})
}

func TestTelegram(t *testing.T) {
	e, s := serve(t, answer{status: 200, body: `{"ok":true}`}), newTestOptions(map[string]string{"BOT": "12345:bot-token"})
	settings := map[string]any{
		"bot_token": "${BOT}", "chat_id": int64(-1001), "parse_mode": "MarkdownV2", "disable_notification": true, "base_url": e.URL,
	}
	n := s.notifier(t, Telegram, settings)

	t.Run("a message is one call of sendMessage", func(t *testing.T) {
		if err := n.Send(t.Context(), failed()); err != nil {
			t.Fatal(err)
		}
		got := e.only(t)
		if got.Method != http.MethodPost || got.Path != "/bot12345:bot-token/sendMessage" {
			t.Errorf("got %+v", got)
		}
		same(t, got.Body, `{"chat_id":"-1001","parse_mode":"MarkdownV2","disable_notification":true,
			"text":"*finops \\(weekly\\): attempt 2 of 3 failed \\(exit code 7\\)*\ncannot <read\\> A&B\n\nSuggestion: log in again"}`)
	})
	t.Run("a preview hides the token", func(t *testing.T) {
		if p := n.Describe(failed()); p.Address != e.URL+"/bot***/sendMessage" {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("reaching calls getMe", func(t *testing.T) {
		e.answers = []answer{{status: 200, body: `{"ok":true}`}, {status: 401, body: `{"ok":false,"description":"Unauthorized"}`}}
		if err := n.Reach(t.Context()); err != nil {
			t.Error(err)
		}
		if err := n.Reach(t.Context()); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
			t.Errorf("got %v", err)
		}
		if got := e.requests()[1]; got.Method != http.MethodGet || got.Path != "/bot12345:bot-token/getMe" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("each mode escapes its own markup", func(t *testing.T) {
		m := Message{Title: "a_b", Body: `1 < 2 & [x] \`}
		for mode, want := range map[string]string{
			"":           "a_b\n1 < 2 & [x] \\",
			"HTML":       "<b>a_b</b>\n1 &lt; 2 &amp; [x] \\",
			"Markdown":   "a\\_b\n1 < 2 & \\[x] \\",
			"MarkdownV2": "*a\\_b*\n1 < 2 & \\[x\\] \\\\",
		} {
			if got := telegramText(m, telegramModes[mode]); got != want {
				t.Errorf("%s: got %q, want %q", mode, got, want)
			}
		}
	})
	t.Run("the limit counts UTF-16 without escapes", func(t *testing.T) {
		got := telegramText(Message{Title: "t", Body: strings.Repeat("👍.", 3000)}, telegramModes["MarkdownV2"])
		if n := utf16Units(strings.ReplaceAll(got, `\`, "")) - len("**"); n > telegramLimit || n < telegramLimit-4 {
			t.Errorf("got %d", n)
		}
	})
	t.Run("a token that would change the path is refused", func(t *testing.T) {
		_, err := New(Telegram, map[string]any{"bot_token": "12345/../x", "chat_id": "1"}, s.Options)
		if _, ok := errors.AsType[*SettingsError](err); !ok {
			t.Errorf("got %v", err)
		}
	})
}
