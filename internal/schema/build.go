package schema

import (
	"encoding/json"
	"math"
	"strconv"
)

// A builder makes nodes of the schemas in a valid document.
type builder struct {
	*index
	patterns *patternEngine
	nodes    map[string]*node // by place
	used     []*resource
	metas    map[draft]*node
	faults   []Fault // of references that lead nowhere, and of schemas that only references lead to
}

// at returns the node of the schema at a place. The node is stored before it is filled, so that a
// schema may refer to itself.
func (b *builder) at(at string) *node {
	if n, ok := b.nodes[at]; ok {
		return n
	}
	v := valueAt(b.doc, steps(at))
	if !b.isSchema(v, at) {
		return nil
	}
	n := &node{home: b.home(at)}
	b.nodes[at] = n
	b.use(n.home)
	switch v := v.(type) {
	case bool:
		n.never = !v
	case map[string]any:
		b.fill(n, object{v, at, n.home.draft, b})
	}
	return n
}

// use records that a resource has a node, so that dynamics builds the resource's targets of dynamic
// references.
func (b *builder) use(r *resource) {
	if r.dynamic == nil {
		r.dynamic = make(map[string]*node)
		b.used = append(b.used, r)
	}
}

// isSchema reports whether the value at a place is a schema. Values of keywords were checked
// before. A place that is a schema only because a reference leads there is checked here.
func (b *builder) isSchema(v any, at string) bool {
	if _, known := b.homes[at]; known {
		return true
	}
	home := b.home(at)
	faults := checkSchema(v, at, home.draft, b.patterns)
	if len(faults) == 0 {
		b.visit(v, at, home)
		faults, b.index.faults = b.index.faults, nil
	}
	b.faults = append(b.faults, faults...)
	return len(faults) == 0
}

func (b *builder) fill(n *node, o object) {
	n.ref = o.reference("$ref")
	if n.ref != nil && o.draft.refAlone() {
		return
	}
	o.values(n)
	o.inPlace(n)
	o.numbers(&n.forNumbers)
	o.strings(&n.forStrings)
	o.objects(&n.forObjects)
	o.lists(&n.forLists)
}

// dynamics builds the nodes that dynamic references may lead to: those in resources that are used.
// Building a node may add a resource to used.
func (b *builder) dynamics() {
	for i := 0; i < len(b.used); i++ {
		r := b.used[i]
		if r.recursive {
			r.root = b.at(r.at)
		}
		for name, a := range r.anchors {
			if a.dynamic {
				r.dynamic[name] = b.at(a.at)
			}
		}
	}
}

// to returns the node that a reference leads to.
func (b *builder) to(t target) *node {
	if t.meta == 0 {
		return b.at(t.at)
	}
	if b.metas[t.meta] == nil {
		b.metas[t.meta] = &node{home: b.home(""), meta: t.meta}
	}
	return b.metas[t.meta]
}

// An object is a schema in JSON whose node is being filled.
type object struct {
	fields map[string]any
	at     string
	draft  draft
	*builder
}

// value returns the value of a keyword. ok is false if the schema does not have the keyword, or if
// the draft does not know it.
func (o object) value(keyword string) (v any, ok bool) {
	if shapeOf(keyword, o.draft) == shapeAny {
		return nil, false
	}
	v, ok = o.fields[keyword]
	return v, ok
}

// schema returns the schema of a keyword, or nil.
func (o object) schema(keyword string) *node {
	if _, ok := o.value(keyword); !ok {
		return nil
	}
	return o.builder.at(o.at + "/" + escape(keyword))
}

// schemas returns the list of schemas of a keyword.
func (o object) schemas(keyword string) []*node {
	v, _ := o.value(keyword)
	list, _ := v.([]any)
	var out []*node
	for i := range list {
		out = append(out, o.builder.at(o.at+"/"+keyword+"/"+strconv.Itoa(i)))
	}
	return out
}

// schemaMap calls add for each schema in the object of a keyword, in the order of their names. For
// a list of names, as in "dependencies", n is nil.
func (o object) schemaMap(keyword string, add func(name string, v any, n *node)) {
	v, _ := o.value(keyword)
	object, _ := v.(map[string]any)
	for _, name := range sortedKeys(object) {
		if _, isList := object[name].([]any); isList {
			add(name, object[name], nil)
			continue
		}
		add(name, object[name], o.builder.at(o.at+"/"+keyword+"/"+escape(name)))
	}
}

// find looks up the reference of a keyword.
func (o object) find(keyword string) (target, bool) {
	v, _ := o.value(keyword)
	ref, ok := v.(string)
	if !ok {
		return target{}, false
	}
	t, fault := o.resolve(ref, o.home(o.at), o.at+"/"+keyword)
	if fault != nil {
		o.builder.faults = append(o.builder.faults, *fault)
	}
	return t, fault == nil
}

func (o object) reference(keyword string) *node {
	t, ok := o.find(keyword)
	if !ok {
		return nil
	}
	return o.to(t)
}

func (o object) number(keyword string) *number {
	v, ok := o.fields[keyword].(json.Number)
	if !ok {
		return nil
	}
	n := newNumber(v)
	return &n
}

func (o object) count(keyword string) *count {
	v, _ := o.value(keyword)
	text, ok := v.(json.Number)
	if !ok {
		return nil
	}
	n := newNumber(text)
	c := &count{n: math.MaxInt, text: n.String()}
	if n := n.rat(); n.Num().IsInt64() {
		c.n = int(min(n.Num().Int64(), math.MaxInt))
	}
	return c
}

// patternOf returns the compiled form of a pattern that is known to be valid.
func (o object) patternOf(text string) *pattern {
	m, err := o.patterns.compile(text)
	if err != nil {
		return nil
	}
	return &pattern{m, text}
}
