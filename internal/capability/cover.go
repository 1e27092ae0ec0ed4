package capability

import "slices"

// covers reports whether a grant of c allows everything that o allows. A path covers only itself:
// /a does not cover /a/b, which may be a link that leads elsewhere.
func (c Capability) covers(o Capability) bool {
	switch o.Kind {
	case NetNone:
		return true
	case ReadFS:
		return c.Path == o.Path && (c.Kind == ReadFS || c.Kind == WriteFS)
	case Exec:
		return c.Kind == Exec && c.Path == o.Path // the name is only what the plugin calls it
	case NetHost:
		return c.Kind == NetAny || c.Kind == NetHost && c.Host == o.Host && (c.AnyPort || c == o)
	}
	return c == o
}

// Within reports whether everything that list allows is allowed by bound.
func Within(list, bound []Capability) bool {
	return !slices.ContainsFunc(list, func(c Capability) bool { return !covered(c, bound) })
}

// Common returns the capabilities that both lists allow. It never returns nil.
func Common(a, b []Capability) []Capability {
	out := []Capability{}
	add := func(list, bound []Capability) {
		for _, c := range list {
			if covered(c, bound) && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	add(a, b)
	add(b, a)
	return out
}

func covered(c Capability, by []Capability) bool {
	if c.Kind == NetNone {
		return true // it allows nothing
	}
	return slices.ContainsFunc(by, func(g Capability) bool { return g.covers(c) })
}
