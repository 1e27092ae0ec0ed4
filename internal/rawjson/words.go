package rawjson

import (
	"encoding/binary"
	"math/bits"
)

// The constants of the eight-at-a-time search: a byte repeated eight times is ones × byte.
const (
	ones   = 0x0101010101010101
	highs  = 0x8080808080808080
	slants = ones * '\\'
	flip   = ones * ('"' ^ ' ') // turns the quote into a blank, and leaves what is below a blank below it
	blanks = ones * (' ' + 1)
)

// suspect marks, with the high bit of the byte, the bytes of w that end a plain run in a string: the quote and control
// characters (which after the flip are the bytes up to the blank), and the backslash. Some bytes above 0x7F are marked
// as well. Subtracting borrows from the byte above, so marks above the lowest can be false; the lowest is right, for
// ASCII. Only the marks under highs count.
func suspect(w uint64) uint64 { return ((w ^ flip) - blanks) | ((w ^ slants) - ones) }

// special is suspect without the bytes above 0x7F.
func special(w uint64) uint64 { return suspect(w) &^ w & highs }

// plain returns the index of the first byte at or after i that ends a plain run, and ORs the words that are not pure ASCII into high.
func plain(data []byte, i int, high uint64) (int, uint64) {
	rest := data[i:]
	for len(rest) >= 32 { // four words a turn: the test and the loop cost as much as the search
		w0, w1 := binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:])
		w2, w3 := binary.LittleEndian.Uint64(rest[16:]), binary.LittleEndian.Uint64(rest[24:])
		all := w0 | w1 | w2 | w3
		if (suspect(w0)|suspect(w1)|suspect(w2)|suspect(w3)|all)&highs != 0 {
			if special(w0)|special(w1)|special(w2)|special(w3) != 0 {
				break
			}
			high |= all
		}
		rest = rest[32:]
	}
	i = len(data) - len(rest)
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		if m := special(w); m != 0 {
			return stop(i, w, m, high)
		}
		high |= w
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
