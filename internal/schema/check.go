package schema

import (
	"encoding/json"
	"unicode/utf8"
)

// A check checks one value against a schema.
type check struct {
	report
	workload
	scope []*resource // of the schemas being applied, outermost first
}

// checkValue returns the faults of a value. ok is false if the work exceeded its limits.
func checkValue(n *node, v any) (faults []Fault, ok bool) {
	c := check{workload: newWorkload()}
	fits := c.apply(n, v, nil)
	if !fits && len(c.faults) == 0 { // messages about alternatives that were not chosen have used up maxSteps
		c.faults = []Fault{{Message: "does not fit the schema"}}
	}
	return c.faults, !c.over()
}

// apply checks a value against a node, and reports whether it fits. The fields and items that were
// evaluated are recorded in seen, which may be nil.
func (c *check) apply(n *node, v any, seen *evaluated) bool {
	if !c.begin(n, v) {
		c.bad++
		return false
	}
	defer c.end()
	if len(c.scope) == 0 || c.scope[len(c.scope)-1] != n.home {
		c.scope = append(c.scope, n.home)
		defer func() { c.scope = c.scope[:len(c.scope)-1] }()
	}
	bad := c.bad
	c.keywords(n, v, seen)
	return c.bad == bad
}

// keywords checks a value against all keywords of a node. If the type or the value itself is not
// allowed, the remaining keywords are not checked.
func (c *check) keywords(n *node, v any, seen *evaluated) {
	bad := c.bad
	if n.never {
		c.fail("is not allowed")
	}
	if c.values(n, v); c.bad > bad {
		return
	}
	own := seen.narrow(n)
	switch v := v.(type) {
	case json.Number:
		c.number(&n.forNumbers, v)
	case string:
		c.text(&n.forStrings, v)
	case map[string]any:
		c.object(&n.forObjects, v, own)
	case []any:
		c.list(&n.forLists, v, own)
	}
	if c.quiet > 0 && c.bad > bad {
		return // no message is needed, and the value does not fit
	}
	c.inPlace(n, v, own)
	c.unevaluated(n, v, own)
	if own != seen {
		seen.merge(own)
	}
}

// values checks the type, "const" and "enum".
func (c *check) values(n *node, v any) {
	switch {
	case n.types != 0 && !n.types.has(v):
		c.failType(v, n.types)
	case n.constant != nil && !equal(n.constant[0], v):
		if c.fails() {
			c.add("must be " + choices(n.constant))
		}
	case n.hasEnum && !among(n.enum, v):
		if c.fails() {
			c.add("must be one of " + choices(n.enum))
		}
	case n.meta != 0:
		m := metaCheck{report: c.report, draft: n.meta}
		m.schema(v)
		c.report = m.report
	}
}

func among(values []any, v any) bool {
	for _, one := range values {
		if equal(one, v) {
			return true
		}
	}
	return false
}

func (c *check) number(n *forNumbers, v json.Number) {
	if *n == (forNumbers{}) {
		return
	}
	value := newNumber(v)
	if n.minimum != nil && value.compare(*n.minimum) < 0 {
		c.failLimit("must be at least ", n.minimum)
	}
	if n.maximum != nil && value.compare(*n.maximum) > 0 {
		c.failLimit("must be at most ", n.maximum)
	}
	if n.above != nil && value.compare(*n.above) <= 0 {
		c.failLimit("must be greater than ", n.above)
	}
	if n.below != nil && value.compare(*n.below) >= 0 {
		c.failLimit("must be less than ", n.below)
	}
	if n.multiple != nil && !value.isMultiple(*n.multiple) {
		c.failLimit("must be a multiple of ", n.multiple)
	}
}

func (c *check) failLimit(words string, limit *number) {
	if c.fails() {
		c.add(words + limit.String())
	}
}

func (c *check) text(n *forStrings, v string) {
	if n.minLength != nil || n.maxLength != nil {
		c.size(utf8.RuneCountInString(v), n.minLength, n.maxLength, "character")
	}
	if n.pattern != nil && !n.pattern.MatchString(v) && c.fails() {
		c.add("does not match the pattern " + Cite(n.pattern.text))
	}
	if n.isFormat != nil && !n.isFormat(v) && c.fails() {
		c.add("is not in the format " + Cite(n.format))
	}
}

// size checks a number of characters, items or fields. noun is the name of one of them.
func (c *check) size(n int, least, most *count, noun string) {
	if least != nil && n < least.n && c.fails() {
		c.add("must have at least " + counted(least.text, noun))
	}
	if most != nil && n > most.n && c.fails() {
		c.add("must have at most " + counted(most.text, noun))
	}
}

// counted returns a number with its noun: "1 item", "2 items".
func counted(number, noun string) string {
	if number == "1" {
		return "1 " + noun
	}
	return number + " " + noun + "s"
}
