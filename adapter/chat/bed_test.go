package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/rawjson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A testBed is an agent in a test. It has a real bus with functions as plugins, a model that plays
// replies, and a record of everything that happened.
type testBed struct {
	Agent
	t      *testing.T
	bus    hook.Bus
	hooks  []hook.Hook
	player *player
	log    *MemoryLog
	tools  []Tool

	mu     sync.Mutex // protects the fields below
	events []Event
	fired  []string // the points, in order
}

func newTestBed(t *testing.T, replies ...play) *testBed {
	b := &testBed{t: t, log: NewMemoryLog(), player: &player{replies: replies, window: 100_000}}
	b.Agent = Agent{Host: b, Model: b.player, Tools: func() []Tool { return b.tools }}
	return b
}

// Fire implements Host with a bus.
func (b *testBed) Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error) {
	raw, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.fired = append(b.fired, string(point))
	b.mu.Unlock()
	return b.bus.Fire(ctx, point, raw)
}

// Alters implements Host.
func (b *testBed) Alters(ctx context.Context, point hook.Point) bool { return b.bus.Alters(ctx, point) }

// plug adds a plugin's hook.
func (b *testBed) plug(plugin string, point hook.Point, call func(ctx context.Context, ev *hook.Event) (hook.Reply, error)) *hook.Hook {
	b.hooks = append(b.hooks, hook.Hook{Plugin: plugin, Dialect: "test", Name: "h", Point: point, Position: len(b.hooks), Call: call})
	return &b.hooks[len(b.hooks)-1]
}

// answer adds a plugin that always returns the same reply.
func (b *testBed) answer(plugin string, point hook.Point, r hook.Reply) *hook.Hook {
	return b.plug(plugin, point, func(context.Context, *hook.Event) (hook.Reply, error) { return r, nil })
}

// tap adds a plugin that changes nothing, and returns the payloads that it gets.
func (b *testBed) tap(point hook.Point) *payloads {
	p := &payloads{t: b.t}
	b.plug("tap", point, func(ctx context.Context, ev *hook.Event) (hook.Reply, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen = append(p.seen, ev.Payload)
		p.requests = append(p.requests, hook.Request(ctx))
		return hook.Reply{}, ctx.Err()
	})
	return p
}

// tool adds a tool that accepts any arguments.
func (b *testBed) tool(name string, run func(ctx context.Context, c Call) (ToolResult, error)) *Tool {
	b.tools = append(b.tools, Tool{Name: name, Run: run})
	return &b.tools[len(b.tools)-1]
}

// says adds a tool that always succeeds with the same output.
func (b *testBed) says(name, output string) *Tool {
	return b.tool(name, func(context.Context, Call) (ToolResult, error) {
		return ToolResult{Output: output, Success: true}, nil
	})
}

func (b *testBed) turn(text string) Turn {
	return Turn{ID: "turn_1", Session: session.Session{ID: "ses_1", WorkingDir: "/work dir"}, Log: b.log, Text: text, Observe: b.observe}
}

// observe is not synchronized: the race detector would find two calls at once.
func (b *testBed) observe(e Event) { b.events = append(b.events, e) }

// try runs one turn.
func (b *testBed) try(ctx context.Context, text string) (*Result, error) {
	b.t.Helper()
	if err := b.bus.Set(slices.Clone(b.hooks)); err != nil {
		b.t.Fatal(err)
	}
	return b.Run(ctx, b.turn(text))
}

// run runs one turn that must succeed.
func (b *testBed) run(text string) *Result {
	b.t.Helper()
	result, err := b.try(b.t.Context(), text)
	if err != nil {
		b.t.Fatalf("run: %v", err)
	}
	return result
}

// transcript returns the log, one message a line.
func (b *testBed) transcript() string { return lines(b.log.Messages()) }

func lines(messages []model.Message) string {
	var out []string
	for _, m := range messages {
		line := string(m.Role) + ": " + m.Content
		for _, c := range m.ToolCalls {
			line += fmt.Sprintf(" %s%s", c.Name, c.Arguments)
		}
		if m.Failed {
			line += " (failed)"
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// of returns the events of a type.
func (b *testBed) of(t EventType) []Event {
	return slices.DeleteFunc(slices.Clone(b.events), func(e Event) bool { return e.Type != t })
}

// payloads holds the payloads that one plugin got.
type payloads struct {
	t        *testing.T
	mu       sync.Mutex // protects the fields below
	seen     []hook.Object
	requests []string
}

func (p *payloads) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.seen)
}

// field returns a field of the nth payload, as raw JSON.
func (p *payloads) field(n int, name string) string {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if n >= len(p.seen) {
		p.t.Fatalf("only %d events came", len(p.seen))
	}
	return string(p.seen[n].Get(name))
}

func set(pairs ...string) hook.Object {
	var out hook.Object
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, hook.Field{Name: pairs[i], Value: rawjson.String(pairs[i+1])})
	}
	return out
}

func raw(name, value string) hook.Object {
	return hook.Object{{Name: name, Value: json.RawMessage(value)}}
}

// A play is one reply of a model.
type play func(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error)

// say returns a reply that is streamed word by word.
func say(text string, calls ...model.ToolCall) play {
	return func(_ context.Context, _ *model.Request, stream func(model.Delta)) (*model.Response, error) {
		if stream != nil {
			for _, word := range strings.SplitAfter(text, " ") {
				stream(model.Delta{Text: word})
			}
		}
		return &model.Response{Text: text, ToolCalls: calls, Usage: model.Usage{Input: 10, Output: 2}}, nil
	}
}

// fail returns a model reply that is an error.
func fail(err error) play {
	return func(context.Context, *model.Request, func(model.Delta)) (*model.Response, error) { return nil, err }
}

func call(id, name, arguments string) model.ToolCall {
	return model.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

// A player is a model that plays replies in order, and then says "done".
type player struct {
	window int

	mu       sync.Mutex // protects the fields below
	replies  []play
	requests []model.Request
}

func (p *player) Info() model.Info {
	return model.Info{Provider: "test", Name: "player", Window: p.window}
}

func (p *player) Reply(ctx context.Context, req *model.Request, stream func(model.Delta)) (*model.Response, error) {
	p.mu.Lock()
	p.requests = append(p.requests, *req)
	next := say("done")
	if len(p.replies) > 0 {
		next, p.replies = p.replies[0], p.replies[1:]
	}
	p.mu.Unlock()
	return next(ctx, req, stream)
}
