package hook

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// The keys of what a context says about the events fired with it.
type (
	requestKey struct{}
	sessionKey struct{}
	choiceKey  struct{}
)

// WithRequest says that the events fired with this context belong to one request, such as one turn
// of an agent: plugins whose protocol has a state per request share it among them.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// Request is the id of the request that an event belongs to, "" where nobody said.
func Request(ctx context.Context) string { return value[string](ctx, requestKey{}) }

// WithSession says which session the events fired with this context belong to.
func WithSession(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, sessionKey{}, id)
}

// Session is the id of the session that an event belongs to, "" where nobody said.
func Session(ctx context.Context) string { return value[string](ctx, sessionKey{}) }

// A Choice says which plugins of one dialect take part, and in which order. Those of other dialects
// take part as always, unless it is Only.
type Choice struct {
	Dialect string
	Plugins []string
	Only    bool          // nobody else takes part
	Timeout time.Duration // for each of the chosen, in place of its own; 0: its own
}

// WithChoice narrows who is asked about the events fired with this context.
func WithChoice(ctx context.Context, c Choice) context.Context {
	return context.WithValue(ctx, choiceKey{}, &c)
}

// ChoiceOf is the choice of a context; the zero Choice where it has none.
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

// takingPart are those of the hooks that take part by what the context says.
func takingPart(ctx context.Context, hooks []*Hook) []*Hook {
	if c := value[*Choice](ctx, choiceKey{}); c != nil {
		return c.of(hooks)
	}
	return withoutByName(hooks)
}

// withoutByName leaves out the hooks that wait to be named.
func withoutByName(hooks []*Hook) []*Hook {
	if !slices.ContainsFunc(hooks, byName) {
		return hooks
	}
	return slices.DeleteFunc(slices.Clone(hooks), byName)
}

func byName(h *Hook) bool { return h.ByName }

// of leaves out who was not chosen. Priority goes before the order of the choice, and the dialect
// keeps its place among the others.
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

// index is where a hook's plugin is in the choice, by either of its names; -1: it is not.
func (c *Choice) index(h *Hook) int {
	return slices.IndexFunc(c.Plugins, func(name string) bool { return name == h.Plugin || name == h.Alias && name != "" })
}

// withTimeout is the hook with the choice's timeout.
func (c *Choice) withTimeout(h *Hook) *Hook {
	if c.Timeout == 0 {
		return h
	}
	timed := *h
	timed.Timeout = c.Timeout
	return &timed
}
