package schema

import "fmt"

const badName = "has a name the schema does not allow"

// object checks the fields of an object.
func (c *check) object(n *forObjects, v map[string]any, seen *evaluated) {
	c.size(len(v), n.minFields, n.maxFields, "field")
	for _, name := range n.required {
		if _, has := v[name]; !has {
			c.failField(name, "is required")
		}
	}
	for _, d := range n.dependentRequired {
		if _, has := v[d.field]; has {
			c.dependent(d, v)
		}
	}
	if n.properties == nil && n.patterns == nil && n.additional == nil && n.names == nil {
		return
	}
	for name, field := range v {
		c.enter(name)
		c.field(n, name, field, seen)
		c.leave()
	}
}

// dependent checks the fields that another field requires.
func (c *check) dependent(d dependentNames, v map[string]any) {
	var missing []string
	for _, name := range d.needed {
		if _, has := v[name]; !has {
			missing = append(missing, name)
		}
	}
	if missing != nil && c.fails() {
		c.add(mustHaveToo(d.field, missing))
	}
}

func mustHaveToo(field string, missing []string) string {
	return fmt.Sprintf("has %s, so it must have %s too", Cite(field), citeAll(missing))
}

// field checks the name and the value of one field.
func (c *check) field(n *forObjects, name string, v any, seen *evaluated) {
	if n.names != nil && !c.silently(func() { c.apply(n.names, name, nil) }) {
		c.fail(badName)
	}
	known := false
	if field := n.properties[name]; field != nil {
		known = true
		c.apply(field, v, nil)
	}
	for _, p := range n.patterns {
		if p.pattern.MatchString(name) {
			known = true
			c.apply(p.node, v, nil)
		}
	}
	if !known && n.additional != nil {
		known = true
		if n.additional.never {
			c.fail("is not a field the schema knows")
		} else {
			c.apply(n.additional, v, nil)
		}
	}
	if known {
		seen.field(name)
	}
}
