// Package rawjson passes JSON through without decoding it. It validates, splits the top level of an
// object and puts it together again, and reads or writes single strings. The payload of a plugin is
// validated once, where it enters the host; after that it is passed on as bytes.
//
// The package is not a decoder. It knows no Go types except string, and it only validates the
// values below the top level of an object.
//
// All functions share the same steps:
//
//	Check, Skip, Compact, Clean            one value
//	Outline.ParseForeign                   an object that a Cursor passed over: no scan
//	Parse, ParseForeign ─ Cursor.Next      the fields of one object
//	   └─ scanner.span                     one value, without recursion; records what it needs (Span)
//	        └─ skipString ─ skipRest       to the end of a string, many bytes at a time
//
// Requote and Half look only at escapes.
//
// skip.go is the grammar, words.go the search in strings (string_amd64.go the same with vector
// instructions), object.go and cursor.go the top level of objects, string.go single strings.
//
// JSON is valid if encoding/json accepts it: RFC 8259, at most 10,000 levels including the
// outermost, and UTF-8 inside strings is not checked. A plugin may send at most [MaxForeign]
// levels. The functions whose names end in Within check this, so that the host can wrap the
// plugin's values in messages and records and stay within the limit of encoding/json. Invalid UTF-8
// is not refused: [Parse] and [Clean] replace it by U+FFFD, byte for byte as encoding/json does.
package rawjson
