package plugin

// A Point is a moment at which a host calls plugins. E is the event of its handlers, so that the
// compiler refuses a handler for the wrong kind of event. The names are Patchbay's own; each
// dialect has its own words for the points that it knows.
type Point[E any] struct{ name string }

// String returns the point's name in Patchbay's vocabulary, such as "tool.before".
func (p Point[E]) String() string { return p.name }

// The points that the dialects of this package know, in the order in which they occur in a session,
// a command and a job.
var (
	SessionStart    = Point[SessionEvent]{"session.start"}    // kaged: on_session_start
	TurnInput       = Point[InputEvent]{"turn.input"}         // scaffold: post_user_input
	PromptContext   = Point[ContextEvent]{"prompt.context"}   // scaffold: context_enhance
	PromptSend      = Point[PromptEvent]{"prompt.send"}       // scaffold: pre_llm_send
	ModelReply      = Point[ReplyEvent]{"model.reply"}        // scaffold: post_llm_response
	ToolBefore      = Point[ToolEvent]{"tool.before"}         // scaffold: pre_tool_execute
	ToolResolve     = Point[ToolEvent]{"tool.resolve"}        // scaffold: pre_tool_execute, after tool.before
	ToolAfter       = Point[ToolEvent]{"tool.after"}          // scaffold: post_tool_execute
	TurnFinal       = Point[FinalEvent]{"turn.final"}         // scaffold: post_llm_response of a reply without tool calls
	SessionIdle     = Point[IdleEvent]{"session.idle"}        // kaged: on_session_idle
	CompactBefore   = Point[CompactEvent]{"compact.before"}   // kaged: pre_compact
	CompactAfter    = Point[CompactedEvent]{"compact.after"}  // kaged: post_compact
	CommandValidate = Point[CommandEvent]{"command.validate"} // mine: prevalidate
	CommandBefore   = Point[CommandEvent]{"command.before"}   // mine: preexec
	CommandAfter    = Point[CommandEvent]{"command.after"}    // mine: postexec
	CommandDone     = Point[CommandEvent]{"command.done"}     // mine: notify
	JobPreflight    = Point[JobEvent]{"job.preflight"}        // dotagent: preflight
	JobSink         = Point[JobEvent]{"job.sink"}             // dotagent: sink
	JobNotify       = Point[JobEvent]{"job.notify"}           // dotagent: notify
)

// A Dialect is a protocol between a plugin and a host.
type Dialect string

// The dialects that this package answers in.
const (
	Dotagent Dialect = "dotagent"
	Mine     Dialect = "mine"
	Kaged    Dialect = "kaged"
	Scaffold Dialect = "scaffold"
	MCP      Dialect = "mcp"
)

// Dialects lists the dialects.
func Dialects() []Dialect { return []Dialect{Dotagent, Mine, Kaged, Scaffold, MCP} }

// A native is the hook of a dialect at a point.
type native struct {
	point   string
	dialect Dialect
	hook    string
	allows  []kind // the verdicts that it supports, beside NoOpinion, Continue and Fail
}

// natives lists the hook of each point, its dialect, and the verdicts that it supports.
var natives = []native{
	{"session.start", Kaged, "on_session_start", []kind{kindModify}},
	{"turn.input", Scaffold, "post_user_input", []kind{kindModify, kindStop, kindSkip, kindDeny}},
	{"prompt.context", Scaffold, "context_enhance", []kind{kindModify}},
	{"prompt.send", Scaffold, "pre_llm_send", []kind{kindModify, kindStop}},
	{"model.reply", Scaffold, "post_llm_response", []kind{kindModify, kindStop}},
	{"tool.before", Scaffold, "pre_tool_execute", []kind{kindModify, kindStop, kindAnswer, kindDeny}},
	{"tool.resolve", Scaffold, "pre_tool_execute", []kind{kindAnswer}},
	{"tool.after", Scaffold, "post_tool_execute", []kind{kindModify, kindStop}},
	{"turn.final", Scaffold, "post_llm_response", []kind{kindModify, kindStop}},
	{"session.idle", Kaged, "on_session_idle", nil},
	{"compact.before", Kaged, "pre_compact", []kind{kindModify}},
	{"compact.after", Kaged, "post_compact", []kind{kindModify}},
	{"command.validate", Mine, "prevalidate", []kind{kindModify, kindDeny}},
	{"command.before", Mine, "preexec", []kind{kindModify, kindDeny}},
	{"command.after", Mine, "postexec", []kind{kindModify, kindDeny}},
	{"command.done", Mine, "notify", nil},
	{"job.preflight", Dotagent, "preflight", []kind{kindDeny}},
	{"job.sink", Dotagent, "sink", []kind{kindDeny}},
	{"job.notify", Dotagent, "notify", []kind{kindDeny}},
}

func nativeOf(point string) *native {
	for i := range natives {
		if natives[i].point == point {
			return &natives[i]
		}
	}
	return nil
}
