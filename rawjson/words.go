package rawjson

import (
	"encoding/binary"
	"math/bits"
)

// The constants of the search by words: a byte repeated eight times is ones × byte.
const (
	ones   = 0x0101010101010101
	highs  = 0x8080808080808080
	slants = ones * '\\'
	flip   = ones * ('"' ^ ' ') // turns the quote into a blank, and keeps bytes below a blank below it
	blanks = ones * (' ' + 1)
)

// suspect marks the bytes of w that end a plain run in a string, with the high bit of each byte.
// These are the backslash, the quote and the control characters; after the flip, the last two are
// the bytes up to the blank. Some bytes above 0x7F are marked too. Subtracting borrows from the
// byte above, so marks above the lowest one can be wrong; the lowest is right for ASCII. Only the
// bits under highs count.
func suspect(w uint64) uint64 { return ((w ^ flip) - blanks) | ((w ^ slants) - ones) }

// special marks the same bytes as suspect, but none above 0x7F.
func special(w uint64) uint64 { return suspect(w) &^ w & highs }

// traits describes a string: any of the high bits means bytes above 0x7F, the lowest bit means
// escapes. 0 is a string that needs no decoding.
type traits uint64

const escaped traits = 1

func (t traits) nonASCII() bool { return t&highs != 0 }

// skipString passes over the string whose opening quote is data[i].
func skipString(data []byte, i int) (end int, t traits, err error) {
	var seen uint64
	i++
	for long := i + 32; i < long && i+8 <= len(data); i += 8 { // most strings are short, and need no call
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

// skipWords does what skipRest does, word by word.
func skipWords(data []byte, i int, t traits) (int, traits, error) {
	for {
		end, more := plainWords(data, i)
		i, t = end, t|more
		if at(data, i) == '"' {
			return i + 1, t, nil
		}
		size, err := escape(data, i)
		if err != nil {
			return i, t, err
		}
		i, t = i+size, t|escaped
	}
}

// plainWords does what plain does, word by word. It reads four words at a time, because the test
// and the loop cost as much as the search. The rest it reads word by word, and at the end byte by
// byte.
func plainWords(data []byte, i int) (int, traits) {
	var seen uint64
	rest := data[i:]
	for len(rest) >= 32 {
		w0, w1 := binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:])
		w2, w3 := binary.LittleEndian.Uint64(rest[16:]), binary.LittleEndian.Uint64(rest[24:])
		all := w0 | w1 | w2 | w3
		if (suspect(w0)|suspect(w1)|suspect(w2)|suspect(w3)|all)&highs != 0 {
			if special(w0)|special(w1)|special(w2)|special(w3) != 0 {
				break
			}
			seen |= all
		}
		rest = rest[32:]
	}
	for i = len(data) - len(rest); i+8 <= len(data); i += 8 {
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

// lowest returns the index of the lowest mark of m in the word w, and the bytes of w before it.
func lowest(w, m uint64) (n int, before uint64) {
	shift := bits.TrailingZeros64(m) &^ 7
	return shift / 8, w & (1<<shift - 1)
}

// escape returns the length of the escape at data[i]. Anything else there is an error.
func escape(data []byte, i int) (size int, err error) {
	if at(data, i) != '\\' {
		return 0, unexpected(data, i, "in a string")
	}
	switch at(data, i+1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
		if _, ok := hex4(data[i:]); ok {
			return 6, nil
		}
	}
	return 0, &SyntaxError{i, "invalid escape in a string"}
}
