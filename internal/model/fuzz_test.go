package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// A fixedAnswer is a transport without a network: it answers every request with the same response.
type fixedAnswer struct {
	status int
	kind   string // Content-Type
	body   []byte
}

func (s *fixedAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	header := http.Header{"Content-Type": {s.kind}}
	return &http.Response{StatusCode: s.status, Header: header, Body: io.NopCloser(bytes.NewReader(s.body)), Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// ask asks a provider that answers with this response. It makes one try: an error that would lead
// to another try is returned.
func (s *fixedAnswer) ask(t *testing.T, provider string) (*Response, []Delta, error) {
	m, err := Open(Config{Provider: provider, Name: "m", BaseURL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: s},
		Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	m.(*remote).wait = func(context.Context, time.Duration) error { return errors.New("once is enough") }
	var deltas []Delta
	resp, err := m.Reply(t.Context(), asked("hello"), func(d Delta) { deltas = append(deltas, d) })
	if again := retries(deltas); len(again) > 0 {
		err = again[0].Err
	}
	return resp, deltas, err
}

// FuzzAnthropicStream and FuzzOpenAIStream let a server stream any bytes. The result is a complete
// reply or a printable error. The calls of a reply have unique ids and objects as arguments, and
// its text equals the streamed text.
func FuzzAnthropicStream(tf *testing.F) {
	f := variants.Of(tf)
	const begin = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n"
	const end = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":5}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	block := func(index, start, delta string) string {
		return "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":" + index + ",\"content_block\":" + start + "}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":" + index + ",\"delta\":" + delta + "}\n\n"
	}
	text := block("0", `{"type":"text","text":"a"}`, `{"type":"text_delta","text":"b"}`)
	tool := block("1", `{"type":"tool_use","id":"t","name":"n"}`, `{"type":"input_json_delta","partial_json":"{\"a\":1}"}`)
	for _, seed := range []string{
		begin + text + tool + end, begin + tool + tool + end, begin + block("9", `{"type":"thinking"}`, `{"type":"input_json_delta","partial_json":"["}`) + end, begin + end, end,
		begin + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n", "event: ping\n\n", "data: {\n\n", "\r\r\n:\n", "",
		begin + block("0", `{"type":"tool_use"}`, `{"type":"input_json_delta","partial_json":"null"}`) + end,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) { checkStream(t, ProviderAnthropic, stream) })
}

func FuzzOpenAIStream(tf *testing.F) {
	f := variants.Of(tf)
	chunk := func(delta, finish string) string {
		return `data: {"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
	}
	call := chunk(`{"tool_calls":[{"index":0,"id":"t","function":{"name":"n","arguments":"{\"a\""}}]}`, `null`) + chunk(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`, `null`)
	for _, seed := range []string{
		chunk(`{"content":"a"}`, `null`) + chunk(`{}`, `"stop"`) + "data: [DONE]\n\n", call + chunk(`{}`, `"tool_calls"`) + `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5}}` + "\n\n",
		chunk(`{"tool_calls":[{"index":0,"id":"a"},{"index":0,"id":"b"},{"index":-1}]}`, `"length"`), chunk(`{"refusal":"no"}`, `"content_filter"`),
		`data: {"error":{"message":"busy","code":429}}` + "\n\n", `data: {"error":"text"}` + "\n\n", "data: [DONE]\n\n", "data: {\n\n", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) { checkStream(t, ProviderOpenAI, stream) })
}

func checkStream(t *testing.T, provider string, stream []byte) {
	s := &fixedAnswer{status: http.StatusOK, kind: "text/event-stream", body: stream}
	resp, deltas, err := s.ask(t, provider)
	if err != nil {
		checkModelError(t, stream, err)
		return
	}
	if resp.Text != streamed(deltas) {
		t.Errorf("%q: streamed %q, the reply has %q", stream, streamed(deltas), resp.Text)
	}
	if (len(resp.ToolCalls) > 0) != (resp.Stop == StopTools) && (resp.Stop == StopTools || resp.Stop == StopEnd) || len(resp.ToolCalls) > maxCalls {
		t.Errorf("%q: %d calls, and the end is %q", stream, len(resp.ToolCalls), resp.Stop)
	}
	ids := map[string]bool{}
	for _, c := range resp.ToolCalls {
		var object map[string]any
		if c.ID == "" || ids[c.ID] || json.Unmarshal(c.Arguments, &object) != nil || object == nil {
			t.Errorf("%q: call %+v", stream, c)
		}
		ids[c.ID] = true
	}
}

// checkModelError checks that an error is an *Error, of limited length, without terminal control
// characters.
func checkModelError(t *testing.T, body []byte, err error) {
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Error()) > 5*maxForeign || !utf8.ValidString(e.Error()) || strings.ContainsFunc(e.Error(), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
		t.Errorf("%q: %q", body, err)
	}
}

// FuzzRefusal lets a server answer an error with any text.
func FuzzRefusal(tf *testing.F) {
	f := variants.Of(tf)
	for _, body := range []string{
		`{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, `{"error":{"message":"m","type":"t","code":7}}`, `{"error":{"code":1e300}}`, `{"error":"text"}`,
		`{"error":null}`, `<html>502</html>`, ``, "\x1b[2J\xff", `{"error":{"message":"maximum context length"}}`, `{"error":{"message":["a"]}}`,
	} {
		f.Add(429, "application/json", []byte(body))
		f.Add(200, "text/html", []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		s := &fixedAnswer{status: 200 + max(status, 0)%400, kind: kind, body: body}
		for _, provider := range []string{ProviderAnthropic, ProviderOpenAI} {
			if _, _, err := s.ask(t, provider); err != nil {
				checkModelError(t, body, err)
			}
		}
	})
}
