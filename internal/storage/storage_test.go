package storage

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/entry"
	"github.com/patchbay-dev/patchbay/internal/entry/entrytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a store on its own engine.
func open(t *testing.T) *Store {
	dir := t.TempDir()
	return New(func(ctx context.Context) (engine.Store, error) {
		e, err := engine.Open(ctx, engine.Options{Dir: dir})
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		return e, nil
	})
}

func TestAnEngineThatDoesNotOpen(t *testing.T) {
	broken := errors.New("no disk")
	tries := 0
	b := New(func(context.Context) (engine.Store, error) { tries++; return nil, broken }).Plugin("notes", Quota{})
	if err := b.Put(t.Context(), "a", json.RawMessage("1")); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, _, err := b.Get(t.Context(), "a"); !errors.Is(err, broken) || tries != 2 {
		t.Errorf("got %v after %d tries; every call must try again", err, tries)
	}
}

func TestKeysAndValues(t *testing.T) { entrytest.Values(t, openSuite) }

// openSuite returns a store for the suite.
func openSuite(t *testing.T) entrytest.Store {
	s := open(t)
	return func(plugin string, q entry.Quota) entrytest.Bucket { return s.Plugin(plugin, q) }
}
