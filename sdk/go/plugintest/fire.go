package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

// An Outcome is a plugin's answer to an event.
type Outcome[E any] struct {
	// Verdict is continue, modify, stop, answer, skip, deny or fail. No dialect distinguishes
	// NoOpinion from Continue.
	Verdict string
	Reason  string // of deny and fail
	Suggest string // of deny
	Answer  string // of answer
	Event   E      // as the plugin left it

	Sent, Received string // the messages of the dialect
}

// outcome is an Outcome before its event has its type.
type outcome struct {
	verdict, reason, suggest, answer string

	changes        map[string]json.RawMessage // of the event, by Patchbay's names
	sent, received string
}

// Fire sends an event to the plugin. The host's dialect must have the point; Carries reports that.
func Fire[E any](h *Host, point plugin.Point[E], event E) Outcome[E] {
	h.t.Helper()
	if !Carries(h, point) {
		h.t.Fatalf("%s has no %s", h.Dialect, point)
	}
	payload := make(map[string]json.RawMessage)
	if err := json.Unmarshal(h.json(event), &payload); err != nil {
		h.t.Fatal(err)
	}
	var o outcome
	switch h.Dialect {
	case plugin.Dotagent:
		o = h.job(strings.TrimPrefix(point.String(), "job."), payload)
	case plugin.Mine:
		o = h.stage(stages[point.String()], payload)
	case plugin.Kaged:
		o = h.kagedHook(kagedHooks[point.String()], payload)
	default:
		o = h.scaffoldHook(scaffoldHooks[point.String()], payload)
	}
	for name, value := range o.changes {
		payload[name] = value
	}
	if err := json.Unmarshal(h.json(payload), &event); err != nil {
		h.t.Fatalf("the event that came back: %v", err)
	}
	return Outcome[E]{Verdict: o.verdict, Reason: o.reason, Suggest: o.suggest, Answer: o.answer, Event: event, Sent: o.sent, Received: o.received}
}

// Carries reports whether the host's dialect has a point.
func Carries[E any](h *Host, point plugin.Point[E]) bool {
	name := point.String()
	switch h.Dialect {
	case plugin.Dotagent:
		return strings.HasPrefix(name, "job.")
	case plugin.Mine:
		return stages[name] != ""
	case plugin.Kaged:
		return kagedHooks[name] != ""
	case plugin.Scaffold:
		return scaffoldHooks[name] != ""
	}
	return false
}

var (
	stages     = map[string]string{"command.validate": "prevalidate", "command.before": "preexec", "command.after": "postexec", "command.done": "notify"}
	kagedHooks = map[string]string{"session.start": "on_session_start", "session.idle": "on_session_idle", "compact.before": "pre_compact",
		"compact.after": "post_compact"}
	scaffoldHooks = map[string]string{"turn.input": "post_user_input", "prompt.context": "context_enhance", "prompt.send": "pre_llm_send",
		"model.reply": "post_llm_response", "turn.final": "post_llm_response", "tool.before": "pre_tool_execute",
		"tool.resolve": "pre_tool_execute", "tool.after": "post_tool_execute"}
)

// run runs one process for one call.
func (h *Host) run(stdin string, args ...string) (stdout, stderr string, code int) {
	var out bytes.Buffer
	errs := &buffer{}
	code = h.plugin.Run(context.Background(), plugin.Process{Args: args, Env: h.env, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: errs})
	fmt.Fprint(h.stderr, errs)
	return out.String(), errs.String(), code
}

func (h *Host) job(kind string, p map[string]json.RawMessage) outcome {
	h.t.Helper()
	message := p["message"]
	if kind == "preflight" {
		message = json.RawMessage("null")
	}
	sent := fmt.Sprintf(`{"kind":%q,"agent":%s,"schedule":%s,"event":%s,"message":%s,"config":%s}`, kind, p["agent"], p["schedule"], p["event"],
		message, h.json(orEmpty(h.options.Config)))
	stdout, stderr, code := h.run(sent+"\n", "invoke")
	o := outcome{verdict: "continue", sent: sent, received: stdout}
	var reply struct {
		OK             *bool
		Error, Suggest string
	}
	if err := json.Unmarshal([]byte(stdout), &reply); err != nil || reply.OK == nil {
		h.t.Fatalf("the reply is %q\n%s", stdout, stderr)
	}
	o.reason, o.suggest = reply.Error, reply.Suggest
	switch {
	case code != 0:
		o.verdict = "fail"
	case !*reply.OK:
		o.verdict = "deny"
	}
	return o
}

func (h *Host) stage(stage string, p map[string]json.RawMessage) outcome {
	h.t.Helper()
	mode := "transform"
	if stage == "notify" {
		mode = "notify"
	}
	var at time.Time
	if err := json.Unmarshal(p["timestamp"], &at); err != nil {
		h.t.Fatal(err)
	}
	var args []string
	var flags map[string]string
	_, _ = json.Unmarshal(p["args"], &args), json.Unmarshal(p["flags"], &flags) // null is none
	if args == nil {
		args = []string{}
	}
	if flags == nil {
		flags = map[string]string{}
	}
	sent := fmt.Sprintf(`{"protocol_version":"1.0.0","type":"hook","stage":%q,"mode":%q,"context":{"command":%s,"args":%s,"flags":%s,"result":%s,"timestamp":%q}}`,
		stage, mode, p["command"], h.json(args), h.json(flags), p["result"], at.UTC().Format(time.RFC3339))
	stdout, stderr, code := h.run(sent + "\n")
	o := outcome{verdict: "continue", sent: sent, received: stdout}
	if code != 0 {
		return o.refused(stderr)
	}
	var reply struct {
		Status  string
		Context map[string]json.RawMessage
	}
	if stdout == "" {
		return o
	}
	if err := json.Unmarshal([]byte(stdout), &reply); err != nil || reply.Status != "ok" {
		h.t.Fatalf("the reply is %q", stdout)
	}
	if reply.Context != nil {
		o.verdict, o.changes = "modify", reply.Context
	}
	return o
}

// refused reads mine's error.
func (o outcome) refused(stderr string) outcome {
	var said struct{ Error, Code string }
	o.verdict, o.reason, o.received = "fail", strings.TrimSpace(stderr), stderr
	if json.Unmarshal([]byte(stderr), &said) == nil && said.Error != "" {
		o.reason = said.Error
	}
	if said.Code == "DENIED" {
		o.verdict = "deny"
	}
	return o
}

func (h *Host) kagedHook(hook string, p map[string]json.RawMessage) outcome {
	h.t.Helper()
	p["_context"] = h.json(map[string]any{"operator_id": "local", "project_id": "test", "agent_path": "primary", "session_id": "test",
		"request_id": "1", "project_root": h.Home})
	defer delete(p, "_context")
	o := outcome{verdict: "continue", sent: string(h.json(p))}
	a := h.request("kaged.hook."+hook, p)
	o.received = a.line
	switch {
	case a.Error != nil:
		o.verdict, o.reason = "fail", a.Error.Message
	case string(a.Result) != "null":
		o.verdict = "modify"
		if err := json.Unmarshal(a.Result, &o.changes); err != nil {
			h.t.Fatalf("the result is %s", a.Result)
		}
	}
	return o
}

func (h *Host) scaffoldHook(hook string, p map[string]json.RawMessage) outcome {
	h.t.Helper()
	params := scaffoldParams(hook, p)
	o := outcome{verdict: "continue", sent: string(h.json(params))}
	a := h.request("hook/"+hook, params)
	o.received = a.line
	if a.Error != nil {
		o.verdict, o.reason = "fail", a.Error.Message
		return o
	}
	reply := make(map[string]json.RawMessage)
	if err := json.Unmarshal(a.Result, &reply); err != nil {
		h.t.Fatalf("the result is %s", a.Result)
	}
	action := text(reply["action"])
	delete(reply, "action")
	switch {
	case action == "stop" && hook == "pre_tool_execute" && reply["result"] != nil:
		return o.readAnswer(reply)
	case action == "stop" || action == "skip":
		o.verdict = action
	case len(reply) > 0:
		o.verdict = "modify"
	}
	if arguments := reply["arguments"]; arguments != nil {
		reply["arguments"] = json.RawMessage(text(arguments))
	}
	o.changes = reply
	return o
}

// readAnswer returns an answer in place of a tool. An answer that failed with an error is a
// refusal.
func (o outcome) readAnswer(reply map[string]json.RawMessage) outcome {
	o.verdict, o.answer = "answer", text(reply["result"])
	var said struct{ Error, Suggest string }
	if string(reply["success"]) == "false" && json.Unmarshal([]byte(o.answer), &said) == nil && said.Error != "" {
		o.verdict, o.reason, o.suggest = "deny", said.Error, said.Suggest
	}
	return o
}

// scaffoldParams translates an event to the params of the protocol.
func scaffoldParams(hook string, p map[string]json.RawMessage) map[string]any {
	out := make(map[string]any)
	for name, value := range p {
		out[name] = value
	}
	switch hook {
	case "pre_tool_execute", "post_tool_execute":
		out = map[string]any{"tool_name": p["tool"], "arguments": string(p["arguments"])}
		if string(p["arguments"]) == "null" {
			out["arguments"] = "{}"
		}
		if hook == "post_tool_execute" {
			out["result"], out["success"] = text(p["result"]), p["success"]
		}
	case "post_llm_response":
		var calls []plugin.ToolCall
		_ = json.Unmarshal(p["tool_calls"], &calls) // a final answer has none
		list := []any{}
		for _, c := range calls {
			list = append(list, map[string]string{"name": c.Name, "arguments": string(c.Arguments)})
		}
		out["tool_calls"] = list
	}
	return out
}

// text returns a JSON string; "" for anything else.
func text(value json.RawMessage) string {
	var s string
	_ = json.Unmarshal(value, &s) // "" then
	return s
}
