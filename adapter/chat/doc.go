// Package chat implements the agent: it takes a message of the user through plugins, a model and
// tools, and returns the answer.
//
// The package is not a terminal, a server or a store of sessions, and it knows no plugin protocol.
// It fires points and reads the payloads that plugins return. Its parts are given to it by the
// program: internal/daemon does so for `patchbay chat` and `patchbay serve`.
//
// # An agent
//
// An [Agent] has a model, and optionally a [Host] with plugins, tools, and an [Approver], which
// asks the user before a tool changes something:
//
//	agent := &chat.Agent{
//		Model:   provider,
//		Host:    host, // a *patchbay.Host
//		Tools:   func() []chat.Tool { return tools },
//		Approve: ask,
//	}
//
// Tools is called before each model call, because the tools of plugins come and go. Package builtin
// has the agent's own tools.
//
// # A turn
//
// A [Turn] is one message of the user. [Agent.Run] takes it through plugins, model and tools until
// the model asks for no more tools:
//
//	result, err := agent.Run(ctx, chat.Turn{Session: s, Log: log, Text: "How long is the question?"})
//
// The [Log] is the transcript of the session. [NewMemoryLog] returns one in memory. Observe gets
// each [Event] of the turn when it happens, such as streamed text and the output of tools. The
// [Result] is never nil.
//
// # The end of a turn
//
// Result.Status says how the turn ended:
//
//	done          with an answer
//	skipped       a plugin refused the turn or dropped the message; Reason says why. Run returns no error
//	interrupted   the context ended
//	failed        because of the model, the transcript, a plugin whose failure aborts the event, or too many model calls
//
// A plugin that refuses a reply, at model.reply or turn.final, also ends the turn as skipped: the
// reply is neither shown nor stored. A refusal at the points of a tool call does not end the turn.
// It is the result of the call, which the model reads.
//
// The log is valid for the next turn however this one ended. The user's message is stored before
// the model is called. An interruption ends the running tools, stores the part of the reply that
// was shown, and adds a result to each call without one.
//
// # Held replies
//
// Text is streamed while it arrives, unless a plugin that can change a reply takes part
// (Host.Alters at model.reply or turn.final). Then each reply is held until plugins have seen all
// of it: a reply with tool calls until model.reply is over, a reply without until turn.final is
// over. Meanwhile observers get its length. If the turn is interrupted or fails, nothing of a held
// reply is shown or stored.
//
// # Compaction
//
// A transcript that fills the model's window is compacted: its oldest messages are replaced as
// [CompactOptions] say, or by a plugin. [Agent.CompactNow] compacts on request.
//
// # The path of a turn
//
// All events of a turn have its session, and one request id (hook.WithRequest), so that plugins can
// keep state for a request.
//
//	Agent.Run                            run.go
//	  startSession      session.start    opening.go     only before the first message
//	  begin             turn.begin                      plugins may refuse the turn
//	  input             turn.input                      plugins rewrite or drop the message
//	  append                                            stores the message
//	  buildPrompt       prompt.context   prompt.go      once a turn
//	  converse                           run.go         until the model asks for no tools
//	    reply                            reply.go
//	      compactIfLong                  compact.go
//	      sendPrompt    prompt.send      prompt.go      before each model call
//	      call                                          calls the model, and streams
//	                    model.reply                     plugins change text and tool calls
//	    keepReply                                       stores the reply, with its tool calls
//	    runTools                         tools.go       several at once, results in order
//	      toolCall.run                   toolcall.go    through adapter.ToolCall.Run, whose steps these are:
//	        before      tool.before                     changes the call, or answers it
//	        resolve     tool.resolve                    answers it
//	        execute                                     checks name, arguments and approval; runs the tool
//	        after       tool.after                      changes the result
//	  finishReply       turn.final       closing.go     the answer, unless it is empty
//	  recordEnd                          run.go         done, skipped, interrupted or failed
//	  notifyDone        turn.done        closing.go     however the turn ended
//	                    session.idle
//
//	compactIfLong, compactTooLong, Agent.CompactNow     compact.go
//	  compact
//	    delegateCompaction compact.before               a plugin compacts
//	    compactBuiltIn                   summary.go     or drop, summarize, checkpoint
//	      split                          transcript.go
//	    retainMessages  compact.after                   plugins bring back messages and add text
//	    repairToolCalls                  transcript.go
//	    Log.Compact
package chat
