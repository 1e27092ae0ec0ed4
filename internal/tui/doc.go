// Package tui is the terminal program behind `patchbay chat`: a person types, the agent answers,
// and what plugins did to either can be looked at.
//
// It runs no turn and knows no host: it is given a [Conversation] and draws what that reports. It
// is not a full-screen program. What is finished is printed into the terminal's own scrollback,
// where it can be scrolled, copied and found again after the program has ended; only the few lines
// at the bottom are redrawn: the reply under way, the tools that run, the input, a status line.
//
// Text of models, tools and plugins is foreign, and a terminal obeys what it reads: all of it
// passes through package render; that of markdown, which can spell control characters as
// references, once more when it is parsed (see markdown.go).
//
// The same lines above a few redrawn ones, with keys in the place of the input, are a [Console]
// (console.go), for commands that show what happens.
//
//	Run                       a program around a screen, until the person leaves
//	  screen.Update           one message at a time; owns all that follows
//	    key                   who gets a key: question, picker, wizard, menu, input, turn
//	    submit                a line of input: a slash command or a message
//	      command.run         commands.go, the table of commands
//	      startTurn           turn.go: Send runs beside, its events come back in order
//	    turnItems             events change the live part, or finish a block of it
//	    questionMsg           approve.go: a tool asks whether it may run
//	    wizardMsg             wizard.go: /plugin, forms around a [PluginWriter]
//	    sessionsMsg, switchedMsg  sessions.go: /sessions and /new, a [SessionChanger] behind a picker
//	    scrollReply           stream.go: what is whole of a long reply is finished while the rest comes
//	    screen.frame          view.go: the live part, never taller than its share
//	    canvas.draw           canvas.go: finished lines and the live part in one write; Bubble Tea draws nothing
//	  calls.close             calls.go: no call to the Conversation outlives Run
//	PickSession               picker.go: the same picker with the screen to itself, before Run
package tui
