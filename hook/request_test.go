package hook

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

// TestChoice: a Choice decides which plugins of a dialect are called, and in which order.
func TestChoice(t *testing.T) {
	in := func(dialect, plugin string, priority, position int) Hook {
		h := answer(plugin, TurnInput, Reply{})
		h.Dialect, h.Priority, h.Position, h.Alias = dialect, priority, position, plugin+"-file"
		return h
	}
	var b Bus
	if err := b.Set([]Hook{
		in("kaged", "k", 500, 0), in("python", "a", 500, 1), in("python", "b", 500, 2), in("python", "c", 100, 3), in("scaffold", "s", 500, 4),
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rule, want string
		choice     []string
	}{
		{"no plugin of the dialect if the choice names none", "k s", nil},
		{"the order of the choice, in the dialect's place", "k b a s", []string{"b", "a"}},
		{"priority goes before the order of the choice", "c k a s", []string{"a", "c"}},
		{"a name that no plugin has changes nothing", "k a s", []string{"nobody", "a"}},
		{"by the alias of a plugin", "k b a s", []string{"b-file", "a"}},
		{"a name of another dialect changes nothing", "k s", []string{"k"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			ctx := WithChoice(t.Context(), Choice{Dialect: "python", Plugins: c.choice})
			out, err := b.Fire(ctx, TurnInput, json.RawMessage(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := asked(out); got != c.want {
				t.Errorf("asked %q, want %q", got, c.want)
			}
		})
	}
	only := WithChoice(t.Context(), Choice{Dialect: "python", Plugins: []string{"b"}, Only: true})
	if out, err := b.Fire(only, TurnInput, nil); err != nil || asked(out) != "b" {
		t.Errorf("only the chosen: asked %q, %v", asked(out), err)
	}
	out, err := b.Fire(t.Context(), TurnInput, nil)
	if err != nil || asked(out) != "c k a b s" {
		t.Errorf("without a choice: asked %q, %v", asked(out), err)
	}
}

func TestChoiceTimeout(t *testing.T) {
	var b Bus
	h := answer("slow", TurnInput, Reply{})
	h.Timeout = time.Hour
	h.Call = func(ctx context.Context, _ *Event) (Reply, error) {
		<-ctx.Done()
		return Reply{}, ctx.Err()
	}
	if err := b.Set([]Hook{h}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		out, _ := b.Fire(WithChoice(t.Context(), Choice{Dialect: "test", Plugins: []string{"slow"}, Timeout: time.Second}), TurnInput, nil)
		if took := time.Since(start); took != time.Second || out.Steps[0].Err == nil {
			t.Errorf("the call ended after %v: %v", took, out.Steps[0].Err)
		}
	})
}
