package tui

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func TestTurn(t *testing.T) {
	t.Run("a message is printed, and then the whole reply", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("hello there")
			d.wantPrinted("❯ hello there\n", "● you said: hello there\n", "1.2k tokens in, 56 out")
			d.wantLive("Ask anything")
		})
	})
	t.Run("a reply is visible while it arrives, and printed when it is whole", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("footer")
			d.wantLive("the streamed answer", "answering")
			if strings.Contains(d.scrollback(), "streamed") {
				t.Error("half a reply was printed")
			}
		})
	})
	t.Run("a reply is being answered even if all of it that arrived has been printed", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("burst")
			d.advance(time.Second)
			d.wantPrinted("burst line 059")
			d.wantLive("answering")
		})
	})
	t.Run("one line says what Esc does now", func(t *testing.T) {
		drive(t, func(d *driver) {
			says := func(want string) {
				t.Helper()
				if got := strings.Join(regexp.MustCompile(`esc \w+`).FindAllString(d.live(), -1), ", "); got != want {
					t.Errorf("%q, want %q:\n%s", got, want, d.live())
				}
			}
			d.enter("footer")
			says("esc interrupts")
			d.write("/")
			says("esc closes")
			d.keys("esc", "backspace", "ctrl+r")
			says("esc leaves")
		})
	})
	t.Run("the final text replaces the streamed text", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("footer")
			close(d.talk.open)
			d.awaitQuiet()
			d.wantPrinted("the final answer", "by footer")
			d.wantNowhere("the streamed answer")
		})
	})
	t.Run("the plugin that changed something is named", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("footer")
			close(d.talk.open)
			d.awaitQuiet()
			d.wantPrinted("changed by footer (turn.final) · /trace")
		})
	})
	t.Run("a plugin that failed is named at once", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("tool")
			d.wantPrinted("plugin old failed at turn.input: pipe closed")
		})
	})
	t.Run("text before a tool call is printed before the tool", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("tool")
			d.wantPrinted("I will run the tests.")
			close(d.talk.open)
			d.awaitQuiet()
			all := d.scrollback()
			if said, ran := strings.Index(all, "I will run"), strings.Index(all, "✓ shell"); said < 0 || said > ran {
				t.Errorf("the order is wrong:\n%s", all)
			}
			if strings.Count(all, "I will run") != 1 || strings.Count(all, "All tests pass.") != 1 {
				t.Errorf("a reply was printed twice:\n%s", all)
			}
		})
	})
	t.Run("text streamed before a retry is discarded", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("retry")
			d.wantPrinted("● good text")
			d.wantNowhere("void")
		})
	})
	t.Run("a message that a plugin dropped says why and what to do", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("skip")
			d.wantPrinted("not sent to the model: no secrets in prompts", "take the key out")
		})
	})
	t.Run("an error is shown after the part of the reply that arrived", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("fail")
			d.wantPrinted("● half an", "✗ model: 503 service unavailable")
		})
	})
	t.Run("foreign text cannot control the terminal", func(t *testing.T) {
		drive(t, func(d *driver) { // the driver checks every line
			d.enter("evil")
			d.wantPrinted(`\x1b]0;owned\x07`, `\x1b[2J`, `\x1b[8m`, `\u202e`)
		})
	})
	t.Run("tokens add up", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("a")
			d.enter("b")
			d.enter("/model")
			d.wantPrinted("2.6k tokens")
		})
	})
	t.Run("the size of the conversation is shown, and its share of the model's window", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("a")
			d.wantLive("context 12k, 6% of 200k")
			d.talk.info.Window = 0
			d.enter("b")
			d.wantLive("12k tokens in context")
		})
	})
}

func TestTool(t *testing.T) {
	t.Run("a running tool shows its duration and its last output", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("tool")
			d.advance(3 * tickEvery)
			d.wantLive("shell  go test ./...  0.4s", "│ ok      pkg/b", "running 1 tool")
		})
	})
	t.Run("a finished tool shows the beginning of its result", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("tool")
			close(d.talk.open)
			d.awaitQuiet()
			d.wantPrinted("✓ shell  go test ./...  1.5s", "│ ok pkg/d", "… 2 lines more", "✗ read_file  missing.txt", "│ exit code 1")
			d.wantNowhere("pkg/e")
		})
	})
	t.Run("a line that overwrites itself is shown in its last state", func(t *testing.T) {
		got := tailLines("start\n10%\r50%\r100%\r\n\nend\n", 2)
		if strings.Join(got, "|") != "100%|end" {
			t.Errorf("got %q", got)
		}
		lines := look{width: 80}.excerpt("start\n10%\r50%\r100%\r\nend\r\n", render.StylePlain, 10)
		if got := strings.Join(lines, "|"); got != "  │ start|  │ 100%|  │ end" {
			t.Errorf("finished: %s", got)
		}
	})
	t.Run("an error is shown once, also if the result ends with it", func(t *testing.T) {
		for result, want := range map[string]string{"out\n[exit code 3]\n": "out\n", "[exit code 3]": "", "x [exit code 3]": "x [exit code 3]", "out": "out"} {
			if got := withoutNote(result, "exit code 3"); got != want {
				t.Errorf("%q became %q", result, got)
			}
		}
	})
	t.Run("arguments without a main one are shown as JSON", func(t *testing.T) {
		if got := briefArguments([]byte(`{"n":1,"deep":{"a":[true]}}`)); got != `{"n":1,"deep":{"a":[true]}}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestInterrupt(t *testing.T) {
	for _, key := range []string{"esc", "ctrl+c"} {
		t.Run(key+" ends the turn, keeps what came and says so", func(t *testing.T) {
			drive(t, func(d *driver) {
				d.enter("hang")
				d.wantLive("I begin")
				d.keys(key)
				d.wantPrinted("● I begin", "interrupted after")
				d.wantLive("Ask anything")
				if d.quit {
					t.Error("the program ended")
				}
			})
		})
	}
	t.Run("a plugin that was interrupted is not blamed", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("stuck")
			d.keys("esc")
			d.wantPrinted("interrupted after")
			d.wantNowhere("plugin slow failed")
			d.enter("/trace")
			d.wantPrinted("slow  scaffold  post_user_input  failed") // the trace has it
		})
	})
	t.Run("Ctrl-C at an empty prompt leaves, as the screen says", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.wantLive("ctrl+c leaves")
			d.keys("ctrl+c")
			d.wantNowhere("go on with it") // nothing was said: the session is not stored
			if !d.quit || d.live() != "" {
				t.Errorf("quit %v, live %q", d.quit, d.live())
			}
		})
	})
	t.Run("a second Ctrl-C right after the first does not leave", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("hang")
			d.keys("ctrl+c", "ctrl+c")
			if d.quit {
				t.Fatal("the program ended")
			}
			d.advance(leavePause)
			d.keys("ctrl+c")
			if !d.quit {
				t.Error("the program did not end")
			}
		})
	})
	t.Run("Ctrl-C with something typed only clears it", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.write("never mind")
			d.wantLive("ctrl+c clears")
			d.keys("ctrl+c")
			if d.s.input.value() != "" || d.quit {
				t.Errorf("input %q, quit %v", d.s.input.value(), d.quit)
			}
			d.keys("up")
			if d.s.input.value() != "never mind" {
				t.Errorf("the up arrow brings back %q", d.s.input.value())
			}
		})
	})
	t.Run("Ctrl-D leaves an empty prompt only", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.write("x")
			d.keys("ctrl+d")
			if d.quit {
				t.Fatal("the program ended")
			}
			d.keys("backspace", "ctrl+d")
			if !d.quit {
				t.Error("the program did not end")
			}
		})
	})
	t.Run("leaving while a turn runs waits for its end", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("hang")
			d.keys("ctrl+d")
			d.wantPrinted("● I begin", "interrupted", "go on with it")
			if !d.quit {
				t.Error("the program did not end")
			}
		})
	})
}

func TestQueue(t *testing.T) {
	t.Run("a message sent during a turn waits for its end", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("footer")
			d.enter("second thing")
			d.wantLive("queued: second thing")
			close(d.talk.open)
			d.awaitQuiet()
			d.wantPrinted("the final answer", "you said: second thing")
			if len(d.talk.sent) != 2 {
				t.Errorf("sent %q", d.talk.sent)
			}
		})
	})
	t.Run("after an interruption it is put back into the input", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("hang")
			d.enter("second thing")
			d.enter("third")
			d.write("half")
			d.keys("esc")
			if got := d.s.input.value(); got != "half\nsecond thing\nthird" || len(d.talk.sent) != 1 {
				t.Errorf("input %q, sent %q", got, d.talk.sent)
			}
		})
	})
}

func TestHello(t *testing.T) {
	t.Run("a plugin that does not work is named", func(t *testing.T) {
		drive(t, func(d *driver) { d.wantPrinted("these plugins do not work: old; /plugins says why") })
	})
	t.Run("a plugin that the user left out is not broken", func(t *testing.T) {
		rows := []PluginRow{{Name: "a", State: stateReady}, {Name: "b", State: StateLeftOut, Error: "not in --plugins"}}
		if got := pluginCount(rows); got != "1 plugin" {
			t.Error(got)
		}
	})
	t.Run("an offline model is announced", func(t *testing.T) {
		driveWith(t, driverOptions{change: func(c *scripted) { c.info.Offline = true }}, func(d *driver) {
			d.wantPrinted("offline model: it plays a script, or echoes", "--model PROVIDER:NAME")
			d.wantLive("offline model")
		})
	})
	t.Run("another model is not announced", func(t *testing.T) {
		drive(t, func(d *driver) { d.wantNowhere("offline") })
	})
	t.Run("the last messages of a resumed session are shown", func(t *testing.T) {
		past := make([]model.Message, 30)
		for i := range past {
			past[i] = model.Message{Role: model.User, Content: "old question"}
		}
		past[27] = model.Message{Role: model.Assistant, Content: "a **good** answer"}
		past[27].ToolCalls = []model.ToolCall{{ID: "1", Name: "shell", Arguments: []byte(`{"cmd":"ls -l"}`)}}
		past[28] = model.Message{Role: model.ToolRole, Name: "shell", ToolCallID: "1", Content: "tool output", Failed: true}
		past[29] = model.Message{Role: model.System, Content: "injected"}
		driveWith(t, driverOptions{change: func(c *scripted) { c.past = past }}, func(d *driver) {
			d.wantPrinted("10 messages before", "❯ old question", "a good answer", "✗ shell  ls -l\n  │ tool output", "injected",
				"resumed here, after 30 messages: a test")
		})
	})
	t.Run("long messages are limited to a few screens", func(t *testing.T) {
		past := make([]model.Message, 10)
		for i := range past {
			past[i] = model.Message{Role: model.Assistant, Content: strings.Repeat("a line of it\n\n", 20)}
		}
		driveWith(t, driverOptions{change: func(c *scripted) { c.past = past }}, func(d *driver) {
			d.wantPrinted("7 messages before", "resumed here, after 10 messages")
		})
	})
}

// TestEveryScreen plays all scenes on very small and odd screens. The driver checks every frame.
func TestEveryScreen(t *testing.T) {
	for _, size := range [][2]int{{200, 60}, {40, 24}, {24, 10}, {12, 6}} {
		o := driverOptions{width: size[0], height: size[1]}
		driveWith(t, o, func(d *driver) {
			close(d.talk.open)
			for scene := range scenes {
				if scene != "hang" && scene != "ask" {
					d.enter(scene)
					d.advance(tickEvery)
				}
			}
			for _, c := range commands() {
				if c.name != "/quit" && c.name != "/plugin" {
					d.enter(c.name)
					d.advance(tickEvery)
				}
			}
			d.write("/")
			d.keys("up", "esc", "ctrl+c")
			d.enter("ask")
			d.keys("f", "y")
			d.enter("/plugin")
			d.write("name")
			d.keys("enter")
			d.write("what it does")
			d.keys("enter", "enter", "enter")
		})
	}
}

func TestAReplyThatPluginsSeeFirst(t *testing.T) {
	t.Run("is counted in the live part", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("held")
			d.wantLive("answering: 1.2k characters, shown once plugins have seen them")
			close(d.talk.open)
			d.awaitQuiet()
			d.wantPrinted("● seen by all")
		})
	})
	t.Run("is not shown if the turn is interrupted", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("held")
			d.keys("esc")
			d.wantPrinted("interrupted after")
			d.wantNowhere("seen by all")
		})
	})
}

func TestASlowPluginIsNamed(t *testing.T) {
	drive(t, func(d *driver) {
		d.enter("slow")
		d.advance(900 * time.Millisecond)
		d.wantLive("thinking")
		d.advance(300 * time.Millisecond)
		d.wantLive("waiting for guard (tool.before)  1.2s")
		d.talk.open <- struct{}{}
		d.advance(200 * time.Millisecond)
		d.wantLive("thinking")
		close(d.talk.open)
		d.awaitQuiet()
	})
}
