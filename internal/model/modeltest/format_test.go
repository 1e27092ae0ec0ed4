package modeltest

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// asked has, for each format, a request that offers a tool and contains the results of two calls.
var asked = map[Format]struct{ address, body string }{
	Messages: {"/v1/messages?beta=true", `{"tools":[{}],"messages":[{"role":"user","content":[
		{"type":"tool_result","tool_use_id":"a","content":"one"},
		{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"two"},{"type":"text","text":"three"}]}]}]}`},
	ChatCompletions: {"/v1/chat/completions", `{"tools":[{}],"messages":[{"role":"user","content":"hello"},
		{"role":"tool","tool_call_id":"a","content":"one"},{"role":"tool","tool_call_id":"b","content":"two\nthree"}]}`},
	Responses: {"/v1/responses", `{"tools":[{}],"input":[{"type":"function_call_output","call_id":"a","output":"one"},
		{"type":"function_call_output","call_id":"b","output":"two\nthree"}]}`},
	GenerateContent: {"/v1beta/models/any:streamGenerateContent?alt=sse", `{"tools":[{}],"contents":[{"role":"user","parts":[
		{"functionResponse":{"id":"a","name":"x","response":{"output":"one"}}},
		{"functionResponse":{"id":"b","name":"x","response":{"output":"two\nthree"}}}]}]}`},
}

func TestScriptedSpeaksEveryFormat(t *testing.T) {
	srv := Scripted(t, func(r Request) Reply {
		return Reply{Text: "in " + string(r.Format), Tools: []Tool{{ID: "c", Name: "shell", Arguments: `{"cmd":"ls"}`}}}
	})
	for format, c := range asked {
		t.Run(string(format), func(t *testing.T) {
			body := post(t, srv.URL+c.address, c.body, http.StatusOK)
			for _, want := range append(strings.Fields(string(format)), `"shell"`) {
				if !strings.Contains(body, want) {
					t.Errorf("no %s in\n%s", want, body)
				}
			}
			got := srv.Last()
			if want := []Result{{"a", "one"}, {"b", "two\nthree"}}; got.Format != format || !slices.Equal(got.Results(), want) {
				t.Errorf("%s: %+v", got.Format, got.Results())
			}
			if !got.OffersTools() || !got.Says("thre") || got.Says("four") {
				t.Errorf("tools %v, three %v, four %v", got.OffersTools(), got.Says("thre"), got.Says("four"))
			}
		})
	}
}

func TestScriptedElsewhere(t *testing.T) {
	srv := Scripted(t, func(Request) Reply { return Reply{} })
	post(t, srv.URL+"/v1/models", `{}`, http.StatusNotFound)
	if got := srv.Last(); got.Format != "" || got.OffersTools() || got.Results() != nil {
		t.Errorf("%+v", got)
	}
}

// post sends a request and returns the body of the answer.
func post(t *testing.T, url, body string, status int) string {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Fatalf("%s: %v: %s", resp.Status, err, text)
	}
	return string(text)
}
