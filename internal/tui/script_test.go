package tui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// scripted is a conversation that plays a scene for each message: the first word of the message is
// the scene's name. Any other message is echoed.
type scripted struct {
	approve chat.Approver
	gate    string        // a file: waiting scenes continue when it exists
	open    chan struct{} // or when this is closed
	info    model.Info
	past    []model.Message
	others  []SessionRow
	dir     string // the working directory; "": one that does not exist

	intercepts bool // a plugin has its own commands

	running atomic.Int32 // turns

	mu      sync.Mutex // protects the fields below
	saved   map[string]string
	sent    []string
	current string // the session's id; "": the first
}

func newScripted() *scripted {
	return &scripted{info: model.Info{Provider: "test", Name: "scripted", Window: 200_000}, saved: map[string]string{}}
}

func (c *scripted) Sessions(context.Context) ([]SessionRow, bool, error) { return c.others, false, nil }

func (c *scripted) Switch(_ context.Context, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id == "ses_01gone" {
		return session.ErrNotFound
	}
	c.current, c.past = id, nil
	if id == "" {
		c.current = "ses_01new"
	} else {
		c.past = []model.Message{{Role: model.User, Content: "said in " + id}}
	}
	return nil
}

func (c *scripted) Session() session.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return session.Session{ID: cmp.Or(c.current, "ses_01test"), WorkingDir: cmp.Or(c.dir, "/home/somebody/project"), Title: "a test",
		CreatedAt: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *scripted) Intercepts() bool { return c.intercepts }
func (c *scripted) UseModel(name string) error {
	provider, model, err := model.ParseName(name)
	if err == nil {
		c.info.Provider, c.info.Name = provider, model
	}
	return err
}

func (c *scripted) Model() model.Info              { return c.info }
func (c *scripted) Estimate(m []model.Message) int { return 2000 + model.Estimate(m) }
func (c *scripted) History() []model.Message       { return c.past }

func (c *scripted) Plugins() []PluginRow {
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := []PluginRow{
		{Name: "footer", Dialect: "python", State: "ready", Version: "1.0", Hooks: []string{"on_begin", "on_final"}},
		{Name: "git-context", Dialect: "scaffold", State: "ready", Version: "0.3.1",
			Hooks: []string{"context_enhance"}, Tools: []string{"git_log", "git_blame"}},
		{Name: "old", Dialect: "kaged", State: "broken", Version: "2.0.0", Error: "no reply to initialize within 5s"},
	}
	for name := range c.saved {
		rows = append(rows, PluginRow{Name: name, Dialect: "python", State: "ready"})
	}
	return rows
}

func (c *scripted) Tools() []chat.Tool {
	return []chat.Tool{
		{Name: "shell", Description: "Run a shell command in the working directory.", Changes: true},
		{Name: "read_file", Description: "Read a file."},
		{Name: "git_log", Description: "The last commits.", Plugin: "git-context"},
	}
}

func (c *scripted) Send(ctx context.Context, text string, observe func(chat.Event)) (*chat.Result, error) {
	c.running.Add(1)
	defer c.running.Add(-1)
	c.mu.Lock()
	c.sent = append(c.sent, text)
	c.mu.Unlock()
	word, _, _ := strings.Cut(text, " ")
	p := &player{ctx: ctx, c: c, observe: observe, text: text}
	p.emit(chat.Event{Type: chat.TurnStarted, Text: text})
	play, ok := scenes[word]
	if !ok {
		play = (*player).echo
	}
	result, err := play(p)
	p.emit(chat.Event{Type: chat.TurnFinished, Result: result})
	return result, err
}

func (c *scripted) Shell(ctx context.Context, line string, progress func(string)) (string, error) {
	switch line {
	case "hang":
		progress("one\ntwo\nthree\nfour\n")
		<-ctx.Done()
		return "", ctx.Err()
	case "long":
		var b strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&b, "line %d é\n", i)
		}
		return b.String() + "[exit code 3]", nil
	case "refused":
		return "", errors.New("sh was refused by plugin guard")
	}
	return strings.Repeat("output of "+line+"\n", 3), nil
}

func (c *scripted) Compact(ctx context.Context, strategy string) (*session.Compaction, error) {
	switch strategy {
	case "delegate":
		return nil, errors.New("no plugin compacts")
	case "checkpoint": // never ends
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &session.Compaction{Strategy: "summarize", Trigger: "manual", Before: 40,
		Messages: make([]model.Message, 6)}, nil
}

func (c *scripted) Generate(ctx context.Context, d PluginDraft) (string, error) {
	if strings.Contains(d.Description, "unable") && d.Previous == "" {
		return "", errors.New("the model is not there")
	}
	body := "    pass\n"
	if strings.Contains(d.Description, "broken") && d.Feedback == "" {
		body = "    pass)\n"
	}
	return fmt.Sprintf("\"\"\"%s\"\"\"\n__plugin__ = {\"api\": \"1.0\", \"name\": %q}\n\n@on_done\nasync def done(ctx):\n%s",
		d.Description, d.Name, body), nil
}

func (c *scripted) Validate(_ context.Context, _, content string) error {
	if strings.Contains(content, "pass)") {
		return errors.New("line 6: unmatched ')'")
	}
	return nil
}

func (c *scripted) Save(_ context.Context, name, content string, replace bool) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	path := "/home/somebody/.agent/plugins/" + name + ".py"
	if _, there := c.saved[name]; there && !replace {
		return path, fmt.Errorf("plugin %s: %w", name, fs.ErrExist)
	}
	c.saved[name] = content
	return path, nil
}

// A player plays one scene.
type player struct {
	ctx     context.Context
	c       *scripted
	observe func(chat.Event)
	text    string
}

func (p *player) emit(e chat.Event) {
	e.Session, e.Turn, e.Time = "ses_01test", "turn_1", time.Now()
	p.observe(e)
}

func (p *player) say(pieces ...string) {
	for _, piece := range pieces {
		p.emit(chat.Event{Type: chat.TextDelta, Text: piece})
	}
}

func (p *player) reply(text string) {
	p.emit(chat.Event{Type: chat.ModelReplied, Text: text, Usage: model.Usage{Input: 12_000, Output: 56}})
}

func (p *player) done(text string) (*chat.Result, error) {
	return &chat.Result{Text: text, Status: session.Done, Usage: model.Usage{Input: 1234, Output: 56}}, nil
}

// wait waits for the gate, or for the end of the turn.
func (p *player) wait() error {
	for {
		var again <-chan time.Time
		if p.c.gate != "" {
			if _, err := os.Stat(p.c.gate); err == nil {
				return nil
			}
			again = time.After(10 * time.Millisecond)
		}
		select {
		case <-p.ctx.Done():
			return p.ctx.Err()
		case <-p.c.open:
			return nil
		case <-again:
		}
	}
}

func (p *player) interrupted(text string) (*chat.Result, error) {
	why := "interrupted"
	return &chat.Result{Text: text, Status: session.Interrupted, Error: &why}, fmt.Errorf("interrupted: %w", context.Canceled)
}

// fire fires an event through a real bus, so that the trace is real.
func (p *player) fire(point hook.Point, payload string, hooks ...hook.Hook) *hook.Outcome {
	var bus hook.Bus
	for i := range hooks {
		hooks[i].Point = point
	}
	if err := bus.Set(hooks); err != nil {
		panic(err)
	}
	out, _ := bus.Fire(context.WithoutCancel(p.ctx), point, json.RawMessage(payload))
	trace := out.Trace()
	p.emit(chat.Event{Type: chat.Point, Outcome: &trace})
	return out
}

func sets(plugin, name, field, value string) hook.Hook {
	return hook.Hook{Plugin: plugin, Dialect: "python", Name: name, Call: func(context.Context, *hook.Event) (hook.Reply, error) {
		return hook.Reply{Set: hook.Object{{Name: field, Value: rawjson.String(value)}}}, nil
	}}
}

func fails(plugin, name, why string) hook.Hook {
	return hook.Hook{Plugin: plugin, Dialect: "scaffold", Name: name, Call: func(context.Context, *hook.Event) (hook.Reply, error) {
		return hook.Reply{}, errors.New(why)
	}}
}

func (p *player) tool(name, args string) *chat.ToolUse {
	u := &chat.ToolUse{Name: name, CallID: name + "_1", Arguments: json.RawMessage(args)}
	p.emit(chat.Event{Type: chat.ToolStarted, Tool: u})
	return u
}

func (p *player) output(u *chat.ToolUse, text string) {
	p.emit(chat.Event{Type: chat.ToolOutput, Tool: u, Text: text})
}

// finish ends a tool call. The terminal still reads u, so it gets a copy.
func (p *player) finish(u *chat.ToolUse, result string, success bool) {
	finished := *u
	u = &finished
	u.Result, u.Success, u.DurationMS = result, success, 1500
	if !success {
		u.Error = "exit code 1"
	}
	p.emit(chat.Event{Type: chat.ToolFinished, Tool: u})
}

// scenes lists the scenes.
var scenes = map[string]func(*player) (*chat.Result, error){
	"markdown":  func(p *player) (*chat.Result, error) { p.say(document); p.reply(document); return p.done(document) },
	"footer":    (*player).footer,
	"tool":      (*player).runTool,
	"ask":       (*player).ask,
	"both":      (*player).askBoth,
	"table":     (*player).table,
	"overwrite": (*player).overwrite,
	"hang":      (*player).hang,
	"long":      (*player).long,
	"essay":     (*player).essay,
	"letter":    (*player).letter,
	"burst": func(p *player) (*chat.Result, error) { // more than a screen of code, in one piece
		text := "```go\n" + strings.Join(numbered("burst line %03d\n", 60), "")
		p.say(text)
		if err := p.wait(); err != nil {
			return p.interrupted(text)
		}
		return p.done(text)
	},
	"prose": (*player).prose,
	"evil":  (*player).evil,
	"held":  (*player).held,
	"skip": func(p *player) (*chat.Result, error) {
		return &chat.Result{Skipped: true, Status: session.Skipped, Reason: "no secrets in prompts", Suggest: "take the key out"}, nil
	},
	"fail": func(p *player) (*chat.Result, error) {
		p.say("half an ")
		why := "model: 503"
		return &chat.Result{Status: session.Failed, Error: &why}, errors.New("model: 503 service unavailable")
	},
	"stuck": func(p *player) (*chat.Result, error) { // in a plugin, until the user interrupts
		<-p.ctx.Done()
		p.fire(hook.TurnInput, `{"message":"x"}`, hook.Hook{Plugin: "slow", Dialect: "scaffold", Name: "post_user_input",
			Call: func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, context.Cause(p.ctx) }})
		return p.interrupted("")
	},
	"slow": func(p *player) (*chat.Result, error) { // one plugin answers late, and then the model does
		p.fire(hook.ToolBefore, `{}`, hook.Hook{Plugin: "guard", Dialect: "mine", Name: "pretool",
			Call: func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, p.wait() }})
		if err := p.wait(); err != nil {
			return p.interrupted("")
		}
		return p.done("")
	},
	"retry": func(p *player) (*chat.Result, error) {
		p.say("void text")
		p.emit(chat.Event{Type: chat.Retrying, Text: "the stream broke off"})
		p.say("good text")
		p.reply("good text")
		return p.done("good text")
	},
}

func (p *player) echo() (*chat.Result, error) {
	text := "you said: " + p.text
	p.say(text)
	p.reply(text)
	return p.done(text)
}

// held plays a reply that plugins see first.
func (p *player) held() (*chat.Result, error) {
	p.emit(chat.Event{Type: chat.TextHeld, Held: 1234})
	if err := p.wait(); err != nil {
		return p.interrupted("")
	}
	p.reply("seen by all")
	return p.done("seen by all")
}

// footer streams a text that a plugin then changes.
func (p *player) footer() (*chat.Result, error) {
	p.say("the streamed ", "answer")
	if err := p.wait(); err != nil {
		return p.interrupted("the streamed answer")
	}
	p.reply("the streamed answer")
	p.fire(hook.TurnFinal, `{"text":"the streamed answer"}`,
		sets("footer", "on_final", "text", "the final answer\n\n---\nby footer"))
	return p.done("the final answer\n\n---\nby footer")
}

// runTool says something, runs a tool that prints, and summarizes.
func (p *player) runTool() (*chat.Result, error) {
	p.fire(hook.TurnInput, `{"message":"tool"}`, sets("tagger", "post_user_input", "message", "tool #tagged"),
		fails("old", "post_user_input", "pipe closed"))
	p.say("I will run the tests.")
	p.reply("I will run the tests.")
	u := p.tool("shell", `{"cmd":"go test ./..."}`)
	p.output(u, "ok  \tpkg/a\t0.1s\nok  \tpkg/b\t0.2s\n")
	if err := p.wait(); err != nil {
		return p.interrupted("")
	}
	p.finish(u, "ok pkg/a\nok pkg/b\nok pkg/c\nok pkg/d\nok pkg/e\nok pkg/f\n", true)
	p.finish(p.tool("read_file", `{"path":"missing.txt"}`), "", false)
	p.say("All tests pass.")
	p.reply("All tests pass.")
	return p.done("All tests pass.")
}

// ask runs a tool that asks first.
func (p *player) ask() (*chat.Result, error) {
	args := `{"path":"greeting.txt","old":"one\ntwo\nthree","new":"one\n2\nthree"}`
	u := p.tool("edit_file", args)
	answer, err := p.c.approve(p.ctx, chat.Tool{Name: "edit_file", Changes: true},
		model.ToolCall{ID: u.CallID, Name: "edit_file", Arguments: json.RawMessage(args)})
	if err != nil {
		return p.interrupted("")
	}
	if !answer.Allowed {
		p.finish(u, answer.Reason, false)
		return p.done("I may not.")
	}
	p.finish(u, "edited", true)
	return p.done("It is done.")
}

// askBoth asks about two calls that run in parallel.
func (p *player) askBoth() (*chat.Result, error) {
	var calls sync.WaitGroup
	for _, name := range []string{"edit_file", "write_file"} {
		u := p.tool(name, `{}`)
		calls.Go(func() {
			_, _ = p.c.approve(p.ctx, chat.Tool{Name: name, Changes: true}, model.ToolCall{ID: u.CallID, Name: name, Arguments: u.Arguments}) // refused or not, it ends
		})
	}
	calls.Wait()
	return p.done("Both are done.")
}

func (p *player) hang() (*chat.Result, error) {
	p.say("I begin")
	<-p.ctx.Done()
	return p.interrupted("I begin")
}

// long streams more than a screen, at the pace of a fast model.
func (p *player) long() (*chat.Result, error) {
	var all strings.Builder
	for i := range 120 {
		line := fmt.Sprintf("- long line %03d\n", i)
		all.WriteString(line)
		p.say(line)
		select {
		case <-p.ctx.Done():
			return p.interrupted(all.String())
		case <-time.After(3 * time.Millisecond):
		}
	}
	p.reply(all.String())
	return p.done(all.String())
}

// essay streams paragraphs, code and a list, each longer than a small screen, and waits in the
// middle.
func (p *player) essay() (*chat.Result, error) {
	var all strings.Builder
	for i := range 120 {
		line := fmt.Sprintf("essay line %03d\n", i)
		switch {
		case i < 40:
			line += "\n"
		case i == 40:
			line = "```go\n" + line
		case i == 79:
			line += "```\n"
		case i >= 80:
			line = "- " + line
		}
		all.WriteString(line)
		p.say(line)
		if i == 60 {
			if err := p.wait(); err != nil {
				return p.interrupted(all.String())
			}
		}
	}
	all.WriteString("\nthe essay ends")
	p.say("\nthe essay ends")
	p.reply(all.String())
	return p.done(all.String())
}

// letter streams a few short paragraphs, and waits before the last.
func (p *player) letter() (*chat.Result, error) {
	text := ""
	for i := range 7 {
		text += fmt.Sprintf("letter line %03d\n\n", i)
	}
	p.say(text)
	if err := p.wait(); err != nil {
		return p.interrupted(text)
	}
	p.say("the letter ends")
	p.reply(text + "the letter ends")
	return p.done(text + "the letter ends")
}

// prose streams one paragraph of 80 words, which is four lines in a terminal of 200 columns, and
// waits before the last words.
func (p *player) prose() (*chat.Result, error) {
	text := ""
	for i := range 80 {
		text += fmt.Sprintf("word-%03d ", i)
		p.say(fmt.Sprintf("word-%03d ", i))
	}
	if err := p.wait(); err != nil {
		return p.interrupted(text)
	}
	p.say("the prose ends")
	p.reply(text + "the prose ends")
	return p.done(text + "the prose ends")
}

// table streams a table that is wider and taller than a small screen, and waits before its last
// row. Until then nothing of it can be printed, because a wide cell changes all rows.
func (p *player) table() (*chat.Result, error) {
	text := "| number | what the number means |\n|---|---|\n"
	for i := range 40 {
		text += fmt.Sprintf("| cell %03d | %s |\n", i, strings.Repeat("meaning ", 20))
	}
	p.say(text)
	if err := p.wait(); err != nil {
		return p.interrupted(text)
	}
	p.say("| cell 040 | last |\n")
	p.reply(text + "| cell 040 | last |\n")
	return p.done(text + "| cell 040 | last |\n")
}

// overwrite asks whether a file of 60 long lines may be written.
func (p *player) overwrite() (*chat.Result, error) {
	content := ""
	for i := range 60 {
		content += fmt.Sprintf("content %03d %s\n", i, strings.Repeat("and more ", 20))
	}
	args := fmt.Sprintf(`{"path":"greeting.txt","content":%s}`, rawjson.String(content))
	if _, err := p.c.approve(p.ctx, chat.Tool{Name: "write_file", Changes: true},
		model.ToolCall{ID: "write_1", Name: "write_file", Arguments: json.RawMessage(args)}); err != nil {
		return p.interrupted("")
	}
	return p.done("It is written.")
}

// hostile is text with control sequences.
const hostile = "red \x1b[31malert\x1b[0m title \x1b]0;owned\x07 ref &#27;[2J &#x1b;]52;c;eA==&#7; hide &#27;[8msecret\u202e"

func (p *player) evil() (*chat.Result, error) {
	p.say(hostile)
	u := p.tool("shell", `{"cmd":"printf '\u001b[2J'"}`)
	p.output(u, hostile+"\n")
	p.finish(u, hostile, true)
	return p.done(hostile)
}

const document = `# A title

Some **bold** and *slanted* text with ` + "`code`" + ` in it, long enough to be wrapped at least once on a terminal.

- one
- two
  - deeper

| name | value |
|---|---|
| a | 1 |

` + "```go\nfunc main() {\n\tfmt.Println(\"hello\") // a comment\n}\n```" + `

> quoted

See [the page](https://example.com/page).`
