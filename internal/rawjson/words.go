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

// traits is what a string was seen to hold: any of the high bits says bytes above 0x7F, the lowest bit says escapes. 0 is
// a string that means itself.
type traits uint64

const escaped traits = 1

func (t traits) nonASCII() bool { return t&highs != 0 }

// plain returns the index of the first byte at or after i that ends a plain run, and the traits of the run.
func plain(data []byte, i int) (int, traits) {
	n, seen := blocks(data[i:])
	for i += n; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		if m := special(w); m != 0 {
			n, before := lowest(w, m)
			return i + n, traits((seen | before) & highs)
		}
		seen |= w
	}
	for ; i < len(data) && data[i] != '"' && data[i] != '\\' && data[i] >= ' '; i++ {
		seen |= uint64(data[i])
	}
	return i, traits(seen & highs)
}

// blocksPortable is blocks with the means of the language: four words a turn, because the test and the loop cost as much
// as the search.
func blocksPortable(data []byte) (n int, high uint64) {
	rest := data
	for len(rest) >= 32 {
		w0, w1 := binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:])
		w2, w3 := binary.LittleEndian.Uint64(rest[16:]), binary.LittleEndian.Uint64(rest[24:])
		all := w0 | w1 | w2 | w3
		if (suspect(w0)|suspect(w1)|suspect(w2)|suspect(w3)|all)&highs != 0 {
			if special(w0)|special(w1)|special(w2)|special(w3) != 0 {
				break
			}
			high |= all & highs
		}
		rest = rest[32:]
	}
	return len(data) - len(rest), high
}

// lowest is the index of the lowest mark of m in the word w, and the bytes of w that come before it.
func lowest(w, m uint64) (n int, before uint64) {
	shift := bits.TrailingZeros64(m) &^ 7
	return shift / 8, w & (1<<shift - 1)
}

// skipString passes over the string whose opening quote is data[i].
func skipString(data []byte, i int) (end int, t traits, err error) {
	var seen uint64
	i++
	for long := i + 32; i < long && i+8 <= len(data); i += 8 { // most strings are short: no call for them
		w := binary.LittleEndian.Uint64(data[i:])
		m := special(w)
		if m == 0 {
			seen |= w
			continue
		}
		n, before := lowest(w, m)
		seen |= before
		if i += n; data[i] == '"' {
			return i + 1, traits(seen & highs), nil
		}
		break
	}
	return skipRest(data, i, traits(seen&highs))
}

// skipRest passes over what is left of a string from data[i] on, of which t is known.
func skipRest(data []byte, i int, t traits) (int, traits, error) {
	for {
		end, more := plain(data, i)
		i, t = end, t|more
		if i >= len(data) {
			return i, t, &SyntaxError{i, "unexpected end in a string"}
		}
		switch data[i] {
		case '"':
			return i + 1, t, nil
		case '\\':
			n := escapeLen(data[i:])
			if n == 0 {
				return i, t, &SyntaxError{i, "invalid escape in a string"}
			}
			i, t = i+n, t|escaped
		default:
			return i, t, unexpected(data, i, "in a string")
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
