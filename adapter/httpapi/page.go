package httpapi

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// A PageQuery holds the parameters of every list with pages. The answer has `next` if there are
// more.
type PageQuery struct {
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"The largest number of entries."`
	After string `query:"after" maxLength:"1024" doc:"The value of next in the previous page."`
}

// A Page selects a part of a list.
type Page struct {
	Limit int
	After string // a cursor of the list; "": begin at the start
}

func (q PageQuery) page() Page { return Page(q) }

// Cursor returns a place in a list for clients: opaque, and safe in a URL. It contains the name of
// its list, so that a cursor of another list is detected.
func Cursor(list, place string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + ":" + place))
}

// Place returns the place of a [Cursor], or "" for no cursor. A cursor of another list is an
// [*InvalidRequestError].
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

// BadCursor returns the error for a cursor whose place the list does not know.
func BadCursor(list, cursor string) error {
	return &InvalidRequestError{Reason: fmt.Sprintf("Not a cursor of the list of %s: %s. Send the `next` of an answer unchanged, or leave `after` out.", list, quote(cursor))}
}
