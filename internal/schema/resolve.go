package schema

import (
	"fmt"
	"strings"
)

// A target is where a reference leads.
type target struct {
	at   string // the place in the document
	meta draft  // not 0: the metaschema of that draft, which is outside the document

	dynamic   string // the name of the "$dynamicAnchor" that was used
	recursive bool   // the root of a resource with "$recursiveAnchor"
}

// resolve looks up a reference in home. place is the place of the reference, for the fault if it
// leads nowhere.
func (x *index) resolve(ref string, home *resource, place string) (target, *Fault) {
	address, err := home.address.Parse(ref)
	if err != nil {
		return target{}, &Fault{steps(place), fmt.Sprintf("refers to %s, which is not an address", Cite(ref))}
	}
	fragment := address.Fragment
	address.Fragment, address.RawFragment = "", ""
	if strings.HasPrefix(ref, "#") || ref == "" {
		address = home.address
	}
	to, known := x.resources[address.String()]
	if !known {
		return resolveOutside(ref, address.String(), fragment, place)
	}
	if t, ok := x.within(to, fragment); ok {
		return t, nil
	}
	return target{}, notThere(ref, place)
}

// resolveOutside looks up a reference to the metaschema of a draft. Only the whole metaschema can
// be referred to.
func resolveOutside(ref, address, fragment, place string) (target, *Fault) {
	d, ok := draftNamed(address)
	switch {
	case !ok:
		f := outside(place, ref)
		return target{}, &f
	case fragment != "":
		return target{}, notThere(ref, place)
	}
	return target{meta: d}, nil
}

func notThere(ref, place string) *Fault {
	return &Fault{steps(place), fmt.Sprintf("refers to %s, which does not exist", Cite(ref))}
}

// within finds the schema of a fragment in a resource.
func (x *index) within(r *resource, fragment string) (target, bool) {
	switch {
	case fragment == "":
		return target{at: r.at, recursive: r.recursive}, true
	case strings.HasPrefix(fragment, "/"):
		return x.pointed(r.at + fragment)
	}
	a, ok := r.anchors[fragment]
	t := target{at: a.at}
	if a.dynamic {
		t.dynamic = fragment
	}
	return t, ok
}

// pointed finds the schema at a place and normalises the place: an item may be written as 1 and as
// 01.
func (x *index) pointed(at string) (target, bool) {
	v, place := x.doc, ""
	for _, step := range steps(at) {
		key, next, ok := enter(v, step)
		if !ok {
			return target{}, false
		}
		v, place = next, place+"/"+escape(key)
	}
	return target{at: place}, true
}

// home returns the resource that the schema at a place belongs to: that of the nearest known schema
// around it.
func (x *index) home(at string) *resource {
	for {
		if home, ok := x.homes[at]; ok {
			return home
		}
		at = at[:strings.LastIndexByte(at, '/')]
	}
}
