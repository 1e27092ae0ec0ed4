package schema

import "strings"

// A Fault is one fault of a schema, with the path to it: keys, and indexes of lists.
type Fault struct {
	At      []string
	Message string
}

// String returns the fault with its path: properties.page.type: must be …
func (f Fault) String() string {
	path := ""
	for _, step := range f.At {
		path = FieldPath(path, step)
	}
	return Error{Path: path, Message: f.Message}.String()
}

// An Error is one way in which a value does not fit a schema. It never repeats the value, which may
// be a secret.
type Error struct {
	Path    string // e.g. servers[0].port; "" for the value itself
	At      []any  // the same path: keys, and indexes of lists
	Message string
}

// String returns the error with its path, if there is one.
func (e Error) String() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// In returns the error of a value that has a name: config.servers[0].port: …
func (e Error) In(name string) string {
	switch {
	case e.Path == "":
		return name + ": " + e.Message
	case strings.HasPrefix(e.Path, "["):
		return name + e.String()
	}
	return name + "." + e.String()
}
