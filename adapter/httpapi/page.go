package httpapi

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// A PageQuery is how every list that has pages is asked for one. Its answer has `next` where there
// is more.
type PageQuery struct {
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"At most so many."`
	After string `query:"after" maxLength:"1024" doc:"Go on behind the page that had this as its next."`
}

// A Page says which part of a list is wanted.
type Page struct {
	Limit int
	After string // a cursor of the list; "": from its beginning
}

func (q PageQuery) page() Page { return Page(q) }

// Cursor is a place in a list as clients get it: opaque, and safe in a URL. It has the name of its
// list, so that one of another list is noticed.
func Cursor(list, place string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + ":" + place))
}

// Place is what [Cursor] was made of; "" for no cursor. An [*InvalidRequestError] says that it is
// none of this list.
func Place(list, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	place, ok := strings.CutPrefix(string(text), list+":")
	if err != nil || !ok || place == "" {
		return "", BadCursor(list, cursor)
	}
	return place, nil
}

// BadCursor is the error of a cursor with a place that the list does not know.
func BadCursor(list, cursor string) error {
	return &InvalidRequestError{Reason: fmt.Sprintf("Not a cursor of the list of %s: %s. Send the `next` of an answer as it is, or leave `after` out.", list, quote(cursor))}
}
