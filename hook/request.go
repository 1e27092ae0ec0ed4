package hook

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// The keys of the values that this package stores in a context.
type (
	requestKey struct{}
	sessionKey struct{}
	choiceKey  struct{}
	callsKey   struct{}
)

// WithRequest marks the events fired with ctx as parts of one request, such as one turn of an
// agent. Plugins whose protocol has state for each request share it among these events.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// Request returns the id of the request in ctx, or "" if there is none.
func Request(ctx context.Context) string { return value[string](ctx, requestKey{}) }

// WithSession sets the session to which the events fired with ctx belong.
func WithSession(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, sessionKey{}, id)
}

// Session returns the id of the session in ctx, or "" if there is none.
func Session(ctx context.Context) string { return value[string](ctx, sessionKey{}) }

// A Choice selects the plugins of one dialect that take part, and their order. Plugins of other
// dialects take part as usual, unless Only is set.
type Choice struct {
	Dialect string
	Plugins []string
	Only    bool          // plugins of other dialects do not take part
	Timeout time.Duration // replaces the timeout of each selected hook; 0: it keeps its own

	Reports bool // the caller reports each failure itself, so the host logs it as information and not as a warning
}

// WithChoice applies the choice c to the events fired with ctx.
func WithChoice(ctx context.Context, c Choice) context.Context {
	return context.WithValue(ctx, choiceKey{}, &c)
}

// ChoiceOf returns the choice in ctx, or the zero Choice if there is none.
func ChoiceOf(ctx context.Context) Choice {
	if c := value[*Choice](ctx, choiceKey{}); c != nil {
		return *c
	}
	return Choice{}
}

func value[T any](ctx context.Context, key any) T {
	v, _ := ctx.Value(key).(T)
	return v
}

// takingPart returns the hooks that the choice in ctx selects. Without a choice these are all hooks
// that are not marked ByName.
func takingPart(ctx context.Context, hooks []*Hook) []*Hook {
	if c := value[*Choice](ctx, choiceKey{}); c != nil {
		return c.of(hooks)
	}
	return withoutByName(hooks)
}

// withoutByName returns the hooks that need not be chosen by name.
func withoutByName(hooks []*Hook) []*Hook {
	if !slices.ContainsFunc(hooks, byName) {
		return hooks
	}
	return slices.DeleteFunc(slices.Clone(hooks), byName)
}

func byName(h *Hook) bool { return h.ByName }

// of returns the hooks that the choice selects. The chosen dialect's hooks are sorted by priority,
// then by their order in the choice. The hooks of other dialects stay in their places.
func (c *Choice) of(hooks []*Hook) []*Hook {
	var own, places []*Hook
	for _, h := range hooks {
		switch {
		case h.Dialect != c.Dialect:
			if !c.Only && !h.ByName {
				places = append(places, h)
			}
		case c.index(h) >= 0:
			own = append(own, c.withTimeout(h))
			places = append(places, nil)
		}
	}
	slices.SortStableFunc(own, func(a, b *Hook) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority),
			cmp.Compare(c.index(a), c.index(b)))
	})
	for i, h := range places {
		if h == nil {
			places[i], own = own[0], own[1:]
		}
	}
	return places
}

// index returns the index of the hook's plugin in the choice, by name or alias, or -1.
func (c *Choice) index(h *Hook) int {
	return slices.IndexFunc(c.Plugins, func(name string) bool { return name == h.Plugin || name == h.Alias && name != "" })
}

// withTimeout returns the hook with the timeout of the choice.
func (c *Choice) withTimeout(h *Hook) *Hook {
	if c.Timeout == 0 {
		return h
	}
	timed := *h
	timed.Timeout = c.Timeout
	return &timed
}
