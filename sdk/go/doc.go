/*
Package plugin is for writing plugins as Go functions, for Patchbay and for the five hosts whose
protocols it speaks.

A plugin is written once. The same program answers in every dialect that supports it, and finds out
by itself which one the host speaks: dotagent has a verb among the arguments, mine an envelope on
stdin, and kaged, scaffold and MCP a handshake. The package needs only the standard library.

# A first plugin

	package main

	import (
		"context"
		"strings"

		plugin "github.com/patchbay-dev/patchbay/sdk/go"
	)

	type countArgs struct {
		Text string `json:"text" doc:"What to count."`
	}

	func main() {
		p := plugin.New("words", "1.0.0", "Counts words.")
		plugin.Tool(p, "count", "Counts the words of a text.",
			func(ctx context.Context, in countArgs) (int, error) {
				return len(strings.Fields(in.Text)), nil
			})
		p.Main()
	}

Build it, and try it without installing it: `patchbay plugin test ./words` checks it against its
protocol, and `patchbay plugin dev ./words` shows its messages. To install it as a scaffold plugin,
copy it to ~/.local/scaffold/plugins; the section "Where it goes" has the other dialects.

# Tools and methods

A tool is for a model, a method for programs. Both are functions of a struct, whose fields are the arguments:

	type args struct {
		Text  string   `json:"text" doc:"What to count."`                // required
		Lines bool     `json:"lines,omitempty" doc:"Count lines."`       // may be left out
		Mode  string   `json:"mode,omitempty" enum:"fast,exact"`         // one of these
		Most  int      `json:"most,omitempty" min:"1" max:"100"`         // of a text, min and max limit its length
	}

A field is required unless its tag says omitempty or omitzero, or it is a pointer. The JSON Schema
for hosts and models is made from the type; [Schema] sets another one. Arguments are checked before
the function is called, and a sentence tells the caller what is wrong with them. A result that is
not a string becomes JSON. An error is a failure of the tool; so is a panic, whose stack is logged.

# Events and verdicts

[On] adds a handler for a point: a tool is about to run, a command was typed, a job is over. The
point determines the type of the event, and the compiler checks it:

	plugin.On(p, plugin.ToolBefore, func(ctx context.Context, e *plugin.ToolEvent) plugin.Verdict {
		if strings.Contains(e.Argument("cmd"), "rm -rf") {
			return plugin.Deny("rm -rf is not allowed here").Suggest("name the files")
		}
		return plugin.NoOpinion()
	}, plugin.Only("shell"))

The answer is a [Verdict]:

	NoOpinion, Continue   the event goes on as it is
	Modify                it goes on as the handler changed it: e.Message = "…", then Modify
	Stop                  the same, and no other plugin is called
	Answer                the plugin answers in place of a tool
	Skip                  a message of the user is dropped
	Deny                  the tool, the command, the job or the message is refused, with a reason and a suggestion
	Fail                  the handler could not do its work; Fail(nil) is Continue

Each point supports some of them; any other is an error that lists these:

	point             dialect    hook                verdicts beside NoOpinion, Continue, Fail
	session.start     kaged      on_session_start    Modify (Inject)
	turn.input        scaffold   post_user_input     Modify, Stop, Skip, Deny (the message is dropped, the reason logged)
	prompt.context    scaffold   context_enhance     Modify
	prompt.send       scaffold   pre_llm_send        Modify, Stop
	model.reply       scaffold   post_llm_response   Modify, Stop
	tool.before       scaffold   pre_tool_execute    Modify, Stop, Answer, Deny
	tool.resolve      scaffold   pre_tool_execute    Answer
	tool.after        scaffold   post_tool_execute   Modify, Stop
	turn.final        scaffold   post_llm_response   Modify, Stop (replies without tool calls)
	session.idle      kaged      on_session_idle
	compact.before    kaged      pre_compact         Modify (Summary or Messages, of the compactor)
	compact.after     kaged      post_compact        Modify (Retain, Inject)
	command.validate  mine       prevalidate         Modify, Deny
	command.before    mine       preexec             Modify, Deny
	command.after     mine       postexec            Modify, Deny
	command.done      mine       notify
	job.preflight     dotagent   preflight           Deny
	job.sink          dotagent   sink                Deny
	job.notify        dotagent   notify              Deny

Patchbay can connect hooks to other points too ([[connect]] in its config.toml): there the plugin
gets the event in the form of its own hook. No protocol that this package speaks has turn.begin,
turn.done or session.end.

# Config, secrets, state

[Config] declares settings as a struct with their defaults, and returns the struct that has the
values when handlers run:

	config := plugin.Config(p, settings{Limit: 10})

Hosts of kaged and dotagent send a config, which is checked against the struct and by its method
Validate, if it has one. In mine, scaffold and MCP it is ~/.config/NAME/config.json. The tag
knob:"Label" adds a control for people (kaged), and control:"multiline" chooses its type. [Secrets]
does the same for tokens: from kaged's system_config, or from the variables that the tag env names.

[Plugin.State] stores values for later processes of the plugin: in kaged in the host's storage, in
other dialects in files below ~/.local/share/NAME. If a kaged host has no storage, the methods of
[State] return an error.

[Plugin.Log] writes to stderr, which hosts store. Everything else that the program prints goes there
too, because stdout belongs to the protocol. [Plugin.Notification] declares a notification. [From]
returns the caller. The context of a handler ends when the host goes away, after a signal, and after
[Within].

# Commands

[Plugin.Command] adds a command for people, `patchbay NAME COMMAND ARG…` (mine). There stdout is the user's.

# Where it goes

	scaffold   the program as ~/.local/scaffold/plugins/words
	dotagent   the program as ~/.config/dotagent/plugins/dotagent-plugin-words
	kaged      a directory ~/.local/share/kaged/plugins/words with the program, and `words manifest kaged >manifest.yaml`
	mine       a directory ~/.local/share/mine/plugins/words with the program, and `words manifest mine >mine-plugin.toml`
	mcp        `words manifest mcp` prints the lines for Patchbay's config.toml; any MCP client can start it too

Manifests are printed from the code, so that they always agree with it: print them again after a
change.

# Tests

Package plugintest plays a host of each dialect, inside the test's process. `patchbay plugin test`
starts the built program as a host would, and checks that it keeps the rules of its protocol, even
if input is invalid or a call fails.

# How it works

	Main
	  Run
	    detect            run.go            from the arguments, the environment, the first line
	      dotagent        dotagent.go       info, validate, invoke
	      mine            mine.go           hook, command, lifecycle
	      serve           conversation.go   JSON-RPC, line by line; one goroutine reads and answers, another takes over
	        greet                           the handshake determines the dialect
	        scaffolder    scaffold.go
	        kager         kaged.go          storage and notifications go the other way: peer.go
	        mcper         mcp.go
	      manifest        manifest.go
	  Plugin.ask          on.go             the handlers of a point, in order
	  Plugin.invoke       tool.go           a tool or a method: check.go checks its arguments against the schema of schema.go

It is not a host: it finds, starts and supervises nothing.
*/
package plugin
