// Package rawjson passes JSON through without decoding it: it validates, splits the top level of an
// object, puts it together again, and reads or writes single strings. A payload that a plugin sends
// is looked at once, where trust changes; after that it travels as bytes.
//
// It is not a decoder. It knows no Go types but string, and never looks below the top level of an
// object except to see that what is there is JSON.
//
// Every walk over the bytes goes through the same steps:
//
//	Check, Skip, Compact, Clean          one value
//	Parse ─ Fields ─ Cursor.Next         the fields of one object
//	   └─ scanner.span                   one value, without recursion, noting what it will need (Span)
//	        └─ skipString ─ skipRest     to the end of a string, many bytes at a time
//
// skip.go is the grammar, words.go the search in strings (string_amd64.go the same with vector
// instructions), object.go and cursor.go the top level of objects, string.go single strings.
//
// What counts as valid is what encoding/json takes for valid: RFC 8259, nesting to 10,000 levels,
// the outermost among them, and no look at UTF-8 inside strings. What a plugin sends is held to
// [MaxForeign] levels, with the functions whose names end in Within: so it can be wrapped in our
// own messages and records and stays within encoding/json's limit. Invalid UTF-8 is mended, not
// refused: [Parse] and [Clean] put U+FFFD in its place, byte for byte as encoding/json does.
package rawjson
