package kaged

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/wire"
)

// memory is a dialect.Storage in a map.
type memory struct {
	mu     sync.Mutex // protects values
	values map[string]string
	err    error // returned by every operation if it is not nil
}

func (m *memory) Get(_ context.Context, key string) (json.RawMessage, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[key]
	return json.RawMessage(v), ok, m.err
}

func (m *memory) Put(_ context.Context, key string, value json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = make(map[string]string)
	}
	m.values[key] = string(value)
	return m.err
}

func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values, key)
	return m.err
}

func (m *memory) List(_ context.Context, prefix string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := slices.Sorted(maps.Keys(m.values))
	return slices.DeleteFunc(keys, func(k string) bool { return !strings.HasPrefix(k, prefix) }), m.err
}

func TestStorage(t *testing.T) {
	for _, tc := range []struct{ rule, method, params, want string }{
		{"get answers the value", "get", `{"key":"a"}`, `{"value":{"n":1}}`},
		{"get answers null if there is no value", "get", `{"key":"zz"}`, `{"value":null}`},
		{"put answers an empty object", "put", `{"key":"c","value":[1]}`, `{}`},
		{"put may store null", "put", `{"key":"c","value":null}`, `{}`},
		{"delete answers an empty object", "delete", `{"key":"a"}`, `{}`},
		{"delete of nothing is no error", "delete", `{"key":"zz"}`, `{}`},
		{"list answers the keys with a prefix", "list", `{"prefix":"a"}`, `{"keys":["a","ab"]}`},
		{"list without a prefix answers all keys", "list", `{}`, `{"keys":["a","ab","b"]}`},
		{"list of nothing is an empty list", "list", `{"prefix":"zz"}`, `{"keys":[]}`},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			s := storage{read: true, write: true,
				store: &memory{values: map[string]string{"a": `{"n":1}`, "ab": `2`, "b": `3`}}}
			got, err := s.serve(t.Context(), storagePrefix+tc.method, json.RawMessage(tc.params))
			if err != nil || string(got) != tc.want {
				t.Errorf("%s, %v; want %s", got, err, tc.want)
			}
		})
	}
}

func TestStorageRefusals(t *testing.T) {
	both := &storage{store: &memory{}, read: true, write: true}
	full := &storage{store: &memory{err: errors.New("disk full")}, read: true, write: true}
	for _, tc := range []struct {
		rule           string
		storage        *storage
		method, params string
		code           int
		says           string
	}{
		{"get needs kaged:storage:read", &storage{store: &memory{}, write: true}, "kaged.storage.get", `{"key":"a"}`, codeDenied, storageRead},
		{"list needs kaged:storage:read", &storage{store: &memory{}, write: true}, "kaged.storage.list", `{}`, codeDenied, storageRead},
		{"put needs kaged:storage:write", &storage{store: &memory{}, read: true}, "kaged.storage.put", `{"key":"a","value":1}`, codeDenied, storageWrite},
		{"delete needs kaged:storage:write", &storage{store: &memory{}, read: true}, "kaged.storage.delete", `{"key":"a"}`, codeDenied, storageWrite},
		{"the manifest lacks the capability", &storage{store: &memory{}}, "kaged.storage.get", `{"key":"a"}`, codeDenied, "the manifest does not declare"},
		{"the capability is withheld", &storage{store: &memory{}, declared: []string{storageRead}, withheld: []string{storageRead}, place: "notes"},
			"kaged.storage.get", `{"key":"a"}`, codeDenied, "is withheld until you run `patchbay plugin trust notes`"},
		{"it is withheld, but the configuration decides", &storage{store: &memory{}, declared: []string{storageRead}, withheld: []string{storageRead}, listed: true},
			"kaged.storage.get", `{"key":"a"}`, codeDenied, "the configuration leaves out"},
		{"the configuration leaves the capability out", &storage{store: &memory{}, declared: []string{storageRead}}, "kaged.storage.get", `{"key":"a"}`, codeDenied, "the configuration leaves out"},
		{"a host without storage says so", &storage{read: true}, "kaged.storage.get", `{"key":"a"}`, codeStorage, "has no storage"},
		{"an unknown storage method is not found", both, "kaged.storage.drop", `{}`, codeNoMethod, "kaged.storage.drop"},
		{"any other method is not found", both, "system.reboot", `{}`, codeNoMethod, "system.reboot"},
		{"params must be an object", both, "kaged.storage.get", `["a"]`, codeBadParams, "not an object"},
		{"a key is needed", both, "kaged.storage.get", `{}`, codeBadParams, "key is missing"},
		{"a key must be a string", both, "kaged.storage.get", `{"key":1}`, codeBadParams, "not a string"},
		{"a key must not be empty", both, "kaged.storage.delete", `{"key":""}`, codeBadParams, "empty"},
		{"a key must not be long", both, "kaged.storage.put", `{"key":"` + strings.Repeat("k", maxKey+1) + `","value":1}`, codeBadParams, "over 512"},
		{"a value is needed", both, "kaged.storage.put", `{"key":"a"}`, codeBadParams, "value is missing"},
		{"a prefix must be a string", both, "kaged.storage.list", `{"prefix":1}`, codeBadParams, "prefix"},
		{"get passes the store's error on", full, "kaged.storage.get", `{"key":"a"}`, codeStorage, "disk full"},
		{"put passes the store's error on", full, "kaged.storage.put", `{"key":"a","value":1}`, codeStorage, "disk full"},
		{"delete passes the store's error on", full, "kaged.storage.delete", `{"key":"a"}`, codeStorage, "disk full"},
		{"list passes the store's error on", full, "kaged.storage.list", `{}`, codeStorage, "disk full"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			tc.storage.log = slog.New(slog.DiscardHandler)
			_, err := tc.storage.serve(t.Context(), tc.method, json.RawMessage(tc.params))
			rpc, ok := errors.AsType[*wire.RPCError](err)
			if !ok || rpc.Code != tc.code || !strings.Contains(rpc.Message, tc.says) {
				t.Errorf("error %v, want code %d that says %q", err, tc.code, tc.says)
			}
		})
	}
}

func TestStorageIsAvailableWithAStoreAndACapability(t *testing.T) {
	for _, tc := range []struct {
		storage *storage
		want    bool
	}{
		{&storage{}, false},
		{&storage{store: &memory{}}, false},
		{&storage{read: true, write: true}, false},
		{&storage{store: &memory{}, read: true}, true},
		{&storage{store: &memory{}, write: true}, true},
	} {
		if got := tc.storage.available(); got != tc.want {
			t.Errorf("%+v: %t", tc.storage, got)
		}
	}
}

// TestStorageFailuresAreLoggedABoundedNumberOfTimes: a plugin that keeps trying while its storage
// is full or broken does not fill the log.
func TestStorageFailuresAreLoggedABoundedNumberOfTimes(t *testing.T) {
	var log strings.Builder
	s := &storage{log: slog.New(slog.NewTextHandler(&log, nil)), store: &memory{err: errors.New("storage is full")}, write: true}
	for range 1000 {
		var rpc *wire.RPCError
		_, err := s.serve(t.Context(), "kaged.storage.put", json.RawMessage(`{"key":"a","value":1}`))
		if !errors.As(err, &rpc) || rpc.Code != codeStorage || !strings.Contains(rpc.Message, "storage is full") {
			t.Fatalf("err = %v", err)
		}
	}
	if n := strings.Count(log.String(), "plugin storage"); n == 0 || n > 20 || !strings.Contains(log.String(), "total=512") {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}
