package kaged

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// The capabilities for a plugin's storage: docs/protocols/kaged.md, row K27.
const (
	storageRead  = string(capability.StorageRead)
	storageWrite = string(capability.StorageWrite)
)

// maxKey limits a storage key, in bytes: docs/protocols/kaged.md, row K85.
const maxKey = 512

// A storage answers a plugin's kaged.storage.* requests from the plugin's namespace, if its
// capabilities allow them.
type storage struct {
	log   *slog.Logger
	store dialect.Storage // nil: the host has no storage
	read  bool            // kaged:storage:read is granted
	write bool            // kaged:storage:write is granted

	declared []string // the capabilities of the manifest
	withheld []string // those that were not granted when the plugin was recorded as trusted
	listed   bool     // the configuration lists its capabilities
	place    string   // the name under which it is trusted

	failures atomic.Int64 // how many operations of the store have failed
}

// A storageOp is one kind of request: the capability that it needs, and the method that serves it.
type storageOp struct {
	needs string
	run   func(s *storage, ctx context.Context, params rawjson.Object) (json.RawMessage, error)
}

var storageOps = map[string]storageOp{
	"get":    {storageRead, (*storage).get},
	"put":    {storageWrite, (*storage).put},
	"delete": {storageWrite, (*storage).delete},
	"list":   {storageRead, (*storage).list},
}

// available returns the value of storage_available in initialize.
func (s *storage) available() bool { return s.store != nil && (s.read || s.write) }

// serve answers one request of the plugin. The plugin gets its errors.
func (s *storage) serve(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	name, ok := strings.CutPrefix(method, storagePrefix)
	op, known := storageOps[name]
	if !ok || !known {
		return nil, rpcErrorf(codeNoMethod, "the host has no method %.100q", method)
	}
	if !s.allows(op.needs) {
		return nil, rpcErrorf(codeDenied, "%s needs the capability %s, which %s", method, op.needs, s.missing(op.needs))
	}
	if s.store == nil {
		return nil, rpcErrorf(codeStorage, "%s: this host has no storage", method)
	}
	o, err := object(params)
	if err != nil {
		return nil, rpcErrorf(codeBadParams, "%s: params are not an object", method)
	}
	return op.run(s, ctx, o)
}

// missing says why the plugin does not have a capability.
func (s *storage) missing(capability string) string {
	switch {
	case !slices.Contains(s.declared, capability):
		return "the manifest does not declare"
	case slices.Contains(s.withheld, capability) && !s.listed:
		return "was added to the manifest after the plugin was recorded, and is withheld until you run `patchbay plugin trust " + s.place + "`"
	}
	return "the configuration leaves out: its capabilities replace the manifest's"
}

func (s *storage) allows(capability string) bool {
	if capability == storageRead {
		return s.read
	}
	return s.write
}

func (s *storage) get(ctx context.Context, params rawjson.Object) (json.RawMessage, error) {
	key, err := keyOf(params)
	if err != nil {
		return nil, err
	}
	value, ok, err := s.store.Get(ctx, key)
	if err != nil {
		return nil, s.failed("get", err)
	}
	if !ok {
		value = nil // null in the answer
	}
	return rawjson.Object{field("value", value)}.JSON(), nil
}

func (s *storage) put(ctx context.Context, params rawjson.Object) (json.RawMessage, error) {
	key, err := keyOf(params)
	if err != nil {
		return nil, err
	}
	value := params.Get("value")
	if value == nil {
		return nil, rpcErrorf(codeBadParams, "value is missing")
	}
	if err := s.store.Put(ctx, key, value); err != nil {
		return nil, s.failed("put", err)
	}
	return emptyObject, nil
}

func (s *storage) delete(ctx context.Context, params rawjson.Object) (json.RawMessage, error) {
	key, err := keyOf(params)
	if err != nil {
		return nil, err
	}
	if err := s.store.Delete(ctx, key); err != nil {
		return nil, s.failed("delete", err)
	}
	return emptyObject, nil
}

func (s *storage) list(ctx context.Context, params rawjson.Object) (json.RawMessage, error) {
	prefix, ok := params.String("prefix")
	if !ok && !rawjson.Missing(params.Get("prefix")) {
		return nil, rpcErrorf(codeBadParams, "prefix is not a string")
	}
	keys, err := s.store.List(ctx, prefix)
	if err != nil {
		return nil, s.failed("list", err)
	}
	out := []byte(`{"keys":[`)
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = rawjson.AppendString(out, key)
	}
	return append(out, `]}`...), nil
}

func keyOf(params rawjson.Object) (string, error) {
	key, ok := params.String("key")
	switch {
	case !ok:
		return "", rpcErrorf(codeBadParams, "key is missing or not a string")
	case key == "":
		return "", rpcErrorf(codeBadParams, "key is empty")
	case len(key) > maxKey:
		return "", rpcErrorf(codeBadParams, "key has %d bytes, over %d", len(key), maxKey)
	}
	return key, nil
}

// failed logs a failure of the store and returns the error for the plugin. A plugin may try again
// and again, so only the first failure, the second, the fourth, the eighth … is logged.
func (s *storage) failed(what string, err error) error {
	if n := s.failures.Add(1); n&(n-1) == 0 {
		s.log.Warn("plugin storage refused or does not work", "op", what, "err", err, "total", n)
	}
	return rpcErrorf(codeStorage, "storage %s: %v", what, err)
}

func rpcErrorf(code int, format string, args ...any) error {
	return &wire.RPCError{Code: code, Message: fmt.Sprintf(format, args...)}
}
