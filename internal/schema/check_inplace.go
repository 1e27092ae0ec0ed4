package schema

// inPlace applies the schemas that check the same value as the node. What such a schema evaluates
// counts only if the value fits it.
func (c *check) inPlace(n *node, v any, seen *evaluated) {
	if n.ref != nil {
		c.applyInPlace(n.ref, v, seen)
	}
	for _, d := range n.dynamic {
		c.applyInPlace(c.dynamicTarget(d), v, seen)
	}
	for _, sub := range n.all {
		c.applyInPlace(sub, v, seen)
	}
	if n.any != nil {
		c.anyOf(n.any, v, seen)
	}
	if n.one != nil {
		c.oneOf(n.one, v, seen)
	}
	if n.not != nil && c.silently(func() { c.apply(n.not, v, nil) }) {
		c.fail(`must not fit the schema under "not"`)
	}
	if n.cond != nil {
		c.condition(n, v, seen)
	}
	if object, ok := v.(map[string]any); ok {
		for _, d := range n.dependentSchemas {
			if _, has := object[d.field]; has {
				c.applyInPlace(d.node, v, seen)
			}
		}
	}
}

// applyInPlace applies one schema to the same value.
func (c *check) applyInPlace(n *node, v any, seen *evaluated) bool {
	own := seen.fresh()
	ok := c.apply(n, v, own)
	if ok {
		seen.merge(own)
	}
	return ok
}

// dynamicTarget returns the schema that a dynamic reference means: the outermost one in the current
// scope that has the anchor.
func (c *check) dynamicTarget(d dynamicRef) *node {
	for _, r := range c.scope {
		if d.recursive && r.root != nil {
			return r.root
		}
		if n := r.dynamic[d.anchor]; d.anchor != "" && n != nil {
			return n
		}
	}
	return d.to
}

// anyOf requires that at least one schema fits. If evaluated fields matter, it applies all of them.
func (c *check) anyOf(nodes []*node, v any, seen *evaluated) {
	var forms [][]Fault
	fits := false
	for _, n := range nodes {
		ok, faults := c.aside(func() { c.applyInPlace(n, v, seen) })
		fits = fits || ok
		if fits && seen == nil {
			return
		}
		forms = append(forms, faults)
	}
	if !fits {
		c.failForms(forms)
	}
}

// oneOf requires that exactly one schema fits.
func (c *check) oneOf(nodes []*node, v any, seen *evaluated) {
	var forms [][]Fault
	fit := 0
	for _, n := range nodes {
		ok, faults := c.aside(func() { c.applyInPlace(n, v, seen) })
		if ok {
			fit++
		}
		forms = append(forms, faults)
	}
	switch {
	case fit == 0:
		c.failForms(forms)
	case fit > 1:
		c.fail("must fit exactly one of several schemas, but fits more")
	}
}

// condition applies "then" or "else".
func (c *check) condition(n *node, v any, seen *evaluated) {
	next := n.other
	if c.silently(func() { c.applyInPlace(n.cond, v, seen) }) {
		next = n.then
	}
	if next != nil {
		c.applyInPlace(next, v, seen)
	}
}
