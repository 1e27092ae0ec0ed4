package codehook

import (
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// sessionStart adds the text that plugins inject to the session.
func (f *firing) sessionStart() {
	fields, _, ok := f.fire(hook.SessionStart, object("session_id", or(hook.Session(f.ctx), f.Session), "working_dir", f.Dir,
		"project_root", f.Root, "source", f.text("source")))
	if ok {
		f.wish.context = strings.TrimSpace(plain(fields, "inject"))
	}
}

// prompt asks plugins whether the turn may begin, what the message becomes, and which context to
// add.
func (f *firing) prompt() {
	if _, _, ok := f.fire(hook.TurnBegin, nil); !ok {
		return
	}
	fields, out, ok := f.fire(hook.TurnInput, object("message", f.Prompt))
	if !ok {
		return
	}
	message := plain(fields, "message")
	if message != f.Prompt {
		if strings.TrimSpace(message) == "" {
			f.wish.deny = "plugin " + changedBy(out) + " removed the whole message"
			return
		}
		f.wish.message = &message
	}
	if fields, _, ok = f.fire(hook.PromptContext, object("user_message", message, "dynamic_context", "")); ok {
		f.wish.context = strings.TrimSpace(plain(fields, "dynamic_context"))
	}
}

// before calls plugins before a tool runs. They may change the call, answer it, or refuse it.
func (f *firing) before() {
	was := object("tool", f.call.tool, "call_id", f.CallID, "arguments", f.call.args)
	call := append(was, object("host_tool", f.call.host)...)
	var by []string
	for _, point := range f.event.points {
		fields, out, ok := f.fire(point, call)
		if !ok {
			return
		}
		if out.Verdict == hook.Stop {
			f.answered(fields, out)
			return
		}
		if c := changedBy(out); c != "" {
			by = append(by, c)
		}
		call = call.With(hook.Field{Name: "tool", Value: fields.Get("tool")}, hook.Field{Name: "arguments", Value: fields.Get("arguments")})
	}
	f.wish.by = strings.Join(by, ", ")
	f.rewritten(plain(call, "tool"), call.Get("arguments"))
}

// answered handles a plugin that answered instead of the tool. No agent accepts a result for a call
// that it has not made, so the call is denied with the result as the reason. An answer without a
// result only stops the tool.
func (f *firing) answered(fields hook.Object, out *hook.Outcome) {
	f.wish.by = out.By
	if rawjson.Missing(fields.Get("result")) {
		f.wish.deny = refusal(out)
		return
	}
	f.wish.deny = "answered by plugin " + out.By + " in the tool's place: " + resultOf(fields).textForModel()
	f.wish.note("%s accepts no result instead of a call: the call is denied, with the result as the reason", f.Agent.Title())
}

// rewritten puts a changed call into the wish.
func (f *firing) rewritten(tool string, args raw) {
	sameArgs := rawjson.Equal(args, f.call.args)
	switch {
	case tool == f.call.tool && sameArgs:
	case tool != f.call.tool:
		what := "changed this call to another tool, and " + f.Agent.Title() + " cannot run another tool"
		f.wish.deny = instead(f.wish.by, what, tool+" "+string(args))
		f.wish.note("plugin %s %s: denied", f.wish.by, what)
	case !isObject(args):
		f.wish.deny = "plugin " + f.wish.by + " left arguments that are not an object: " + string(args)
	default:
		f.wish.input = f.call.toAgents(args)
	}
}

// after calls plugins after a tool has run or failed. They may change the result that the model
// sees.
func (f *firing) after() {
	was := f.outcome()
	var fault any
	if was.fault != "" {
		fault = was.fault
	}
	fields, _, ok := f.fire(hook.ToolAfter, object("tool", f.call.tool, "call_id", f.CallID, "arguments", f.call.args,
		"result", was.text, "success", was.success, "error", fault, "host_tool", f.call.host))
	if !ok {
		return
	}
	now := resultOf(fields)
	if now.fault == was.fault && strings.Contains(was.text, was.fault) {
		now.fault = "" // plugins of most protocols see only the text: what they removed from it must not come back
	}
	if now.textForModel() != was.textForModel() {
		text := now.textForModel()
		f.wish.result = &text
	} else if now.success != was.success {
		f.wish.note("%s accepts a new result, but plugins cannot change whether the call succeeded", f.Agent.Title())
	}
}

// reply calls plugins after the model has replied.
func (f *firing) reply() {
	was := f.replyText()
	text := was
	for _, point := range f.event.points {
		payload := object("text", text)
		if point == hook.ModelReply {
			payload = append(payload, object("tool_calls", raw("[]"))...)
		}
		fields, _, ok := f.fire(point, payload)
		if !ok {
			return
		}
		text = plain(fields, "text")
		if calls := fields.Get("tool_calls"); !rawjson.Missing(calls) && string(calls) != "[]" {
			f.wish.note("plugin %s added calls to a reply: %s ignores them", f.wish.by, f.Agent.Title())
		}
	}
	if text != was {
		f.wish.reply = &text
	}
}

// stop calls plugins at the end of a turn. The agent has already shown the answer, so it cannot be
// changed. If a plugin refuses it, the agent must go on, once.
func (f *firing) stop() {
	text := f.answer()
	for _, point := range f.event.points {
		payload := object("text", text)
		switch point {
		case hook.ModelReply:
			payload = append(payload, object("tool_calls", raw("[]"))...)
		case hook.TurnDone:
			payload = append(payload, object("tools", raw("[]"), "duration", raw("0"), "error", f.fault())...)
		}
		fields, _, ok := f.fire(point, payload)
		if !ok {
			continue
		}
		if now := plain(fields, "text"); now != text && point != hook.TurnDone {
			f.wish.note("plugin %s changed the answer: %s has shown it already", f.wish.by, f.Agent.Title())
			text = now
		}
	}
	if f.wish.deny != "" && string(f.value("stop_hook_active")) == "true" {
		f.wish.note("the answer is not refused a second time: %s", f.wish.deny)
		f.wish.deny = ""
	}
}

// compaction calls plugins about a compaction. Only the agent can compact its transcript.
func (f *firing) compaction() {
	trigger := or(f.text("trigger"), "auto")
	if f.event.kind == compactBefore {
		_, out, ok := f.fire(hook.CompactBefore, object("messages", raw("[]"), "strategy", "summarize", "trigger", trigger))
		if ok && out.Verdict == hook.Stop {
			f.wish.note("plugin %s compacted the transcript: %s ignores that", out.By, f.Agent.Title())
		}
		return
	}
	fields, _, ok := f.fire(hook.CompactAfter, object("messages_being_compacted", raw("[]"), "messages_remaining", raw("[]"),
		"strategy", "summarize", "trigger", trigger, "summary", f.text("compact_summary")))
	if ok && (!rawjson.Missing(fields.Get("inject")) || !rawjson.Missing(fields.Get("retain"))) {
		f.wish.note("plugin %s added to the transcript: after a compaction %s ignores that", f.wish.by, f.Agent.Title())
	}
}

// fault returns why a turn failed, or nil.
func (f *firing) fault() any {
	if why := f.text("error_details", "error"); why != "" {
		return why
	}
	if status := f.text("status"); status != "" && status != "completed" {
		return status
	}
	return nil
}

// system calls plugins about the system prompt, before a call to the model. Text that they add
// comes after it; a prompt that they change becomes one text.
func (f *firing) system() {
	var texts []string
	for _, part := range elements(f.data.Get("system")) {
		texts = append(texts, textOf(part))
	}
	base := strings.Join(texts, "\n\n")
	fields, _, ok := f.fire(hook.PromptSend, object("base_prompt", base, "dynamic_context", ""))
	if !ok {
		return
	}
	added := strings.TrimSpace(plain(fields, "dynamic_context"))
	now := plain(fields, "base_prompt")
	if now == base && added == "" {
		return
	}
	if now != base {
		texts = []string{now}
	}
	if added != "" {
		texts = append(texts, added)
	}
	f.wish.system = texts
}
