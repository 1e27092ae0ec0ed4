package codehook

import (
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// A kind is what an event of an agent is about. It decides how the event is read, fired and answered.
type kind string

const (
	silent        kind = ""              // nobody is asked
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

// kinds are the points that each kind of event is fired at, in this order.
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

// An event is what is fixed about an event of an agent.
type event struct {
	name    string
	kind    kind
	points  []hook.Point  // those of its kind, unless it has other ones
	timeout time.Duration // what the agent is told to wait
	wanted  bool          // install registers it
	remark  string        // why it is not, or what is peculiar about it
}

func (e event) spec() EventSpec {
	return EventSpec{Name: e.name, Points: slices.Clone(e.points), Timeout: e.timeout}
}

// How long agents are told to wait. A hook's own time in the slowest protocol of
// plugins is a minute; a session that ends is waited for by nobody.
const (
	patience = 60 * time.Second
	farewell = time.Second
)

// on is an event that install registers.
func on(name string, k kind) event {
	e := event{name: name, kind: k, points: kinds[k], timeout: patience, wanted: true}
	if k == sessionEnd {
		e.timeout = farewell
	}
	return e
}

// off is an event that is understood where somebody wires it by hand. Of kind silent, nobody is asked.
func off(name string, k kind, why string) event {
	e := on(name, k)
	e.wanted, e.remark = false, why
	return e
}

// at is the event at other points than those of its kind.
func (e event) at(points ...hook.Point) event {
	e.points = points
	return e
}

// Reasons for silence that several agents share.
const (
	permissions  = "who decides about permissions is the person, or the agent's own rules"
	ownAffair    = "it says nothing that a point is about"
	subagents    = "a subagent's tool calls have events of their own"
	eachCallOnce = "the same call has come as preToolUse"
	eachEndOnce  = "the same call comes as postToolUse"
)

// claudes are the events of Claude Code, which Qwen Code has taken over.
var claudes = []event{
	on("SessionStart", sessionStart),
	on("UserPromptSubmit", prompt),
	on("PreToolUse", before),
	on("PostToolUse", after),
	on("PostToolUseFailure", failure),
	on("Stop", stop).at(hook.ModelReply, hook.TurnFinal, hook.TurnDone),
	on("PreCompact", compactBefore),
	on("PostCompact", compactAfter),
	on("SessionEnd", sessionEnd),
	off("PermissionRequest", silent, permissions),
	off("PermissionDenied", silent, permissions),
	off("Notification", silent, ownAffair),
	off("SubagentStart", silent, subagents),
	off("SubagentStop", silent, subagents),
	off("PostToolBatch", silent, "each call has come as PostToolUse"),
	off("MessageDisplay", silent, "the whole answer comes with Stop"),
}

// events is what each agent can tell, and what of it Patchbay asks plugins about. An event that is not here is passed over.
var events = map[Agent][]event{
	Claude: claudes,
}

// lookup finds an event by name; one that is not known is silent.
func lookup(a Agent, name string) event {
	for _, e := range events[a] {
		if e.name == name {
			return e
		}
	}
	return event{name: name, timeout: patience}
}

// Events are the events that Patchbay wants to be asked about, in the order of a session.
func Events(a Agent) []EventSpec {
	var specs []EventSpec
	for _, e := range events[a] {
		if e.wanted {
			specs = append(specs, e.spec())
		}
	}
	return specs
}

// Variables are the environment variables of agents that [Parse] looks at.
func Variables() []string {
	return []string{"CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "CURSOR_VERSION", "GEMINI_PROJECT_DIR"}
}

// An ask is something that plugins may want to become of an event.
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

// A way is what becomes of an ask.
type way string

const (
	does   way = "yes"
	denies way = "denied, what was wanted is the reason"
	tells  way = "told beside the original, noted"
	notes  way = "no, noted"
	never  way = "–" // the agent has no event for it
)

// ways is what each agent does with what plugins ask for.
var ways = map[ask]map[Agent]way{
	denyCall:      {Claude: does},
	rewriteCall:   {Claude: does},
	answerCall:    {Claude: denies},
	replaceResult: {Claude: does},
	replaceError:  {Claude: tells},
	denyPrompt:    {Claude: does},
	rewritePrompt: {Claude: denies},
	promptContext: {Claude: does},
	startContext:  {Claude: does},
	replaceReply:  {Claude: never},
	refuseAnswer:  {Claude: does},
	rewriteAnswer: {Claude: notes},
	changeSystem:  {Claude: never},
	compactOwn:    {Claude: notes},
}
