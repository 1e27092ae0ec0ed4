package schema

import "strings"

// A Fault is one thing wrong with a schema, and the path to it: keys, and the indexes of lists.
type Fault struct {
	At      []string
	Message string
}

// String has the path in front: properties.page.type: must be …
func (f Fault) String() string {
	path := ""
	for _, step := range f.At {
		path = FieldPath(path, step)
	}
	return Error{Path: path, Message: f.Message}.String()
}

// An Error is one way in which a value does not fit a schema. It never repeats the value: that may
// be a secret.
type Error struct {
	Path    string // e.g. servers[0].port; "" for the value itself
	At      []any  // the same path: keys, and the indexes of lists
	Message string
}

// String has the path in front, where there is one.
func (e Error) String() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// In is the error of a value that has itself a name: config.servers[0].port: …
func (e Error) In(name string) string {
	switch {
	case e.Path == "":
		return name + ": " + e.Message
	case strings.HasPrefix(e.Path, "["):
		return name + e.String()
	}
	return name + "." + e.String()
}
