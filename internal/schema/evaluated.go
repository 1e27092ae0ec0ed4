package schema

// An evaluated records which fields and items of a value were evaluated, for
// "unevaluatedProperties" and "unevaluatedItems". A nil one records nothing, since few schemas need
// it.
type evaluated struct {
	fields map[string]bool
	first  int // the number of items from the start
	items  map[int]bool
}

// narrow returns the set in which a node records what it evaluates: a new one if the node has
// unevaluated keywords.
func (e *evaluated) narrow(n *node) *evaluated {
	if n.unevaluatedFields != nil || n.unevaluatedItems != nil {
		return &evaluated{}
	}
	return e
}

// fresh returns an empty set, or nil if e is nil.
func (e *evaluated) fresh() *evaluated {
	if e == nil {
		return nil
	}
	return &evaluated{}
}

func (e *evaluated) field(name string) {
	if e == nil {
		return
	}
	if e.fields == nil {
		e.fields = make(map[string]bool)
	}
	e.fields[name] = true
}

func (e *evaluated) upTo(n int) {
	if e != nil {
		e.first = max(e.first, n)
	}
}

func (e *evaluated) item(i int) {
	if e == nil {
		return
	}
	if e.items == nil {
		e.items = make(map[int]bool)
	}
	e.items[i] = true
}

// merge adds what another schema has evaluated of the same value.
func (e *evaluated) merge(other *evaluated) {
	if e == nil || other == nil {
		return
	}
	for name := range other.fields {
		e.field(name)
	}
	e.upTo(other.first)
	for i := range other.items {
		e.item(i)
	}
}

// unevaluated applies the unevaluated keywords of a node to the fields and items that nothing else
// has evaluated.
func (c *check) unevaluated(n *node, v any, seen *evaluated) {
	switch v := v.(type) {
	case map[string]any:
		if n.unevaluatedFields == nil {
			return
		}
		for name, field := range v {
			if !seen.fields[name] {
				c.enter(name)
				c.apply(n.unevaluatedFields, field, nil)
				c.leave()
				seen.field(name)
			}
		}
	case []any:
		if n.unevaluatedItems == nil {
			return
		}
		for i := seen.first; i < len(v); i++ {
			if !seen.items[i] {
				c.item(n.unevaluatedItems, i, v[i])
			}
		}
		seen.upTo(len(v))
	}
}
