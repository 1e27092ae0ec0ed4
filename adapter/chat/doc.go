// Package chat is the agent: it takes a user's message through plugins, a model and tools, and
// comes back with the answer. An [Agent] runs turns; everything that a turn touches is given to it:
// the plugins ([Host]), the model, the tools, the transcript ([Log]), and whoever watches.
//
// It is not a terminal, a server or a store of sessions, and it knows no plugin protocol: it fires
// points, and reads back what plugins made of them.
//
// # A turn
//
//	Agent.Run                          run.go
//	  startSession    session.start    opening.go   an empty transcript: plugins may open it
//	  begin           turn.begin                    may there be a turn?
//	  input           turn.input                    the message, rewritten or dropped
//	  append                                        the message is kept, before the model is asked
//	  buildPrompt     prompt.context   prompt.go    once a turn
//	  converse                         run.go       until the model wants no more tools
//	    reply                          reply.go
//	      compactIfLong                compact.go
//	      sendPrompt  prompt.send      prompt.go    before each call to the model
//	      call                                      the model, streamed
//	                  model.reply                   text and tool calls, changed perhaps
//	    keepReply                                   the reply, with its tool calls
//	    runTools                       tools.go     several at once, results in order
//	      toolCall.run                 toolcall.go
//	        before    tool.before                   changes the call, or answers it
//	        resolve   tool.resolve                  answers it
//	        execute                                 is it there, do the arguments fit, may it, run
//	        after     tool.after                    changes the result
//	  final           turn.final       closing.go   the answer, unless it is empty
//	  settle                           run.go       done, skipped, interrupted or failed
//	  afterwards      turn.done        closing.go   however the turn ended
//	                  session.idle
//
// All events of a turn have one request id (hook.WithRequest), so that plugins with a state per
// request share it, and say of which session they are.
//
// # How a turn ends
//
// A plugin that refuses (turn.begin, or a deny at any point of the turn itself) or drops the
// message ends the turn as skipped, which is no error. Where the reply itself is refused, at
// model.reply or turn.final, it is neither shown nor kept. A refusal at a tool's points is the
// tool's result, and the turn goes on.
//
// A context that ends interrupts the turn: tools are ended by it, what was shown of a reply is
// kept, and calls without a result get one that says so. The transcript is always fit to be gone on
// with.
//
// An error is for what went wrong: the model, the transcript, or a plugin whose failure aborts the
// event (the failure table in package hook decides). What the user said is kept all the same.
//
// # What is shown, and when
//
// Words are streamed as they come, unless a plugin takes part that can change a reply (Host.Alters
// at model.reply or turn.final). Then each reply is held until plugins have seen the whole of it:
// one with tool calls until model.reply is over, one without until turn.final is. Meanwhile
// observers are told how long it has become. A turn that is interrupted, or that a plugin's failure
// ends, shows and keeps nothing of a reply that was held.
//
// # Compaction
//
//	compactIfLong, shorten, Agent.CompactNow       compact.go
//	  compact
//	    delegated     compact.before               a plugin does it
//	    builtIn                        summary.go  or drop, summarize, checkpoint
//	      split                        transcript.go
//	    retained      compact.after                plugins bring back and add
//	    mend                           transcript.go
//	    Log.Compact
package chat
