package tui

import (
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	t.Run("help lists every command", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/help")
			for _, c := range commands() {
				d.wantPrinted(c.name)
			}
		})
	})
	t.Run("every command can be found, and does something", func(t *testing.T) {
		for _, c := range commands() {
			if _, ok := findCommand(c.name); !ok || c.run == nil || c.about == "" || !isCommand(c.name) {
				t.Errorf("%+v", c)
			}
		}
	})
	t.Run("an unknown command suggests the nearest", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/plugns")
			d.wantPrinted("there is no command /plugns: did you mean /plugins?")
			d.enter("/xyzzy")
			d.wantPrinted("there is no command /xyzzy: /help lists the commands",
				"no plugin takes commands here; a space before it sends it to the model")
			if len(d.talk.sent) != 0 {
				t.Errorf("sent %q", d.talk.sent)
			}
		})
	})
	t.Run("a command with a space before it is sent as a message", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter(" /xyzzy now")
			d.wantPrinted("you said: /xyzzy now")
			d.enter(" /help")
			d.wantPrinted("you said: /help")
			d.keys("up")
			if got := d.s.input.value(); got != " /help" {
				t.Errorf("recalled as %q", got)
			}
		})
	})
	t.Run("an unknown command goes to the plugins if one intercepts messages", func(t *testing.T) {
		driveWith(t, driverOptions{change: func(c *scripted) { c.intercepts = true }}, func(d *driver) {
			d.enter("/deploy staging")
			d.wantPrinted("you said: /deploy staging")
			d.enter("/session")
			d.wantPrinted("ses_01test")
			if len(d.talk.sent) != 1 || d.talk.sent[0] != "/deploy staging" {
				t.Errorf("sent %q", d.talk.sent)
			}
		})
	})
	t.Run("a message that begins with a path is a message", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/etc/hosts is what?")
			d.wantPrinted("you said: /etc/hosts is what?")
		})
	})
	t.Run("plugins shows hooks, tools and what is wrong", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/plugins")
			d.wantPrinted("footer       python    ready   1.0", "hooks   on_begin, on_final", "tools   git_log, git_blame",
				"old          kaged     broken", "error   no reply to initialize within 5s")
		})
	})
	t.Run("tools names the plugin of each tool, and which tools ask", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/tools")
			d.wantPrinted("shell      built in     asks first", "git_log    git-context", "Read a file.")
		})
	})
	t.Run("trace shows which plugin changed what in the last turn", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/trace")
			d.wantPrinted("no plugin took part in the last turn")
			d.enter("footer")
			close(d.talk.open)
			d.awaitQuiet()
			d.enter("/trace")
			d.wantPrinted("turn.final  chain · 1 plugin", "footer  python  on_final  changed", "- the streamed answer", "+ the final answer")
		})
	})
	t.Run("trace also shows the running turn", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("tool")
			d.enter("/trace")
			d.wantPrinted("+ tool #tagged")
		})
	})
	t.Run("session says how to resume it", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/session")
			d.wantPrinted("session  ses_01test", "resume   patchbay chat --resume ses_01test")
		})
	})
	t.Run("model names the model", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/model")
			d.wantPrinted("provider  test", "model     scripted", "window    200k tokens")
			d.enter("hello")
			d.enter("/model")
			d.wantPrinted("used      1.3k tokens", "context   12k, 6% of 200k")
		})
	})
	t.Run("compact reports the result", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/compact drop")
			d.wantPrinted("compacted (summarize): 40 messages became 6")
			d.enter("/compact delegate")
			d.wantPrinted("not compacted: no plugin compacts")
			d.wantLive("Ask anything")
		})
	})
	t.Run("compacting can be interrupted", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/compact checkpoint")
			d.wantLive("compacting", "esc interrupts")
			d.keys("esc")
			d.wantPrinted("not compacted: context canceled")
			d.wantLive("Ask anything")
		})
	})
	t.Run("commands that change the conversation wait for the turn", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("hang")
			d.enter("/compact")
			d.wantPrinted("/compact has to wait")
			d.enter("/plugin")
			if d.s.wizard != nil {
				t.Error("a wizard was opened")
			}
		})
	})
	t.Run("clear clears the screen", func(t *testing.T) {
		drive(t, func(d *driver) {
			if d.enter("/clear"); !d.cleared {
				t.Error("the screen was not cleared")
			}
		})
	})
	for _, name := range []string{"/quit", "/exit", "/q"} {
		t.Run(name+" leaves", func(t *testing.T) {
			drive(t, func(d *driver) {
				if d.enter(name); !d.quit {
					t.Error("the program did not end")
				}
			})
		})
	}
}

func TestWizard(t *testing.T) {
	// begin answers the first questions.
	begin := func(d *driver, name, what string) {
		d.enter("/plugin")
		d.write(name)
		d.keys("enter")
		d.write(what)
		d.keys("enter")
	}
	t.Run("a plugin is described, written, checked, saved and loaded", func(t *testing.T) {
		drive(t, func(d *driver) {
			begin(d, "notes", "takes notes")
			d.wantLive("Which hooks?", "on_resolve_tool")
			d.keys(" ", "enter")
			d.wantPrinted(`"""takes notes"""`, "async def done(ctx):")
			d.wantLive("it is valid", "Save and load it")
			d.keys("enter")
			d.wantPrinted("plugin notes is loaded: /home/somebody/.agent/plugins/notes.py")
			d.wantLive("3 plugins")
			if !strings.Contains(d.talk.saved["notes"], "takes notes") {
				t.Errorf("saved %q", d.talk.saved)
			}
		})
	})
	t.Run("without a model it is a template, and the user is told", func(t *testing.T) {
		short := func(path string) string { return strings.Replace(path, "/home/somebody", "~", 1) }
		driveWith(t, driverOptions{options: Options{Short: short}, change: func(c *scripted) { c.info.Offline = true }}, func(d *driver) {
			begin(d, "notes", "takes notes")
			d.keys("enter")
			d.wantPrinted("no model is chosen: this is a template")
			d.keys("enter")
			d.wantPrinted("plugin notes is loaded: ~/.agent/plugins/notes.py")
		})
	})
	t.Run("an existing file is replaced only if the user says so", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.talk.saved["notes"] = "# precious"
			begin(d, "notes", "takes notes")
			d.keys("enter", "enter")
			d.wantLive("There is a plugin of that name already", "/home/somebody/.agent/plugins/notes.py", "Replace it", "esc back")
			for _, back := range []string{"enter", "esc"} {
				d.keys(back)
				d.wantLive("it is valid", "Save and load it")
				d.keys("enter")
				d.wantLive("There is a plugin of that name already")
				if d.talk.saved["notes"] != "# precious" {
					t.Fatalf("%s replaced it", back)
				}
			}
			d.keys("down", "down", "enter")
			d.wantPrinted("plugin notes is loaded")
			if !strings.Contains(d.talk.saved["notes"], "takes notes") {
				t.Errorf("saved %q", d.talk.saved)
			}
		})
	})
	t.Run("an invalid name is refused while it is typed", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/plugin")
			d.write("../evil")
			d.keys("enter")
			d.wantLive("letters, digits", "Name of the plugin")
		})
	})
	t.Run("an invalid plugin cannot be saved, and can be written again with the error", func(t *testing.T) {
		drive(t, func(d *driver) {
			begin(d, "notes", "broken at first")
			d.keys("enter")
			d.wantLive("line 6: unmatched ')'", "Edit it")
			d.wantNowhere("Save and load it")
			d.keys("down", "enter")
			d.wantLive("What should be different?", "line 6: unmatched ')'")
			d.keys("enter")
			d.wantLive("it is valid", "Save and load it")
		})
	})
	t.Run("it can be edited", func(t *testing.T) {
		drive(t, func(d *driver) {
			begin(d, "notes", "takes notes")
			d.keys("enter", "down", "enter")
			d.write("# mine")
			d.keys("enter", "ctrl+s")
			d.wantPrinted("# mine\n")
			d.keys("enter")
			if got := d.talk.saved["notes"]; !strings.HasPrefix(got, "# mine\n\"\"\"takes notes") || !strings.HasSuffix(got, "pass\n") {
				t.Errorf("saved %q", got)
			}
		})
	})
	t.Run("Esc in the editor changes nothing", func(t *testing.T) {
		drive(t, func(d *driver) {
			begin(d, "notes", "takes notes")
			d.keys("enter", "down", "enter")
			d.write("x")
			d.keys("esc", "enter")
			if got := d.talk.saved["notes"]; strings.HasPrefix(got, "x") || got == "" {
				t.Errorf("saved %q", got)
			}
		})
	})
	t.Run("a writer that fails is shown, and can be asked again", func(t *testing.T) {
		drive(t, func(d *driver) {
			begin(d, "notes", "unable to")
			d.keys("enter")
			d.wantLive("not written: the model is not there", "Change the answers")
		})
	})
	t.Run("Esc is one step back, everywhere", func(t *testing.T) {
		drive(t, func(d *driver) {
			begin(d, "notes", "takes notes")
			d.keys("enter")
			d.wantLive("Save and load it", "esc back")
			d.keys("esc")
			d.wantLive("Name of the plugin", "notes", "esc back to the conversation")
			d.keys("enter")
			d.wantLive("What should it do?", "takes notes", "esc back")
			d.keys("esc")
			d.wantLive("Name of the plugin")
			d.keys("esc")
			d.wantPrinted("no plugin was written")
		})
	})
	t.Run("Esc also goes back from an invalid answer", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/plugin notes")
			d.keys("enter", "enter")
			d.wantLive("say in a sentence what it should do")
			d.keys("esc")
			d.wantLive("Name of the plugin")
		})
	})
	t.Run("Ctrl+C closes the form", func(t *testing.T) {
		drive(t, func(d *driver) {
			begin(d, "notes", "takes notes")
			d.keys("ctrl+c", "ctrl+c")
			d.wantPrinted("no plugin was written")
			if d.quit || d.s.wizard != nil {
				t.Errorf("quit %v", d.quit)
			}
		})
	})
	t.Run("Esc at the first question closes the form, and the conversation goes on", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/plugin")
			d.keys("esc")
			d.wantPrinted("no plugin was written")
			d.enter("hello")
			d.wantPrinted("you said: hello")
			if len(d.talk.saved) != 0 {
				t.Errorf("saved %q", d.talk.saved)
			}
		})
	})
}

func TestModelCommand(t *testing.T) {
	t.Run("with a name, another model answers from the next message on", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.write("/model anthropic:claude-h")
			d.keys("tab", "enter")
			d.wantPrinted("anthropic:claude-haiku-4-5 answers from the next message on")
			d.wantLive("anthropic:claude-haiku-4-5")
		})
	})
	t.Run("Enter takes the typed name, although other names begin with it", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.write("/model openai:gpt-5")
			d.wantLive("/model openai:gpt-5-mini")
			d.keys("enter")
			d.wantPrinted("openai:gpt-5 answers from")
			d.write("/model openai:gpt-5")
			d.keys("down", "enter")
			d.wantPrinted("openai:gpt-5-mini answers from")
			d.write("/model openai:gpt-4.1")
			d.keys("up", "enter")
			d.wantPrinted("openai:gpt-4.1-mini answers from")
		})
	})
	t.Run("a model that cannot be opened changes nothing", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/model missing:x")
			d.wantPrinted("the model stays test:scripted: unknown model provider")
			d.enter("/model openai:NAME")
			d.wantPrinted("put the provider's own name")
			d.wantLive("test:scripted")
		})
	})
	t.Run("a hint replaces the text about choosing one", func(t *testing.T) {
		o := driverOptions{options: Options{Hint: "OPENAI_API_KEY is set"}, change: func(c *scripted) { c.info.Offline = true }}
		driveWith(t, o, func(d *driver) { d.wantPrinted("OPENAI_API_KEY is set") })
	})
}
