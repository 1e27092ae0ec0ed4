package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/model/modeltest"
)

// TestParseName: a name is PROVIDER:NAME, and an error says how to write it.
func TestParseName(t *testing.T) {
	for _, c := range []struct{ in, provider, name, err string }{
		{"anthropic:claude", "anthropic", "claude", ""},
		{"openai:llama3:8b", "openai", "llama3:8b", ""},
		{" openai:a/b ", "openai", "a/b", ""},
		{"offline", "offline", "", ""},
		{"openai", "", "", "has no name; write openai:NAME"},
		{"openai:", "", "", "has no name"},
		{"gpt-4o", "", "", `unknown model provider "gpt-4o"; write PROVIDER:NAME, where PROVIDER is one of anthropic, openai, offline`},
		{"", "", "", "write PROVIDER:NAME"},
		{"Anthropic:x", "", "", "unknown model provider"},
	} {
		provider, name, err := ParseName(c.in)
		if provider != c.provider || name != c.name || (err == nil) != (c.err == "") {
			t.Errorf("%q: got %q, %q, %v", c.in, provider, name, err)
		}
		if err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: got %v", c.in, err)
		}
	}
}

// TestWithAnotherModel: the settings of the endpoint stay for the same provider, and are reset for
// another one.
func TestWithAnotherModel(t *testing.T) {
	c := Config{Provider: ProviderOpenAI, Name: "a", BaseURL: "http://x/v1", Window: 5}
	same, err := c.With("openai:b")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, []any{same.Name, same.BaseURL, same.Window}, []any{"b", "http://x/v1", 5})
	other, err := c.With("anthropic:b")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, []any{other.Provider, other.Name, other.BaseURL, other.Window}, []any{"anthropic", "b", "", 0})
	if _, err := c.With("nobody:b"); err == nil {
		t.Error("an unknown provider was accepted")
	}
}

// noEnv is an empty environment.
func noEnv(string) string { return "" }

func TestOpenRefuses(t *testing.T) {
	env := func(name, value string) func(string) string {
		return func(n string) string { return map[string]string{name: value}[n] }
	}
	for rule, c := range map[string]struct {
		config Config
		want   string
	}{
		"an unknown provider":     {Config{Provider: "ibm", Name: "x"}, `unknown model provider "ibm"`},
		"no name":                 {Config{Provider: "openai"}, "model openai: no name; write its name under [model] in config.toml, or --model openai:NAME"},
		"Anthropic without a key": {Config{Provider: "anthropic", Name: "x"}, `set ANTHROPIC_API_KEY in the environment, or write ANTHROPIC_API_KEY = "…" into secrets.toml`},
		"OpenAI without a key":    {Config{Provider: "openai", Name: "x"}, `set OPENAI_API_KEY`},
		"no URL":                  {Config{Provider: "openai", Name: "x", BaseURL: "localhost:11434"}, `base_url: want http://HOST or https://HOST, got "localhost:11434"`},
		"a URL with a password":   {Config{Provider: "openai", Name: "x", BaseURL: "http://me:" + testKey + "@host/v1"}, "must be a plain URL"},
		"a URL with a query":      {Config{Provider: "openai", Name: "x", BaseURL: "http://host/v1?key=" + testKey}, "must be a plain URL"},
		"a broken URL":            {Config{Provider: "openai", Name: "x", BaseURL: "http://" + testKey + "\x00"}, "is not a URL"},
		"a bad variable": {Config{Provider: "openai", Name: "x", Getenv: env("OPENAI_BASE_URL", "x:y")},
			"OPENAI_BASE_URL: want http://HOST"},
		"a key in two lines": {Config{Provider: "openai", Name: "x", Getenv: env("OPENAI_API_KEY", testKey+"\n"+testKey)},
			"OPENAI_API_KEY in the environment has characters that a key cannot have"},
		"a script that is not there": {Config{Provider: "offline", Script: filepath.Join("no", "such.yaml")}, "model script: open"},
	} {
		t.Run(rule, func(t *testing.T) {
			if c.config.Getenv == nil {
				c.config.Getenv = noEnv
			}
			_, err := Open(c.config)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(err.Error(), testKey) {
				t.Errorf("the error contains the key: %v", err)
			}
		})
	}
}

func TestNoConfigIsTheOfflineModel(t *testing.T) {
	m, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, m.Info(), Info{Provider: "offline", Name: "echo", Window: offlineWindow, Offline: true})
}

func TestAMissingKeyIsAnAuthError(t *testing.T) {
	_, err := Open(Config{Provider: "anthropic", Name: "x", Getenv: noEnv})
	if !errors.Is(err, ErrAuth) {
		t.Errorf("got %v", err)
	}
}

func TestCompatibleEndpointsNeedNoKey(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		srv := f.serve(t, modeltest.Reply{Text: "hi"})
		m, err := Open(Config{Provider: f.provider, Name: "x", BaseURL: srv.URL, Getenv: noEnv})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Reply(t.Context(), asked("hello"), nil); err != nil {
			t.Fatal(err)
		}
		h := srv.Last().Header
		if h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" {
			t.Errorf("a key that was not configured: %v", h)
		}
	})
}

func TestWhereTheKeyAndTheBaseComeFrom(t *testing.T) {
	secrets := func(string) (config.Secret, bool) { return config.NewSecret("from-the-file"), true }
	eachProvider(t, func(t *testing.T, f *fixture) {
		srv := f.serve(t, modeltest.Reply{}, modeltest.Reply{})
		env := map[string]string{
			strings.ToUpper(f.provider) + "_BASE_URL": srv.URL + "/",
			strings.ToUpper(f.provider) + "_API_KEY":  " from-the-environment\n",
		}
		c := Config{Provider: f.provider, Name: "x", Lookup: secrets, Getenv: func(name string) string { return env[name] }}
		for _, want := range []string{"from-the-environment", "from-the-file"} {
			m, err := Open(c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Reply(t.Context(), asked("hello"), nil); err != nil {
				t.Fatal(err)
			}
			h := srv.Last().Header
			if got := h.Get("X-Api-Key") + strings.TrimPrefix(h.Get("Authorization"), "Bearer "); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			delete(env, strings.ToUpper(f.provider)+"_API_KEY")
		}
	})
}

// Other clients of these providers read many more variables.
func TestNothingButKeyAndBaseIsTakenFromTheEnvironment(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID"} {
		t.Setenv(name, "stray")
	}
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Stray: stray")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Stray: stray")
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.play(t, modeltest.Reply{})
		f.must(t, nil)
		if text := fmt.Sprint(f.server.Last().Header); strings.Contains(text, "stray") {
			t.Errorf("got %s", text)
		}
	})
}

func TestAVersionAtTheEndOfAnthropicsBaseIsNotDoubled(t *testing.T) {
	f := &fixture{provider: ProviderAnthropic}
	srv := modeltest.Anthropic(t, modeltest.Reply{})
	f.open(t, Config{BaseURL: srv.URL + "/v1/"})
	f.must(t, nil)
}

// TestTheKeyNeverShows asks a server that repeats the key wherever it can.
func TestTheKeyNeverShows(t *testing.T) {
	echo := fmt.Sprintf(`{"error":{"type":"x","code":"%[1]s","message":"bad key %[1]s"}}`, testKey)
	bad := []modeltest.Reply{
		{Status: 401, Body: echo},
		{Status: 400, Body: "Bearer " + testKey},
		{Status: 400, Body: strings.Repeat("x", maxForeign-5) + testKey}, // cut in the middle of the key
		{Status: 200, Body: testKey, Header: map[string]string{"Content-Type": "text/html"}},
		{Status: 200, Body: strings.Repeat("x", maxForeign-5) + testKey, Header: map[string]string{"Content-Type": "text/html"}},
		{Status: 304, Body: testKey, Header: map[string]string{"Content-Type": testKey}},
		{Raw: "data: " + testKey + "\n\n"},
		{Status: 200, Header: map[string]string{"Content-Encoding": testKey}},
		{Status: 307, Header: map[string]string{"Location": "http://" + testKey + ".invalid/"}},
		{Raw: "event: error\ndata: " + echo + "\n\n"},
		{Raw: "event: error\ndata: " + testKey + "\n\n"},
		{Raw: "event: content_block_delta\ndata: " + testKey + "\n\n"},
		{Hang: true},
	}
	eachProvider(t, func(t *testing.T, f *fixture) {
		for i, reply := range bad {
			f.server = f.serve(t, reply, reply, reply, reply, reply)
			f.open(t, Config{BaseURL: f.server.URL, Idle: idleFor(reply)})
			_, deltas, err := f.ask(t, nil)
			for how, text := range prints(t, err, deltas, f.model, *f.model, f.model.at) {
				if strings.Contains(text, testKey) || strings.Contains(text, testKey[:8]) {
					t.Errorf("reply %d, %s: %s", i, how, text)
				}
			}
		}
		if strings.Contains(f.log.String(), testKey) {
			t.Errorf("log: %s", f.log.String())
		}
	})
}

func TestAnUnencryptedKeyIsWarnedOf(t *testing.T) {
	for base, want := range map[string]bool{"http://10.0.0.1/v1": true, "https://10.0.0.1/v1": false, "http://127.0.0.1/v1": false, "http://localhost/v1": false} {
		f := &fixture{provider: ProviderOpenAI}
		f.open(t, Config{BaseURL: base})
		if got := strings.Contains(f.log.String(), "unencrypted"); got != want {
			t.Errorf("%s: log %q", base, f.log.String())
		}
	}
}

// idleFor returns a short limit of silence for a reply that hangs, so that the test ends soon.
func idleFor(r modeltest.Reply) time.Duration {
	if r.Hang {
		return 20 * time.Millisecond
	}
	return 0
}

// prints returns the values in all forms in which a program may print them.
func prints(t *testing.T, values ...any) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for i, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			out[fmt.Sprintf("%d %s", i, verb)] = fmt.Sprintf(verb, v)
		}
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "v", v)
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "v", v)
		out[fmt.Sprintf("%d log", i)] = log.String()
		if text, err := json.Marshal(v); err == nil {
			out[fmt.Sprintf("%d json", i)] = string(text)
		}
	}
	return out
}

func TestTheCallersClientIsUsedAndLeftAlone(t *testing.T) {
	f := &fixture{provider: ProviderOpenAI}
	srv := modeltest.OpenAI(t, modeltest.Reply{})
	used := false
	c := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		used = true
		return http.DefaultTransport.RoundTrip(r)
	})}
	f.open(t, Config{BaseURL: srv.URL, HTTP: c})
	f.must(t, nil)
	if !used || c.CheckRedirect != nil {
		t.Errorf("used %v, changed %v", used, c.CheckRedirect != nil)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWindows(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   int
	}{
		{Config{Provider: "anthropic", Name: "claude-3-haiku"}, 200_000},
		{Config{Provider: "anthropic", Name: "claude-of-tomorrow"}, 200_000},
		{Config{Provider: "openai", Name: "gpt-4"}, 8_192},
		{Config{Provider: "openai", Name: "gpt-4o-mini"}, 128_000},
		{Config{Provider: "openai", Name: "gpt-4.1-mini"}, 1_047_576},
		{Config{Provider: "openai", Name: "gpt-5-nano"}, 400_000},
		{Config{Provider: "openai", Name: "llama3:8b"}, 128_000},
		{Config{Provider: "openai", Name: "llama3:8b", Window: 4_096}, 4_096},
		{Config{Provider: "offline", Window: 100}, 100},
	} {
		if got := limitsOf(c.config).window; got != c.want {
			t.Errorf("%+v: got %d", c.config, got)
		}
	}
}

func TestEstimate(t *testing.T) {
	equal(t, Estimate(nil), 0)
	text := strings.Repeat("word ", 400) // 2000 bytes
	equal(t, Estimate([]Message{{Role: User, Content: text}}), 500+perMessage)
	with := Estimate([]Message{{Role: Assistant, ToolCalls: []ToolCall{call("i", "name", `{"a":"`+text+`"}`)}}})
	if with < 500 || with > 520 {
		t.Errorf("arguments are not counted: %d", with)
	}
	req := Request{System: text, Tools: []Tool{{Name: "t", Parameters: json.RawMessage(`"` + text + `"`)}}}
	if n := req.Estimate(); n < 1000 || n > 1020 {
		t.Errorf("prompt and tools are not counted: %d", n)
	}
}
