package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// A State stores values for later processes of the plugin. Keys have at most 512 bytes, values are
// any JSON. In kaged they are in the host's storage, if it has one. In other dialects they are in
// files, in $XDG_DATA_HOME/NAME/state or ~/.local/share/NAME/state, if the plugin may write there.
type State struct{ plugin *Plugin }

// State declares that the plugin stores values; call it before Main. The kaged manifest then has
// the capabilities for storage, and the mine manifest the permission for the directory.
func (p *Plugin) State() *State {
	p.usesState = true
	return &State{p}
}

// store is where a session stores its state.
type store interface {
	get(ctx context.Context, key string) (value json.RawMessage, err error) // nil: there is none
	put(ctx context.Context, key string, value json.RawMessage) error
	delete(ctx context.Context, key string) error
	list(ctx context.Context, prefix string) ([]string, error)
}

var errIdle = errors.New("the plugin is not running: state and notifications are for handlers")

const mostKey = 512

func (s *State) store(key string) (store, error) {
	current := s.plugin.current.Load()
	switch {
	case current == nil:
		return nil, errIdle
	case len(key) > mostKey:
		return nil, fmt.Errorf("the key has %d bytes; the limit is %d", len(key), mostKey)
	case current.store == nil:
		return nil, errors.New("there is no place for state: no storage in the host, and no home directory")
	}
	return current.store, nil
}

// Get reads a value; found is false if there is none.
func (s *State) Get(ctx context.Context, key string, into any) (found bool, err error) {
	kept, err := s.store(key)
	if err != nil {
		return false, err
	}
	value, err := kept.get(ctx, key)
	if err != nil || value == nil || string(value) == "null" {
		return false, err
	}
	return true, json.Unmarshal(value, into)
}

// Put stores a value.
func (s *State) Put(ctx context.Context, key string, value any) error {
	kept, err := s.store(key)
	if err != nil {
		return err
	}
	text, err := marshal(value)
	if err != nil {
		return err
	}
	return kept.put(ctx, key, text)
}

// Delete deletes a key; a missing one is not an error.
func (s *State) Delete(ctx context.Context, key string) error {
	kept, err := s.store(key)
	if err != nil {
		return err
	}
	return kept.delete(ctx, key)
}

// List returns the keys that begin with a prefix, sorted.
func (s *State) List(ctx context.Context, prefix string) ([]string, error) {
	kept, err := s.store(prefix)
	if err != nil {
		return nil, err
	}
	keys, err := kept.list(ctx, prefix)
	sort.Strings(keys)
	return keys, err
}

// files stores each key in its own file, which is replaced as a whole: parallel calls never see
// half of one.
type files struct{ dir string }

type kept struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// path returns a name that is valid on every file system, for any key.
func (f files) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(f.dir, hex.EncodeToString(sum[:16])+".json")
}

func (f files) get(_ context.Context, key string) (json.RawMessage, error) {
	entry, err := read(f.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entry.Value, err
}

func read(path string) (kept, error) {
	var entry kept
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &entry)
	}
	return entry, err
}

func (f files) put(_ context.Context, key string, value json.RawMessage) error {
	text, err := marshal(kept{key, value})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(f.dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary.Name(), f.path(key))
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // the first error counts
	}
	return err
}

func (f files) delete(_ context.Context, key string) error {
	if err := os.Remove(f.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (f files) list(_ context.Context, prefix string) ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var keys []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		entry, rerr := read(filepath.Join(f.dir, e.Name()))
		if errors.Is(rerr, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if rerr != nil {
			return nil, rerr
		}
		if strings.HasPrefix(entry.Key, prefix) {
			keys = append(keys, entry.Key)
		}
	}
	return keys, err
}
