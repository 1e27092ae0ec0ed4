package featurestore

import (
	"encoding/json"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/feature"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFeatures(t *testing.T) {
	e := embedded.Engine(t, t.TempDir())
	features, elsewhere := New(e), New(e)
	ctx := t.Context()

	t.Run("the plugins flag has the text of the protocol, and is off", func(t *testing.T) {
		got, err := features.Get(ctx, feature.Plugins)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(got)
		want := `{"name":"plugins","description":"Enable plugin system for agent customization","stage":"experimental","default":false,"enabled":false}`
		if err != nil || string(text) != want {
			t.Errorf("got %s, %v", text, err)
		}
	})
	t.Run("a flag that is set is set for every store of the engine", func(t *testing.T) {
		for _, on := range []bool{true, true, false} {
			if got, err := features.Set(ctx, feature.Plugins, on); err != nil || got.Enabled != on {
				t.Errorf("set: %+v, %v", got, err)
			}
			if got, err := elsewhere.Get(ctx, feature.Plugins); err != nil || got.Enabled != on || got.Default {
				t.Errorf("get: %+v, %v", got, err)
			}
			if list, err := elsewhere.List(ctx); err != nil || len(list) != len(feature.Known()) || list[0].Enabled != on {
				t.Errorf("list: %+v, %v", list, err)
			}
		}
	})
	t.Run("another name is unknown", func(t *testing.T) {
		for _, name := range []string{"", "Plugins", "nonsense", "*"} {
			if _, err := features.Get(ctx, name); !errors.Is(err, feature.ErrUnknown) {
				t.Errorf("get %q: %v", name, err)
			}
			if _, err := features.Set(ctx, name, true); !errors.Is(err, feature.ErrUnknown) {
				t.Errorf("set %q: %v", name, err)
			}
		}
	})
	t.Run("an invalid value is an error", func(t *testing.T) {
		if _, err := features.bucket.Put(ctx, feature.Plugins, []byte("perhaps")); err != nil {
			t.Fatal(err)
		}
		if got, err := features.Get(ctx, feature.Plugins); err == nil || got.Enabled {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}
