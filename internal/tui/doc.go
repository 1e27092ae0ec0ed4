// Package tui implements the terminal program of `patchbay chat`: the user types, the agent
// answers, and the user can see what plugins changed.
//
// The package runs no turn and knows no plugin host. It draws the events of a [Conversation], which
// internal/cli implements.
//
// # The screen
//
// The program does not use the full screen. Finished parts are printed into the terminal's own
// scrollback, where they can be scrolled, copied, and found after the program has ended. Only a few
// lines at the bottom, the live part, are redrawn: the current reply, the running tools, the input,
// a status line. A canvas writes finished lines and the live part in one step (canvas.go).
//
// The text of models, tools and plugins is foreign, and a terminal obeys control characters. All of
// it goes through package render. Markdown can write control characters as references, so its text
// goes through render once more after it was parsed (markdown_inline.go).
//
// # Running a conversation
//
// [Run] shows a conversation until the user leaves:
//
//	approver := tui.NewApprover() // for chat.Agent.Approve: asks the user about tools
//	err := tui.Run(ctx, conversation, tui.Options{In: os.Stdin, Out: os.Stdout, Approver: approver})
//
// A Conversation includes a [SessionChanger], for /sessions and /new, and a [PluginWriter], for
// /plugin.
//
// # Other programs
//
// [Ask] asks one question, for commands. [PickSession] lets the user choose a session before Run. A
// [Console] prints lines above a status line and runs functions for keys, for `plugin dev`.
//
// # The path of a message
//
//	Run                       starts a Bubble Tea program with a screen, until the user leaves
//	  screen.Update           handles one message at a time
//	    key                   passes a key to the question, picker, wizard, menu, input or turn
//	    enter                 keys.go: the input is a slash command or a message
//	      runCommand          commands.go: the table of commands
//	      startTurn           turn.go: Send runs in the background, its events come back in order
//	    turnItems             events change the live part, or finish a block
//	    questionMsg           approve.go: a tool asks whether it may run
//	    wizardMsg             wizard.go: /plugin, forms for a [PluginWriter]
//	    sessionsMsg, switchedMsg  sessions.go: /sessions and /new, a picker for a [SessionChanger]
//	    scrollReply           finished.go: prints the finished parts of a long reply
//	      stream.scroll       stream.go: finds these parts
//	    screen.frame          view.go: draws the live part, never taller than its share
//	    canvas.draw           canvas.go: writes to the terminal; Bubble Tea draws nothing
//	  calls.close             calls.go: no call to the Conversation outlives Run
package tui
