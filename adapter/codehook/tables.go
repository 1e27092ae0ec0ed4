package codehook

import (
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// A kind is what an event is about. It decides how the event is read, fired and answered.
type kind string

const (
	silent        kind = ""              // no plugin is called
	sessionStart  kind = "session start" //
	prompt        kind = "prompt"        // the user's message
	system        kind = "system prompt" // the prompt, before a call to the model
	before        kind = "tool call"     // before it runs
	after         kind = "tool result"   //
	failure       kind = "tool failure"  // the result of a call that failed
	reply         kind = "reply"         // of the model
	stop          kind = "end of turn"   //
	compactBefore kind = "compaction"    // is about to happen
	compactAfter  kind = "compacted"     //
	sessionEnd    kind = "session end"   //
)

// kinds lists the points that are fired for each kind of event, in this order.
var kinds = map[kind][]hook.Point{
	sessionStart:  {hook.SessionStart},
	prompt:        {hook.TurnBegin, hook.TurnInput, hook.PromptContext},
	system:        {hook.PromptSend},
	before:        {hook.ToolBefore, hook.ToolResolve},
	after:         {hook.ToolAfter},
	failure:       {hook.ToolAfter},
	reply:         {hook.ModelReply},
	stop:          {hook.TurnFinal, hook.TurnDone},
	compactBefore: {hook.CompactBefore},
	compactAfter:  {hook.CompactAfter},
	sessionEnd:    {hook.SessionEnd},
}

// An event has the fixed properties of an event of an agent.
type event struct {
	name    string
	kind    kind
	points  []hook.Point  // those of its kind, or other ones
	timeout time.Duration // how long the agent's settings let it wait
	matcher string        // limits the event, if the agent can do that; "": no limit
	wanted  bool          // `hook install` registers it
	remark  string        // why it is not registered, or what is special about it
}

func (e event) spec(a Agent) EventSpec {
	return EventSpec{Name: e.name, Points: slices.Clone(e.points), Gates: a.gates(e.kind), Matcher: e.matcher, Timeout: e.timeout}
}

// How long agents wait. The slowest protocol of plugins allows a hook one minute. An agent that
// ends does not wait long for the end of its session.
const (
	patience    = 60 * time.Second
	endPatience = time.Second
)

// on returns an event that `hook install` registers.
func on(name string, k kind) event {
	e := event{name: name, kind: k, points: kinds[k], timeout: patience, wanted: true}
	if k == sessionEnd {
		e.timeout = endPatience
	}
	return e
}

// off returns an event that is answered only if the user registers it by hand. For the kind silent,
// no plugin is called.
func off(name string, k kind, why string) event {
	e := on(name, k)
	e.wanted, e.remark = false, why
	return e
}

// at returns the event with other points than those of its kind.
func (e event) at(points ...hook.Point) event {
	e.points = points
	return e
}

func (e event) because(remark string) event {
	e.remark = remark
	return e
}

func (e event) matching(matcher string) event {
	e.matcher = matcher
	return e
}

// Remarks that several agents share.
const (
	permissions  = "the user, or the agent's own rules, decide about permissions"
	noPoint      = "there is no point for it"
	subagents    = "the tool calls of a subagent have their own events"
	eachCallOnce = "the same call has come as preToolUse"
	eachEndOnce  = "the same call comes as postToolUse"
	eachOpenCode = "the same call has come as tool.execute.before"
	camelCase    = "the same event under Copilot CLI's older name"
)

// claudes lists the events of Claude Code, which Qwen Code has too.
var claudes = []event{
	on("SessionStart", sessionStart),
	on("UserPromptSubmit", prompt),
	on("PreToolUse", before),
	on("PostToolUse", after),
	on("PostToolUseFailure", failure),
	on("Stop", stop).at(hook.ModelReply, hook.TurnFinal, hook.TurnDone),
	on("StopFailure", stop).at(hook.TurnDone),
	on("PreCompact", compactBefore),
	on("PostCompact", compactAfter),
	on("SessionEnd", sessionEnd),
	off("PermissionRequest", silent, permissions),
	off("PermissionDenied", silent, permissions),
	off("Notification", silent, noPoint),
	off("SubagentStart", silent, subagents),
	off("SubagentStop", silent, subagents),
	off("PostToolBatch", silent, "each call has come as PostToolUse"),
	off("MessageDisplay", silent, "the whole answer comes with Stop"),
}

// events lists the events of each agent. An event that is not listed is ignored.
var events = map[Agent][]event{
	Claude: claudes,
	Qwen:   claudes,
	Codex: {
		on("SessionStart", sessionStart),
		on("UserPromptSubmit", prompt),
		on("PreToolUse", before),
		on("PostToolUse", after),
		on("Stop", stop).at(hook.ModelReply, hook.TurnFinal, hook.TurnDone),
		on("PreCompact", compactBefore),
		on("PostCompact", compactAfter),
		on("SessionEnd", sessionEnd),
		off("PermissionRequest", silent, permissions),
		off("SubagentStart", silent, subagents),
		off("SubagentStop", silent, subagents),
	},
	Gemini: {
		on("SessionStart", sessionStart),
		on("BeforeAgent", prompt),
		on("BeforeTool", before),
		on("AfterTool", after),
		on("AfterModel", reply).because("comes once for each piece of a reply; pieces without text are ignored"),
		on("AfterAgent", stop),
		on("PreCompress", compactBefore).matching("manual").because("with the trigger `auto` it comes before every call to the model, and is ignored"),
		on("SessionEnd", sessionEnd),
		off("BeforeModel", silent, "it does not have the system prompt"),
		off("BeforeToolSelection", silent, noPoint),
		off("Notification", silent, noPoint),
	},
	Copilot: {
		on("SessionStart", sessionStart),
		on("UserPromptSubmit", prompt),
		on("PreToolUse", before),
		on("PostToolUse", after),
		on("PostToolUseFailure", failure),
		on("Stop", stop).at(hook.TurnDone).because("it does not have the answer"),
		on("PreCompact", compactBefore),
		on("SessionEnd", sessionEnd),
		off("sessionStart", sessionStart, camelCase),
		off("userPromptSubmitted", prompt, camelCase),
		off("preToolUse", before, camelCase),
		off("postToolUse", after, camelCase),
		off("postToolUseFailure", failure, camelCase),
		off("agentStop", stop, camelCase).at(hook.TurnDone),
		off("preCompact", compactBefore, camelCase),
		off("sessionEnd", sessionEnd, camelCase),
		off("userPromptTransformed", silent, "the message has come as userPromptSubmitted"),
		off("PermissionRequest", silent, permissions),
		off("permissionRequest", silent, permissions),
		off("Notification", silent, noPoint),
		off("notification", silent, noPoint),
		off("SubagentStart", silent, subagents),
		off("subagentStart", silent, subagents),
		off("SubagentStop", silent, subagents),
		off("subagentStop", silent, subagents),
		off("ErrorOccurred", silent, noPoint),
		off("errorOccurred", silent, noPoint),
	},
	Cursor: {
		on("sessionStart", sessionStart),
		on("beforeSubmitPrompt", prompt),
		on("preToolUse", before),
		on("postToolUse", after),
		on("postToolUseFailure", failure),
		on("afterAgentResponse", reply).at(hook.ModelReply, hook.TurnFinal),
		on("stop", stop).at(hook.TurnDone),
		on("preCompact", compactBefore),
		on("sessionEnd", sessionEnd),
		off("beforeShellExecution", silent, eachCallOnce),
		off("beforeMCPExecution", silent, eachCallOnce),
		off("beforeReadFile", silent, eachCallOnce),
		off("afterShellExecution", silent, eachEndOnce),
		off("afterMCPExecution", silent, eachEndOnce),
		off("afterFileEdit", silent, eachEndOnce),
		off("beforeTabFileRead", silent, "the editor reads it, not the agent"),
		off("afterTabFileEdit", silent, "the editor changed it, not the agent"),
		off("afterAgentThought", silent, noPoint),
		off("subagentStart", silent, subagents),
		off("subagentStop", silent, subagents),
		off("workspaceOpen", silent, noPoint),
	},
	OpenCode: {
		on("session.created", sessionStart).because("comes through the hook `event`; nothing can be added to the session"),
		on("chat.message", prompt),
		on("experimental.chat.system.transform", system).because("before each call to the model, except those for titles"),
		on("tool.execute.before", before),
		on("tool.execute.after", after),
		on("experimental.text.complete", reply),
		on("session.idle", stop).at(hook.TurnDone).because("comes through the hook `event`"),
		on("experimental.session.compacting", compactBefore),
		on("session.compacted", compactAfter).because("comes through the hook `event`"),
		on("dispose", sessionEnd).because("once for each session"),
		off("session.deleted", sessionEnd, "comes through the hook `event`; the session has been idle for long"),
		off("chat.params", silent, noPoint),
		off("chat.headers", silent, noPoint),
		off("command.execute.before", silent, "the result of a command is a message"),
		off("shell.env", silent, eachOpenCode),
		off("tool.definition", silent, noPoint),
		off("experimental.chat.messages.transform", silent, "each message has come as chat.message"),
		off("permission.ask", silent, permissions),
		off("init", silent, noPoint),
	},
}

// lookup returns the event with a name. An unknown event is silent.
func lookup(a Agent, name string) event {
	for _, e := range events[a] {
		if e.name == name {
			return e
		}
	}
	return event{name: name, timeout: patience}
}

// Events returns the events for which the agent must call Patchbay, in the order of a session.
func Events(a Agent) []EventSpec {
	var specs []EventSpec
	for _, e := range events[a] {
		if e.wanted {
			specs = append(specs, e.spec(a))
		}
	}
	return specs
}

// Variables returns the environment variables of agents that [Parse] reads.
func Variables() []string {
	return []string{"CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "CURSOR_VERSION", "GEMINI_PROJECT_DIR"}
}

// An ask is something that plugins may want an agent to do.
type ask string

const (
	denyCall      ask = "deny a tool call"
	rewriteCall   ask = "rewrite a tool call"
	answerCall    ask = "answer in the tool's place"
	replaceResult ask = "replace a result"
	replaceError  ask = "replace the result of a failed call"
	denyPrompt    ask = "refuse or drop a message"
	rewritePrompt ask = "rewrite a message"
	promptContext ask = "add context to a message"
	startContext  ask = "add context to a session"
	replaceReply  ask = "rewrite or refuse a reply"
	refuseAnswer  ask = "refuse the answer of a turn"
	rewriteAnswer ask = "rewrite the answer of a turn"
	changeSystem  ask = "change the system prompt"
	compactOwn    ask = "compact a transcript, or add to it"
)

// A way is what an agent does with an ask.
type way string

const (
	does   way = "yes"
	denies way = "denied, with the change as the reason"
	tells  way = "shown beside the original, and noted"
	some   way = "for some tools"
	maybe  way = "sent, but may be ignored"
	loses  way = "no, noted"
	never  way = "–" // the agent has no event for it
)

// ways lists what each agent does with each ask, in the order of [Agents].
var ways = map[ask][7]way{
	//             Claude  Codex   Gemini  Copilot Qwen    Cursor  OpenCode
	denyCall:      {does, does, does, does, does, does, does},
	rewriteCall:   {does, does, does, does, denies, some, does},
	answerCall:    {denies, denies, denies, denies, denies, denies, denies},
	replaceResult: {some, does, does, does, does, some, does},
	replaceError:  {tells, never, does, tells, tells, loses, never},
	denyPrompt:    {does, does, does, does, does, maybe, does},
	rewritePrompt: {denies, denies, denies, does, denies, denies, does},
	promptContext: {does, does, does, does, does, maybe, does},
	startContext:  {does, does, does, does, does, maybe, loses},
	replaceReply:  {never, never, does, never, never, loses, does},
	refuseAnswer:  {does, does, does, never, does, loses, never},
	rewriteAnswer: {loses, loses, loses, never, loses, loses, never},
	changeSystem:  {never, never, never, never, never, never, does},
	compactOwn:    {loses, loses, loses, loses, loses, loses, loses},
}

// asks lists the rows of the table, in the order of a session.
var asks = []ask{startContext, denyPrompt, rewritePrompt, promptContext, changeSystem, denyCall, rewriteCall, answerCall, replaceResult, replaceError,
	replaceReply, refuseAnswer, rewriteAnswer, compactOwn}

func (a Agent) way(asked ask) way { return ways[asked][slices.Index(Agents(), a)] }
