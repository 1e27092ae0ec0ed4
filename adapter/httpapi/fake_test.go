package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/feature"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A fake is a backend in memory.
type fake struct {
	sources  *fakeSources
	features *fakeFeatures
	sessions *fakeSessions
	turns    *fakeTurns
	inspect  *fakeInspect
	events   *fakeEvents
}

func newFake() *fake {
	f := &fake{features: &fakeFeatures{on: map[string]bool{feature.Plugins: false}}, inspect: &fakeInspect{ok: true}, events: newFakeEvents()}
	f.sources = &fakeSources{known: map[string]Source{}}
	f.sessions = &fakeSessions{sources: f.sources, known: map[string]session.Session{}}
	f.turns = &fakeTurns{sessions: f.sessions, started: make(chan struct{}, 8), ended: make(chan error, 8)}
	return f
}

func (f *fake) backend() Backend {
	return Backend{Sources: f.sources, Features: f.features, Sessions: f.sessions, Turns: f.turns, Inspect: f.inspect,
		Calls: f.inspect, Events: f.events, Hooks: &fakeHooks{}, Yielder: &fakeHooks{}}
}

func (f *fakeSources) Parse(_ context.Context, content string) (SourceCheck, error) {
	return SourceCheck{OK: !strings.HasSuffix(content, "(")}, nil
}

// fakeSources finds hooks by their decorators. Code that ends with an open bracket is broken.
type fakeSources struct {
	mu    sync.Mutex // protects known
	known map[string]Source
}

var decorator = regexp.MustCompile(`(?m)^@(on_\w+)`)

func (f *fakeSources) parse(name, content string) (Source, error) {
	if strings.HasSuffix(content, "(") {
		return Source{}, &InvalidCodeError{Reason: "SyntaxError: '(' was never closed"}
	}
	s := Source{Name: name, Path: "/Users/user/.agent/plugins/" + name + ".py", Content: content,
		Metadata: json.RawMessage(`{"api": "1.0", "name": "` + name + `"}`)}
	for _, m := range decorator.FindAllStringSubmatch(content, -1) {
		s.Hooks = append(s.Hooks, m[1])
	}
	return s, nil
}

func (f *fakeSources) put(s Source) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[s.Name] = s
}

func (f *fakeSources) List(context.Context) ([]Source, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(maps.Values(f.known), func(a, b Source) int { return strings.Compare(a.Name, b.Name) }), nil
}

func (f *fakeSources) Get(_ context.Context, name string) (Source, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.known[name]
	if !ok {
		return Source{}, ErrNoPlugin
	}
	return s, nil
}

func (f *fakeSources) Save(_ context.Context, name, content string) (Source, error) {
	s, err := f.parse(name, content)
	if err == nil {
		f.put(s)
	}
	return s, err
}

func (f *fakeSources) Delete(ctx context.Context, name string) error {
	_, err := f.Get(ctx, name)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, name)
	return err
}

func (f *fakeSources) Reload(ctx context.Context, name string) (Source, error) {
	return f.Get(ctx, name)
}

func (f *fakeSources) Validate(_ context.Context, name, content string) (Source, error) {
	return f.parse(name, content)
}

type fakeFeatures struct {
	mu sync.Mutex // protects on
	on map[string]bool
}

func (f *fakeFeatures) List(ctx context.Context) ([]feature.Feature, error) {
	var all []feature.Feature
	for _, name := range slices.Sorted(maps.Keys(f.on)) {
		one, err := f.Get(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (f *fakeFeatures) Get(_ context.Context, name string) (feature.Feature, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	on, ok := f.on[name]
	if !ok {
		return feature.Feature{}, feature.ErrUnknown
	}
	return feature.Feature{Name: name, Description: "Enable plugin system for agent customization", Stage: "experimental", Enabled: on}, nil
}

func (f *fakeFeatures) Set(ctx context.Context, name string, on bool) (feature.Feature, error) {
	if _, err := f.Get(ctx, name); err != nil {
		return feature.Feature{}, err
	}
	f.mu.Lock()
	f.on[name] = on
	f.mu.Unlock()
	return f.Get(ctx, name)
}

type fakeSessions struct {
	sources *fakeSources
	mu      sync.Mutex // protects known
	known   map[string]session.Session
}

func (f *fakeSessions) checkPlugins(ctx context.Context, names []string) error {
	var unknown []string
	for _, n := range names {
		if _, err := f.sources.Get(ctx, n); err != nil {
			unknown = append(unknown, n)
		}
	}
	if unknown != nil {
		return &UnknownPluginsError{Names: unknown}
	}
	return nil
}

func (f *fakeSessions) Create(ctx context.Context, r SessionRequest) (session.Session, error) {
	if err := f.checkPlugins(ctx, r.Plugins); err != nil {
		return session.Session{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := session.Session{ID: "ses_" + string(rune('a'+len(f.known))), Plugins: r.Plugins, WorkingDir: r.WorkingDir, Title: r.Title,
		CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	f.known[s.ID] = s
	return s, nil
}

func (f *fakeSessions) List(context.Context) ([]session.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.known)), nil
}

// Page has cursors that are the ids of the sessions before them.
func (f *fakeSessions) Page(_ context.Context, r session.PageRequest) (session.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.known[r.Cursor]; !ok && r.Cursor != "" {
		return session.Page{}, session.ErrCursor
	}
	page := session.Page{Sessions: []session.Session{}}
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(f.known))) {
		switch {
		case r.Cursor != "" && id >= r.Cursor:
		case r.Limit > 0 && len(page.Sessions) == r.Limit:
			page.Next = page.Sessions[r.Limit-1].ID
			return page, nil
		default:
			page.Sessions = append(page.Sessions, f.known[id])
		}
	}
	return page, nil
}

func (f *fakeSessions) Get(_ context.Context, id string) (session.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.known[id]
	if !ok {
		return s, session.ErrNotFound
	}
	return s, nil
}

func (f *fakeSessions) Update(ctx context.Context, id string, u SessionUpdate) (session.Session, error) {
	s, err := f.Get(ctx, id)
	if err != nil {
		return s, err
	}
	if u.Plugins != nil {
		if err := f.checkPlugins(ctx, *u.Plugins); err != nil {
			return s, err
		}
		s.Plugins = *u.Plugins
	}
	if u.Title != nil {
		s.Title = *u.Title
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[id] = s
	return s, nil
}

func (f *fakeSessions) Delete(ctx context.Context, id string) error {
	_, err := f.Get(ctx, id)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, id)
	return err
}

func (f *fakeSessions) Transcript(ctx context.Context, id string) ([]session.Entry, error) {
	_, err := f.Get(ctx, id)
	return []session.Entry{{Sequence: 1, Turn: "t1", Message: &model.Message{Role: "user", Content: "hello"}}}, err
}

// fakeTurns echoes. Some texts make it misbehave.
type fakeTurns struct {
	sessions *fakeSessions
	started  chan struct{}
	ended    chan error // the error of each turn's context, at its end
}

// The misbehaviours of a turn.
const (
	hang   = "hang"  // until it is interrupted
	busy   = "busy"  // runs elsewhere
	late   = "late"  // takes longer than the test's BodyTime
	fall   = "fall"  // panics after an event
	breaks = "break" // fails after an event
	flood  = "flood" // sends events until it is interrupted
)

var errTurn = errors.New("the engine said hunter2")

func (f *fakeTurns) Run(ctx context.Context, id, text string, observe func(string, json.RawMessage)) (json.RawMessage, error) {
	if _, err := f.sessions.Get(ctx, id); err != nil {
		return nil, err
	}
	defer func() { f.ended <- ctx.Err() }()
	if text == busy {
		return nil, &session.BusyError{Session: id, Owner: "pid 7"}
	}
	if observe != nil {
		observe("turn.started", json.RawMessage("{\n \"type\": \"turn.started\"\n}"))
	}
	f.started <- struct{}{}
	switch text {
	case hang:
		<-ctx.Done()
		return nil, ctx.Err()
	case late:
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(outlivedTime + time.Second):
		}
	case fall:
		panic("fell over hunter2")
	case breaks:
		return nil, errTurn
	case flood:
		for big := json.RawMessage(`"` + strings.Repeat("x", 1<<16) + `"`); ctx.Err() == nil; {
			observe("text", big)
		}
	}
	return json.Marshal(map[string]any{"session_id": id, "text": "echo: " + text, "skipped": false, "tools": []string{}, "error": nil})
}

func (f *fakeTurns) Interrupt(ctx context.Context, id string) (bool, error) {
	_, err := f.sessions.Get(ctx, id)
	return false, err
}

// fakeInspect answers with what it was asked.
type fakeInspect struct {
	ok          bool
	unencodable bool // tools
	asked       TraceFilter
}

func (f *fakeInspect) Plugins(context.Context) (any, error) {
	return []map[string]string{{"name": "git-context", "dialect": "scaffold"}}, nil
}

func (f *fakeInspect) Plugin(_ context.Context, name string) (any, error) {
	if name != "git-context" {
		return nil, ErrNoPlugin
	}
	return map[string]string{"name": name}, nil
}

func (f *fakeInspect) Latencies(context.Context) (Latencies, error) {
	return Latencies{map[string][]uint32{"logger": {7}}}, nil
}

func (f *fakeInspect) Tools(context.Context) (any, error) {
	if f.unencodable {
		return func() {}, nil
	}
	return json.RawMessage(`[{"name":"git.log"}]`), nil
}

func (f *fakeInspect) Doctor(context.Context) (any, error) { panic("doctor fell over hunter2") }

func (f *fakeInspect) Trace(context.Context, uint64) (TraceView, error) {
	return TraceView{}, ErrNoTrace
}

func (f *fakeInspect) Pipeline(context.Context) (any, error) { return nil, nil }

func (f *fakeInspect) Turns(context.Context, TurnFilter) (TurnPage, error) { return TurnPage{}, nil }

// Recording writes its arguments. The turn "none" does not exist, and the turn "torn" fails after
// the first write.
func (f *fakeInspect) Recording(_ context.Context, session, turn string, to io.Writer) error {
	if turn == "none" {
		return ErrNoTurn
	}
	fmt.Fprintf(to, "%s %s\n", session, turn)
	if turn == "torn" {
		return errors.New("the disk is gone")
	}
	return nil
}

func (f *fakeInspect) Traces(_ context.Context, t TraceFilter) (TracePage, error) {
	f.asked = t
	return TracePage{Traces: []TraceView{}}, nil
}

func (f *fakeInspect) Health(context.Context) (any, bool) { return map[string]bool{"ok": f.ok}, f.ok }

func (f *fakeInspect) CallTool(_ context.Context, name string, args json.RawMessage, trace bool) (ToolResult, error) {
	if name != "git.log" {
		return ToolResult{}, ErrNoTool
	}
	if trace {
		return ToolResult{Tool: name, Step: &Step{Plugin: "git", Sent: args}}, nil
	}
	return ToolResult{Tool: name, Success: true, Result: string(args)}, nil
}

func (f *fakeInspect) Fire(_ context.Context, point hook.Point, data json.RawMessage, trace bool) (Outcome, error) {
	return Outcome{Point: string(point), Verdict: "deny", Payload: data, Steps: []Step{}, By: map[bool]string{true: "traced"}[trace]}, nil
}

// fakeEvents is a stream of events in memory.
type fakeEvents struct {
	mu     sync.Mutex // protects the fields below
	all    []Event
	more   chan struct{} // closed when there is one more
	first  uint64
	broken error // what Follow returns when it has sent all there is; nil: it waits

	ended chan error // what each Follow returned
}

func newFakeEvents() *fakeEvents {
	return &fakeEvents{more: make(chan struct{}), first: 1, ended: make(chan error, 8)}
}

func (f *fakeEvents) add(kind, data string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, Event{ID: f.first + uint64(len(f.all)), Kind: kind, Data: json.RawMessage(data)})
	close(f.more)
	f.more = make(chan struct{})
}

// addAt adds an event with this id, which is also its data, and sets the id of the first event.
func (f *fakeEvents) addAt(id, first uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first = first
	f.all = append(f.all, Event{ID: id, Kind: "e", Data: strconv.AppendUint(nil, id, 10)})
	close(f.more)
	f.more = make(chan struct{})
}

func (f *fakeEvents) Range(context.Context) (first, last uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all) == 0 {
		return f.first, f.first - 1, nil
	}
	return f.first, f.all[len(f.all)-1].ID, nil
}

func (f *fakeEvents) after(id uint64) ([]Event, chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	start := slices.IndexFunc(f.all, func(e Event) bool { return e.ID > id })
	if start < 0 {
		return nil, f.more, f.broken
	}
	return slices.Clone(f.all[start:]), f.more, nil
}

func (f *fakeEvents) Follow(ctx context.Context, filter EventFilter, each func(Event) error) (err error) {
	defer func() { f.ended <- err }()
	for {
		events, more, broken := f.after(filter.After)
		for _, e := range events {
			filter.After = e.ID
			if filter.Session != "" && !strings.Contains(string(e.Data), filter.Session) {
				continue
			}
			if err := each(e); err != nil {
				return err
			}
		}
		if broken != nil {
			return broken
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
		}
	}
}
