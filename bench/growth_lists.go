package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/bench/drive"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

func nameSessions(n int) string { return "among " + thousands(int64(n)) }
func nameForeign(n int) string  { return "beside " + thousands(int64(n)) + " foreign keys" }
func nameEvents(n int) string   { return "among " + thousands(int64(n)) + " events" }

// manyEvents is how many events there are after the oldest turn when its traces are requested.
const manyEvents = 50_000

// seedSessions writes the records of n sessions.
func seedSessions(n int) homeFiller {
	return func(ctx context.Context, home string) error {
		return withEngine(ctx, home, func(e *engine.Engine) error {
			begin := time.Now().Add(-time.Duration(n) * time.Second)
			for i := range n {
				if err := seedRecord(ctx, e, home, fmt.Sprintf("ses_bench%06d", i), begin.Add(time.Duration(i)*time.Second)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// measureList times a page of sessions, among 50 and among 5,000. An older daemon without the limit
// parameter lists them all.
func measureList(ctx context.Context, e effort) ([]Series, error) {
	const page = 50
	return withDaemons(ctx, e, seedSessions(page), func(few []*side) ([]Series, error) {
		return withDaemons(ctx, e, seedSessions(5000), func(many []*side) ([]Series, error) {
			var entrants []entrant
			for i := range few {
				entrants = append(entrants,
					entrant{few[i].prefix + nameSessions(page), few[i].list(page)},
					entrant{many[i].prefix + nameSessions(5000), many[i].list(page)})
			}
			return roundRobin(ctx, e.of(15), entrants)
		})
	})
}

func (s *side) list(limit int) turn {
	return timedCalls(5, func(ctx context.Context) error {
		var list []struct {
			ID string `json:"id"`
		}
		if err := s.client.List(ctx, fmt.Sprintf("/v1/sessions?limit=%d", limit), "sessions", &list); err != nil {
			return err
		}
		if len(list) < limit {
			return fmt.Errorf("%d sessions are listed, wanted %d at least", len(list), limit)
		}
		return nil
	})
}

const (
	// kagedPrefix starts the file name of a kaged plugin, from which the process learns what to run
	// as.
	kagedPrefix = "bench-kaged-"
	ownKeys     = 10
)

// kagedChild is a plugin of the kaged dialect. Its tools store keys and list them.
func kagedChild() error {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	var peer *wire.Peer
	hello := fmt.Sprintf(`{"name":%q,"version":"1.0.0","api_version":1,"methods":[],"notifications":[],"capabilities_used":[]}`, name)
	return serveKaged(&peer, map[string]func(json.RawMessage) (json.RawMessage, error){
		"initialize":                  func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(hello), nil },
		"kaged.hook.on_session_start": func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage("null"), nil },
		name + ".fill":                func(p json.RawMessage) (json.RawMessage, error) { return fill(peer, p) },
		name + ".list":                func(json.RawMessage) (json.RawMessage, error) { return listKeys(peer) },
	})
}

// fill stores as many keys as params say.
func fill(peer *wire.Peer, params json.RawMessage) (json.RawMessage, error) {
	var in struct{ From, Keys int }
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, err
	}
	for i := range in.Keys {
		put := fmt.Appendf(nil, `{"key":"key/%d","value":{"n":%d}}`, in.From+i, i)
		if _, err := peer.Call(context.Background(), "kaged.storage.put", put); err != nil {
			return nil, err
		}
	}
	return json.RawMessage(`"filled"`), nil
}

// listKeys returns how many keys there are.
func listKeys(peer *wire.Peer) (json.RawMessage, error) {
	text, err := peer.Call(context.Background(), "kaged.storage.list", json.RawMessage(`{"prefix":""}`))
	if err != nil {
		return nil, err
	}
	var out struct{ Keys []string }
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `"%d"`, len(out.Keys)), nil
}

// kagedHome puts n kaged plugins with tools into a home.
func kagedHome(home string, n int) error { return kagedPlugins(home, kagedPrefix, n) }

// kagedPlugins puts n kaged plugins into a home, each a link to this program. The prefix of their
// names says what they do. They are not confined, because the sandbox is not measured here.
func kagedPlugins(home, prefix string, n int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for i := range n {
		name := fmt.Sprintf("%s%02d", prefix, i)
		dir := filepath.Join(home, ".local", "share", "kaged", "plugins", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		manifest := fmt.Sprintf("name: %s\nversion: 1.0.0\nkaged_api: 1\ndescription: a benchmark\ncommand: [\"./%s\"]\nhooks: [on_session_start]\n"+
			"capabilities: [\"kaged:storage:read\", \"kaged:storage:write\"]\ntools:\n"+
			"  - {name: fill, description: puts keys, parameters_schema: {type: object}}\n  - {name: list, description: lists keys, parameters_schema: {type: object}}\n", name, name)
		if err := os.WriteFile(filepath.Join(dir, "manifest.yaml"), []byte(manifest), 0o600); err != nil {
			return err
		}
		if err := linkOrCopy(self, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(home, "patchbay"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "patchbay", "config.toml"), []byte("sandbox = \"off\"\n"), 0o600)
}

// measureStorageList times a plugin that lists its ten keys: in a daemon in which another plugin
// has no keys, and in one in which it has ten thousand.
func measureStorageList(ctx context.Context, e effort) ([]Series, error) {
	twoKaged := func(_ context.Context, home string) error { return kagedHome(home, 2) }
	return withDaemons(ctx, e, twoKaged, func(alone []*side) ([]Series, error) {
		return withDaemons(ctx, e, twoKaged, func(beside []*side) ([]Series, error) {
			var entrants []entrant
			for i := range alone {
				if err := errors.Join(alone[i].fill(ctx, 0, ownKeys), beside[i].fill(ctx, 0, ownKeys), beside[i].fill(ctx, 1, 10_000)); err != nil {
					return nil, err
				}
				entrants = append(entrants,
					entrant{alone[i].prefix + nameForeign(0), alone[i].listStorage()},
					entrant{beside[i].prefix + nameForeign(10_000), beside[i].listStorage()})
			}
			return roundRobin(ctx, e.of(15), entrants)
		})
	})
}

// fill makes a plugin store keys, in portions small enough that no call takes too long.
func (s *side) fill(ctx context.Context, plugin, keys int) error {
	const atATime = 250
	for from := 0; from < keys; from += atATime {
		if _, err := s.tool(ctx, plugin, "fill", map[string]int{"from": from, "keys": min(atATime, keys-from)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *side) tool(ctx context.Context, plugin int, tool string, arguments any) (string, error) {
	var out struct {
		Success bool   `json:"success"`
		Result  string `json:"result"`
		Error   string `json:"error"`
	}
	path := fmt.Sprintf("/v1/tools/%s%02d.%s/call", kagedPrefix, plugin, tool)
	err := s.client.Call(ctx, "POST", path, map[string]any{"arguments": arguments}, &out)
	if err == nil && !out.Success {
		err = fmt.Errorf("tool %s: %s", tool, out.Error)
	}
	return out.Result, err
}

func (s *side) listStorage() turn {
	return timedCalls(10, func(ctx context.Context) error {
		got, err := s.tool(ctx, 0, "list", map[string]int{})
		if err == nil && got != fmt.Sprint(ownKeys) {
			err = fmt.Errorf("the plugin lists %q keys, wanted %d", got, ownKeys)
		}
		return err
	})
}

// measureTraces times a request for the traces of the first turn, while the journal grows.
func measureTraces(ctx context.Context, e effort) ([]Series, error) {
	return withDaemons(ctx, e, oneScaffold, func(all []*side) ([]Series, error) {
		var out []Series
		for _, events := range []int{manyEvents / 50, manyEvents} {
			var entrants []entrant
			for _, s := range all {
				first, err := s.growJournal(ctx, events)
				if err != nil {
					return nil, err
				}
				entrants = append(entrants, entrant{s.prefix + nameEvents(events), s.traces(first)})
			}
			series, err := roundRobin(ctx, e.of(10), entrants)
			if err != nil {
				return nil, err
			}
			out = append(out, series...)
		}
		return out, nil
	})
}

// growJournal runs turns until there are that many events, and returns the id of the first turn.
func (s *side) growJournal(ctx context.Context, events int) (turn string, err error) {
	var last uint64
	for from := uint64(0); int(last) < events; {
		if err := s.runSessions(ctx, 8, 25); err != nil {
			return "", err
		}
		if err := s.catchUp(ctx, &from, &last, &turn); err != nil {
			return "", err
		}
	}
	return turn, nil
}

// catchUp follows events from *from to the newest one. If *turn is empty, it becomes the first turn
// seen.
func (s *side) catchUp(ctx context.Context, from, last *uint64, turn *string) error {
	id, err := s.client.CreateSession(ctx) // the last event
	if err != nil {
		return err
	}
	return s.client.Follow(ctx, from, func(e drive.Event) error {
		*from, *last = e.ID, e.ID
		if *turn == "" && e.Kind == "turn.started" {
			var started struct{ Turn string }
			if err := json.Unmarshal([]byte(e.Data), &started); err != nil {
				return err
			}
			*turn = started.Turn
		}
		if e.Kind == "session.created" && strings.Contains(e.Data, id) {
			return drive.ErrEnough
		}
		return nil
	})
}

func (s *side) traces(id string) turn {
	return timedCalls(3, func(ctx context.Context) error {
		var list []struct{ Turn string }
		if err := s.client.List(ctx, "/v1/traces?turn="+id, "traces", &list); err != nil {
			return err
		}
		if len(list) == 0 || list[0].Turn != id {
			return fmt.Errorf("%d traces of turn %s", len(list), id)
		}
		return nil
	})
}
