package schema

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// schemaURL is the base address of a schema without an address. Nothing is fetched from it; it only
// makes references absolute.
const schemaURL = "plugin:///schema"

// An index knows the addresses, the anchors and the drafts of all schemas in one document.
// References are looked up in it.
//
// Places in the document are JSON pointers: "" is the document, "/$defs/a" a schema in it.
type index struct {
	doc       any
	resources map[string]*resource // by address, without a fragment
	homes     map[string]*resource // the resource of each schema, by place
	faults    []Fault
}

// A resource is a schema with an address, and the schemas in it up to the next one with an address.
type resource struct {
	address   *url.URL
	at        string
	draft     draft
	anchors   map[string]anchor
	recursive bool             // has "$recursiveAnchor": true (2019-09)
	root      *node            // the node of a recursive resource; see builder.dynamics
	dynamic   map[string]*node // the schemas with a "$dynamicAnchor"
}

// An anchor is a name for a schema, used as a fragment.
type anchor struct {
	at      string
	dynamic bool
}

// newIndex indexes a document.
func newIndex(doc any) *index {
	x := &index{doc: doc, resources: make(map[string]*resource), homes: make(map[string]*resource)}
	base, err := url.Parse(schemaURL)
	if err != nil {
		panic(err) // it is a constant
	}
	d := draft2020
	if object, ok := doc.(map[string]any); ok {
		if named, ok := object["$schema"].(string); ok {
			if d, ok = draftNamed(named); !ok {
				x.faults = []Fault{outside("/$schema", named)}
				return x
			}
		}
	}
	x.visit(doc, "", x.newResource(base, "", d))
	return x
}

func (x *index) newResource(address *url.URL, at string, d draft) *resource {
	r := &resource{address: address, at: at, draft: d, anchors: make(map[string]anchor)}
	x.resources[address.String()] = r
	return r
}

// visit records a schema, which is part of home, and all schemas in it.
func (x *index) visit(v any, at string, home *resource) {
	if _, known := x.homes[at]; known {
		return
	}
	object, ok := v.(map[string]any)
	if !ok {
		x.homes[at] = home
		return
	}
	home = x.identify(object, at, home)
	x.homes[at] = home
	x.anchor(object, at, home)
	for _, keyword := range sortedKeys(object) { // sorted, so that the same one of two duplicates is always reported
		eachSubschema(shapeOf(keyword, home.draft), object[keyword], at+"/"+escape(keyword), func(v any, at string) {
			x.visit(v, at, home)
		})
	}
}

// identify returns the resource that a schema starts, or home if it starts none.
func (x *index) identify(object map[string]any, at string, home *resource) *resource {
	if named, ok := object["$schema"].(string); ok {
		if _, ok := draftNamed(named); !ok {
			x.faults = append(x.faults, outside(at+"/$schema", named))
		}
	}
	d := home.draft
	if at != "" {
		d = resourceDraft(object, d)
	}
	id := idOf(object, d)
	if id == "" {
		return home
	}
	address, err := home.address.Parse(id)
	if err != nil {
		x.fault(at+"/"+d.idKey(), "is not an address")
		return home
	}
	address.Fragment, address.RawFragment = "", ""
	if other, taken := x.resources[address.String()]; taken && other.at != at {
		x.fault(at+"/"+d.idKey(), fmt.Sprintf("is the address of two schemas: %s is another", placeName(other.at)))
		return home
	}
	if at == "" { // the document also keeps the address schemaURL
		home.address = address
		x.resources[address.String()] = home
		return home
	}
	return x.newResource(address, at, d)
}

// idOf returns the address that a schema declares, without its fragment, or "".
func idOf(object map[string]any, d draft) string {
	if _, isRef := object["$ref"]; isRef && d.refAlone() {
		return ""
	}
	id, _ := object[d.idKey()].(string)
	id, _, _ = strings.Cut(id, "#")
	return id
}

// resourceDraft returns the draft of a schema within one of draft d. Only a schema with an address
// may declare its own.
func resourceDraft(object map[string]any, d draft) draft {
	named, _ := object["$schema"].(string)
	if own, ok := draftNamed(named); ok && idOf(object, own) != "" {
		return own
	}
	return d
}

// anchor records the names that a schema has in its resource.
func (x *index) anchor(object map[string]any, at string, home *resource) {
	if _, isRef := object["$ref"]; isRef && home.draft.refAlone() {
		return
	}
	if home.draft <= draft7 {
		id, _ := object[home.draft.idKey()].(string)
		_, name, _ := strings.Cut(id, "#")
		x.name(name, home.draft.idKey(), anchor{at: at}, home)
		return
	}
	name, _ := object["$anchor"].(string)
	x.name(name, "$anchor", anchor{at: at}, home)
	if home.draft == draft2020 {
		name, _ = object["$dynamicAnchor"].(string)
		x.name(name, "$dynamicAnchor", anchor{at, true}, home)
	}
	if home.draft == draft2019 && home.at == at {
		home.recursive = object["$recursiveAnchor"] == true
	}
}

func (x *index) name(name, keyword string, a anchor, home *resource) {
	if name == "" {
		return
	}
	if other, taken := home.anchors[name]; taken && other.at != a.at {
		x.fault(a.at+"/"+keyword, fmt.Sprintf("is the name of two schemas: %s is another", placeName(other.at)))
		return
	}
	home.anchors[name] = a
}

func (x *index) fault(at, message string) {
	x.faults = append(x.faults, Fault{steps(at), message})
}

// outside returns the fault of a reference that leads out of the document: a schema must not make
// the host read files or fetch addresses.
func outside(at, ref string) Fault {
	return Fault{steps(at), fmt.Sprintf("refers to %s, outside of the schema, which must be self-contained", Cite(ref))}
}

// eachSubschema calls visit for each schema in the value of a keyword.
func eachSubschema(s shape, v any, at string, visit func(v any, at string)) {
	switch v := v.(type) {
	case map[string]any:
		switch s {
		case shapeSchema, shapeBoolOrSchema, shapeSchemaOrList:
			visit(v, at)
		case shapeSchemaMap, shapePatternMap, shapeDependencies:
			for _, name := range sortedKeys(v) {
				if _, isList := v[name].([]any); !isList {
					visit(v[name], at+"/"+escape(name))
				}
			}
		}
	case []any:
		if s == shapeSchemaList || s == shapeSchemaOrList {
			for i, v := range v {
				visit(v, at+"/"+strconv.Itoa(i))
			}
		}
	case bool:
		if s == shapeSchema || s == shapeBoolOrSchema || s == shapeSchemaOrList {
			visit(v, at)
		}
	}
}

// escape encodes a key as a step of a JSON pointer.
func escape(key string) string {
	if !strings.ContainsAny(key, "~/") {
		return key
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// steps splits a JSON pointer.
func steps(pointer string) []string {
	if !strings.HasPrefix(pointer, "/") {
		return nil
	}
	out := strings.Split(pointer[1:], "/")
	if strings.Contains(pointer, "~") {
		unescape := strings.NewReplacer("~1", "/", "~0", "~")
		for i := range out {
			out[i] = unescape.Replace(out[i])
		}
	}
	return out
}

// placeName names a place in the document for a message.
func placeName(at string) string {
	if at == "" {
		return "the whole schema"
	}
	path := ""
	for _, step := range steps(at) {
		path = FieldPath(path, step)
	}
	return path
}
