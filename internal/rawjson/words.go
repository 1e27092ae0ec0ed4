package rawjson

import (
	"encoding/binary"
	"math/bits"
)

// The constants of the eight-at-a-time search: a byte repeated eight times is ones × byte.
const (
	ones   = 0x0101010101010101
	highs  = 0x8080808080808080
	quotes = ones * '"'
	slants = ones * '\\'
	blanks = ones * ' '
)

// special marks, with the high bit of the byte, the bytes of w that end a plain run in a string: the quote, the
// backslash and control characters. Subtracting borrows from the byte above, so marks above the lowest can be false;
// the lowest is always right.
func special(w uint64) uint64 {
	return (((w ^ quotes) - ones) | ((w ^ slants) - ones) | (w - blanks)) &^ w & highs
}

// plain returns the index of the first byte at or after i that ends a plain run, and ORs the words it saw into high.
func plain(data []byte, i int, high uint64) (int, uint64) {
	for ; i+16 <= len(data); i += 16 { // two words a turn: the loop's own cost would show
		b := data[i : i+16 : i+16]
		w0, w1 := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		m0, m1 := special(w0), special(w1)
		if m0|m1 == 0 {
			high |= w0 | w1
			continue
		}
		if m0 != 0 {
			return stop(i, w0, m0, high)
		}
		return stop(i+8, w1, m1, high|w0)
	}
	for ; i < len(data); i++ {
		if c := data[i]; c == '"' || c == '\\' || c < ' ' {
			return i, high
		} else if c >= 0x80 {
			high = highs
		}
	}
	return i, high
}

// stop turns the marks m of the word w at i into an index; of the word only what comes before it counts for high.
func stop(i int, w, m, high uint64) (int, uint64) {
	n := bits.TrailingZeros64(m) &^ 7
	return i + n/8, high | w&(1<<n-1)
}

// skipString passes over the string whose opening quote is data[i]. Any high bit of high says that the string is not
// pure ASCII.
func skipString(data []byte, i int) (end int, high uint64, err error) {
	i++
	if i+8 <= len(data) { // most keys end within a word: no call for them
		w := binary.LittleEndian.Uint64(data[i:])
		if m := special(w); m != 0 {
			i, high = stop(i, w, m, 0)
			if data[i] == '"' {
				return i + 1, high, nil
			}
		}
	}
	return skipRest(data, i, high)
}

// skipRest passes over what is left of a string from data[i] on.
func skipRest(data []byte, i int, high uint64) (end int, _ uint64, err error) {
	for {
		i, high = plain(data, i, high)
		if i >= len(data) {
			return i, high, &SyntaxError{i, "unexpected end in a string"}
		}
		switch data[i] {
		case '"':
			return i + 1, high, nil
		case '\\':
			n := escapeLen(data[i:])
			if n == 0 {
				return i, high, &SyntaxError{i, "invalid escape in a string"}
			}
			i += n
		default:
			return i, high, unexpected(data, i, "in a string")
		}
	}
}

// escapeLen is the length of the escape that b starts with, 0 where it is not one.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b); ok {
			return 6
		}
	}
	return 0
}
