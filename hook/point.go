package hook

import "slices"

// A Point is a moment that plugins can hook.
type Point string

// The points, in the order in which a session, a command and a job meet them.
const (
	SessionStart    Point = "session.start"
	TurnBegin       Point = "turn.begin"
	TurnInput       Point = "turn.input"
	PromptContext   Point = "prompt.context"
	PromptSend      Point = "prompt.send"
	ModelReply      Point = "model.reply"
	ToolBefore      Point = "tool.before"
	ToolResolve     Point = "tool.resolve"
	ToolAfter       Point = "tool.after"
	TurnFinal       Point = "turn.final"
	TurnDone        Point = "turn.done"
	SessionIdle     Point = "session.idle"
	CompactBefore   Point = "compact.before"
	CompactAfter    Point = "compact.after"
	SessionEnd      Point = "session.end"
	CommandValidate Point = "command.validate"
	CommandBefore   Point = "command.before"
	CommandAfter    Point = "command.after"
	CommandDone     Point = "command.done"
	JobPreflight    Point = "job.preflight"
	JobSink         Point = "job.sink"
	JobNotify       Point = "job.notify"
)

// A Mode says how the hooks of a point are called.
type Mode string

// The four modes.
const (
	// Chain calls one hook after another. Each sees the payload that the one before left, and a
	// reply may end the event.
	Chain Mode = "chain"
	// First calls the hooks in order. The first answer ends the event.
	First Mode = "first"
	// Gate calls the hooks in order. All must agree; the first refusal ends the event.
	Gate Mode = "gate"
	// Notify calls all hooks at once. No answer and no failure changes the event.
	Notify Mode = "notify"
)

// A Spec holds the fixed properties of a point.
type Spec struct {
	Point  Point
	Mode   Mode
	Fields []string // the payload's fields, in order; those of the answer come last
	Doc    string   // one line, for help texts

	Subject string // the field that every event must have; "": there is none

	MaySkip bool     // the verdict skip is allowed, and drops the event
	NoStop  bool     // the verdict stop is ignored: every hook is called
	Joined  []string // fields that hooks add to, instead of replacing them
}

// specs lists the built-in points, in the order of [Points].
var specs = []Spec{
	{Point: SessionStart, Mode: Chain, Joined: []string{"inject"},
		Fields: []string{"session_id", "working_dir", "project_root", "inject"},
		Doc:    "a session begins; plugins may inject text into it"},
	{Point: TurnBegin, Mode: Gate,
		Fields: []string{"session_id", "working_dir", "user_text"},
		Doc:    "a turn begins; a refusal ends it"},
	{Point: TurnInput, Subject: "message", Mode: Chain, MaySkip: true,
		Fields: []string{"message"},
		Doc:    "the user's message; may be rewritten or dropped"},
	{Point: PromptContext, Mode: Chain, NoStop: true,
		Fields: []string{"user_message", "dynamic_context"},
		Doc:    "context is gathered for the prompt"},
	{Point: PromptSend, Mode: Chain,
		Fields: []string{"base_prompt", "dynamic_context"},
		Doc:    "the prompt is about to go to the model"},
	{Point: ModelReply, Subject: "text", Mode: Chain,
		Fields: []string{"text", "tool_calls"},
		Doc:    "the model has replied"},
	{Point: ToolBefore, Subject: "tool", Mode: Chain,
		Fields: []string{"tool", "call_id", "arguments", "result", "success"},
		Doc:    "a tool is about to run; stop answers in its place"},
	{Point: ToolResolve, Subject: "tool", Mode: First,
		Fields: []string{"tool", "call_id", "arguments", "result", "success"},
		Doc:    "who runs this tool? the first answer wins"},
	{Point: ToolAfter, Subject: "tool", Mode: Chain,
		Fields: []string{"tool", "call_id", "arguments", "result", "success", "error"},
		Doc:    "a tool has run"},
	{Point: TurnFinal, Subject: "text", Mode: Chain,
		Fields: []string{"text"},
		Doc:    "the answer, before it is shown"},
	{Point: TurnDone, Mode: Notify,
		Fields: []string{"text", "tools", "duration", "error"},
		Doc:    "a turn is over"},
	{Point: SessionIdle, Subject: "transcript", Mode: Notify,
		Fields: []string{"transcript"},
		Doc:    "a session has gone quiet"},
	{Point: CompactBefore, Subject: "messages", Mode: First,
		Fields: []string{"messages", "strategy", "trigger", "summary"},
		Doc:    "a transcript is about to be compacted; one plugin may do it, observers are called too"},
	{Point: CompactAfter, Subject: "messages_being_compacted", Mode: Chain, Joined: []string{"retain", "inject"},
		Fields: []string{"messages_being_compacted", "messages_remaining", "strategy", "trigger", "retain", "inject"},
		Doc:    "a transcript was compacted; plugins may retain and inject"},
	{Point: SessionEnd, Mode: Notify,
		Fields: []string{"session_id"},
		Doc:    "a session ends"},
	{Point: CommandValidate, Subject: "command", Mode: Chain, Fields: commandFields, Doc: "a command, before its arguments are parsed"},
	{Point: CommandBefore, Subject: "command", Mode: Chain, Fields: commandFields, Doc: "a command, before it runs"},
	{Point: CommandAfter, Subject: "command", Mode: Chain,
		Fields: append(slices.Clone(commandFields), "error"),
		Doc:    "a command has run, before its output is shown; error says why if it failed"},
	{Point: CommandDone, Subject: "command", Mode: Notify,
		Fields: append(slices.Clone(commandFields), "error"),
		Doc:    "a command is over; error says why if it was refused or could not run"},
	{Point: JobPreflight, Subject: "agent", Mode: Gate,
		Fields: []string{"agent", "schedule", "config"},
		Doc:    "may this job run?"},
	{Point: JobSink, Subject: "agent", Mode: Notify,
		Fields: []string{"agent", "schedule", "message", "config"},
		Doc:    "the output of a job, for plugins that store it"},
	{Point: JobNotify, Subject: "agent", Mode: Notify,
		Fields: []string{"agent", "schedule", "event", "message", "config"},
		Doc:    "something happened to a job"},
}

var commandFields = []string{"command", "args", "flags", "result", "timestamp"}

// Points returns the specs of all built-in points.
func Points() []Spec { return slices.Clone(specs) }

// Spec returns the fixed properties of p. ok is false if p is not a built-in point.
func (p Point) Spec() (spec Spec, ok bool) {
	s := p.spec()
	if s == nil {
		return Spec{}, false
	}
	return *s, true
}

func (p Point) spec() *Spec {
	for i := range specs {
		if specs[i].Point == p {
			return &specs[i]
		}
	}
	return nil
}
