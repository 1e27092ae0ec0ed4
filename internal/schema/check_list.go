package schema

// list checks the items of a list.
func (c *check) list(n *forLists, v []any, seen *evaluated) {
	c.size(len(v), n.minItems, n.maxItems, "item")
	if n.unique {
		c.unique(v)
	}
	first := min(len(n.prefix), len(v))
	for i, item := range v[:first] {
		c.item(n.prefix[i], i, item)
	}
	seen.upTo(first)
	if n.rest != nil {
		c.rest(n, v, first)
		seen.upTo(len(v))
	}
	if n.contains != nil {
		c.contains(n, v, seen)
	}
}

func (c *check) item(n *node, i int, item any) bool {
	c.enterItem(i)
	defer c.leave()
	return c.apply(n, item, nil)
}

// rest checks the items after those that have schemas of their own.
func (c *check) rest(n *forLists, v []any, first int) {
	if n.restInOne && n.rest.never {
		if first < len(v) {
			c.fail(`does not satisfy "additionalItems"`)
		}
		return
	}
	for i := first; i < len(v); i++ {
		c.item(n.rest, i, v[i])
	}
}

// contains requires a number of items that fit. If there are too few, it reports why each of the
// others does not fit.
func (c *check) contains(n *forLists, v []any, seen *evaluated) {
	found := 0
	_, faults := c.aside(func() {
		for i, item := range v {
			if c.item(n.contains, i, item) {
				found++
				if n.containsEvaluates {
					seen.item(i)
				}
			}
		}
	})
	least, keyword := 1, `"contains"`
	if n.minContains != nil {
		least, keyword = n.minContains.n, `"minContains"`
	}
	if found < least && c.fails() {
		if len(faults) == 0 {
			c.add("does not satisfy " + keyword)
		}
		c.faults = append(c.faults, faults...)
	}
	if n.maxContains != nil && found > n.maxContains.n {
		c.fail(`does not satisfy "maxContains"`)
	}
}
