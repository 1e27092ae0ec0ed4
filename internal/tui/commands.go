package tui

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A command is typed after a slash.
type command struct {
	name      string
	aliases   []string
	usage     string // the arguments
	about     string
	arguments []choice                 // the possible arguments, for the menu
	offer     func(s *screen) []choice // the same, if only the screen knows them
	free      bool                     // other arguments are possible too: Enter takes the typed one
	alone     bool                     // it cannot run during a turn
	run       func(s *screen, arg string) tea.Cmd
}

// commands lists the commands in the order of /help.
func commands() []command {
	return []command{
		{name: "/help", aliases: []string{"/?"}, about: "commands and keys", run: (*screen).help},
		{name: "/plugins", about: "the plugins that take part, their hooks and tools", run: (*screen).listPlugins},
		{name: "/plugin", about: "write a new plugin, with the model's help", alone: true, run: (*screen).openWizard},
		{name: "/trace", usage: "[full]", about: "the last turn: which plugin changed what", run: (*screen).showTrace,
			arguments: []choice{{text: "full", about: "with all that was sent and answered"}}},
		{name: "/tools", about: "the tools of the model, and the plugin of each", run: (*screen).listTools},
		{name: "/approvals", usage: "[remove COMMAND]", about: "commands that run without a question in this project",
			run: (*screen).approvals, offer: (*screen).approvalChoices},
		{name: "/compact", usage: "[STRATEGY]", about: "make the conversation shorter", alone: true,
			run: (*screen).compact, arguments: strategies()},
		{name: "/sessions", aliases: []string{"/resume"}, about: "go on with another session", alone: true, run: (*screen).listSessions},
		{name: "/new", about: "begin a new session; this one is kept", alone: true, run: (*screen).newSession},
		{name: "/session", about: "this session, and how to resume it", run: (*screen).showSession},
		{name: "/model", usage: "[PROVIDER:NAME]", about: "the model that answers; with a name, switch to that model", run: (*screen).model,
			offer: (*screen).modelChoices, free: true},
		{name: "/clear", about: "clear the screen; the conversation goes on",
			run: (*screen).clearScreen},
		{name: "/quit", aliases: []string{"/exit", "/q"}, about: "leave",
			run: func(s *screen, _ string) tea.Cmd { s.leave(); return nil }},
	}
}

// strategies are the ways to compact a transcript: docs/agent.md, Compaction.
func strategies() []choice {
	return []choice{
		{text: "summarize", about: "the model summarizes the conversation"},
		{text: "drop", about: "the oldest messages are removed"},
		{text: "checkpoint", about: "the model writes down goal, state and what is open"},
		{text: "delegate", about: "a plugin does it"},
	}
}

// isCommand tells a command from a message that begins with a path: a command is one word that
// begins with a letter, after the only slash. A slash alone counts too.
func isCommand(text string) bool {
	name, _, _ := strings.Cut(text, " ")
	first, _ := utf8.DecodeRuneInString(strings.TrimPrefix(name, "/"))
	return strings.HasPrefix(name, "/") && strings.Count(name, "/") == 1 && !strings.Contains(name, "\n") && (name == "/" || unicode.IsLetter(first))
}

func findCommand(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
		for _, alias := range c.aliases {
			if alias == name {
				return c, true
			}
		}
	}
	return command{}, false
}

// runCommand runs a line that begins with a slash. If it is not our command, it is sent as a
// message, which a plugin may handle at turn.input.
func (s *screen) runCommand(line string) tea.Cmd {
	if send, ok := s.sendPrompt(line); ok {
		return send
	}
	name, arg, _ := strings.Cut(line, " ")
	c, ok := findCommand(name)
	switch {
	case !ok && s.talk.Intercepts():
		return s.send(line)
	case !ok:
		s.printUser(line)
		s.printError(unknownCommand(name))
		return nil
	case c.alone && (s.turn != nil || s.busy != ""):
		s.printWarning(c.name + " has to wait until this is done; Esc interrupts it")
		return nil
	}
	s.printUser(line)
	return c.run(s, strings.TrimSpace(arg))
}

// CommandOf returns the command that a message begins with, such as /help, for programs that send
// messages without a terminal; "" if it begins with none. near is the terminal program's own
// command with that name, or with the most similar one.
func CommandOf(text string) (name, near string) {
	if !isCommand(text) {
		return "", ""
	}
	name, _, _ = strings.Cut(text, " ")
	return name, nearest.Word(name, commandNames())
}

// Reserved reports whether a name with its slash is a command of the terminal program. Prompts and
// plugins cannot use it.
func Reserved(name string) bool {
	_, ok := findCommand(name)
	return ok
}

func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

func unknownCommand(name string) string {
	hint := "/help lists the commands"
	if near := nearest.Word(name, commandNames()); near != "" {
		hint = "did you mean " + near + "?"
	}
	return fmt.Sprintf("there is no command %s: %s\nno plugin takes commands here; a space before it sends it to the model", name, hint)
}

// keyHelp lists what keys do.
func keyHelp() [][2]string {
	return [][2]string{
		{"Enter", "send; while a turn runs, the message waits for its end"},
		{"Alt+Enter, Ctrl+J", "a new line (also Shift+Enter, if the terminal reports it)"},
		{"↑ ↓", "earlier messages, if the cursor is on the first or last line"},
		{"@path", "attach a file of the working directory; Tab completes"},
		{"!command", "run it in your shell; its output is added to the next message"},
		{"Ctrl+R", "search earlier messages; again: an older one; Enter takes it, Esc leaves"},
		{"Ctrl+G", "edit the message in $VISUAL or $EDITOR"},
		{"Tab", "complete a command, its argument or a path"},
		{"Esc", "one step back: interrupts the turn, refuses the tool that asks, closes a menu, goes back in a form"},
		{"Ctrl+C", "interrupts the turn; else clears what is typed; at an empty prompt it leaves, as Ctrl+D does"},
		{"Ctrl+L", "clear the screen, as /clear does; the conversation goes on, the scrollback keeps it"},
		{"Ctrl+Z", "suspend"},
	}
}

func (s *screen) help(string) tea.Cmd {
	var rows [][2]string
	for _, c := range commands() {
		rows = append(rows, [2]string{strings.TrimSpace(c.name + " " + c.usage), c.about})
	}
	rows = append(append(rows, s.prompts.pairs()...), [2]string{})
	s.printPairs(append(rows, keyHelp()...))
	return nil
}

// showTrace draws the events of the last turn, as `patchbay fire --trace` draws one event.
func (s *screen) showTrace(arg string) tea.Cmd {
	t := s.last
	if s.turn != nil {
		t = s.turn
	}
	if t == nil || len(t.points) == 0 {
		s.printNote("there is no trace: no plugin took part in the last turn")
		return nil
	}
	o := s.look.options()
	o.Verbose = arg == "full"
	var b strings.Builder
	for i, out := range t.points {
		if i > 0 {
			b.WriteString("\n")
		}
		if err := render.Trace(&b, out, o); err != nil {
			s.printError(errorText(err))
			return nil
		}
	}
	s.printLines(b.String())
	if t.dropped > 0 {
		s.printNote(fmt.Sprintf("and %s more", render.Count(t.dropped, "event")))
	}
	return nil
}

func (s *screen) showSession(string) tea.Cmd {
	this := s.talk.Session()
	s.printPairs(withValues([][2]string{
		{"session", this.ID},
		{"title", this.Title},
		{"begun", whenText(this.CreatedAt)},
		{"in", s.short(this.WorkingDir)},
		{"resume", s.resume + " " + this.ID},
	}))
	return nil
}

func whenText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}

// A compactedMsg is the end of /compact.
type compactedMsg struct {
	compaction *session.Compaction
	err        error
}

// compact compacts the transcript in the background.
func (s *screen) compact(strategy string) tea.Cmd {
	return s.work("compacting", func(ctx context.Context) tea.Msg {
		c, err := s.talk.Compact(ctx, strategy)
		return compactedMsg{c, err}
	})
}

func (s *screen) compacted(msg compactedMsg) tea.Cmd {
	s.busy, s.stopBusy, s.ended = "", nil, time.Now()
	switch {
	case msg.err != nil:
		s.printError("not compacted: " + errorText(msg.err))
	case msg.compaction == nil:
		s.printNote("there is nothing to compact yet")
	default:
		s.estimateContext(msg.compaction.Messages)
		s.printNote(compactionText(msg.compaction))
	}
	return s.sendQueued()
}
