// Package rawjson passes JSON through without decoding it: it validates, splits the top level of an object, puts
// it together again, and reads or writes single strings. A payload that a plugin sends is looked at once, where
// trust changes; after that it travels as bytes.
//
// It is not a decoder. It knows no Go types but string, and never looks below the top level of an object except to
// see that what is there is JSON.
//
// Every walk over the bytes goes through the same two steps:
//
//	Check, Skip, Parse, Clean, Compact
//	   └─ Scan            one value, without recursion, noting what the value will need (Span)
//	        └─ skipString  eight bytes at a time
//
// What counts as valid is what encoding/json takes for valid: RFC 8259, nesting to 10,000, and no look at UTF-8
// inside strings. Invalid UTF-8 is mended, not refused: [Parse] and [Clean] put U+FFFD in its place, byte for byte
// as encoding/json does.
package rawjson
