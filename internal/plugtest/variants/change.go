package variants

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
)

// A changer changes arguments at random.
type changer struct{ *rand.Rand }

// pieces are texts that mean something to many decoders.
var pieces = []string{
	"{", "}", "[", "]", `"`, `\`, ":", ",", " ", "\n", "\r\n", "\r", "\t", "\x00", "\x1b[2J", "\x7f", "\xff", "\xc0\x80", "\u2028", "\u202e", "\ufeff", "é", "日", "🙂",
	"null", "true", "-0", "1e999", "1e-999", "0.1", "-1", "9223372036854775808", "18446744073709551616", `\u0000`, `\ud800`, `{"a":{"a":1,"a":2}}`, "[[]]",
	"..", "/", "//", "./", "~", "$", "${", "%", "%00", "%s", "*", "?", "'", "`", "```", `"""`, "'''", "#", "---\n", "=", "==", "&", "<", ">", "|", ";", "@", "!", "-", "--", "+",
}

// deep is one more level than any decoder of ours allows.
const deep = 1001

var numbers = []int64{0, 1, -1, 2, 7, 8, 64, 127, 128, 255, 256, 1000, 1 << 16, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}

// variant returns a copy of a seed with one to four changes.
func (c changer) variant(seeds [][]any, which int) []any {
	v := slices.Clone(seeds[which])
	for range 1 + c.IntN(4) {
		i := c.IntN(len(v))
		other := seeds[c.IntN(len(seeds))][i]
		v[i] = c.changed(reflect.ValueOf(v[i]), reflect.ValueOf(other))
	}
	return v
}

// changed returns another value of the same type. other is the same argument of another seed.
func (c changer) changed(value, other reflect.Value) any {
	to := reflect.New(value.Type()).Elem()
	switch {
	case isText(value.Type()):
		to = reflect.ValueOf(c.text(slices.Clone(bytesOf(value)), bytesOf(other))).Convert(value.Type())
	case to.CanInt():
		to.Set(reflect.ValueOf(c.number(value.Int())).Convert(value.Type()))
	case to.CanUint():
		to.Set(reflect.ValueOf(c.number(int64(value.Uint()))).Convert(value.Type()))
	case to.CanFloat():
		to.SetFloat([]float64{0, -1, 0.1, math.NaN(), math.Inf(1), math.MaxFloat64, math.SmallestNonzeroFloat64, value.Float() + 1}[c.IntN(8)])
	case to.Kind() == reflect.Bool:
		to.SetBool(!value.Bool())
	}
	return to.Interface()
}

func bytesOf(text reflect.Value) []byte {
	if text.Kind() == reflect.String {
		return []byte(text.String())
	}
	return text.Bytes()
}

func (c changer) number(n int64) int64 {
	switch c.IntN(4) {
	case 0:
		return n + int64(c.IntN(5)) - 2
	case 1:
		return int64(c.Uint64())
	}
	return numbers[c.IntN(len(numbers))]
}

// text changes a text, which it may overwrite.
func (c changer) text(text, other []byte) []byte {
	from, to := c.run(text)
	switch c.IntN(10) {
	case 0: // one bit
		if len(text) > 0 {
			text[c.IntN(len(text))] ^= 1 << c.IntN(8)
		}
		return text
	case 1: // one byte
		if len(text) > 0 {
			text[c.IntN(len(text))] = byte(c.Uint32())
		}
		return text
	case 2:
		return text[:from]
	case 3:
		return slices.Delete(text, from, to)
	case 4: // a part several times
		return slices.Insert(text, to, bytes.Repeat(text[from:to], 1+c.IntN(20))...)
	case 5: // a part of another seed
		begin, end := c.run(other)
		return slices.Replace(text, from, to, other[begin:end]...)
	case 6: // a part elsewhere
		part := slices.Clone(text[from:to])
		text = slices.Delete(text, from, to)
		return slices.Insert(text, c.IntN(len(text)+1), part...)
	case 7: // many levels, rarely
		if c.IntN(20) == 0 {
			return slices.Insert(text, from, []byte(strings.Repeat(pieces[c.IntN(4)], deep))...)
		}
	}
	return slices.Insert(text, from, []byte(pieces[c.IntN(len(pieces))])...)
}

// run returns the beginning and the end of a part of a text, mostly a short one.
func (c changer) run(text []byte) (from, to int) {
	from = c.IntN(len(text) + 1)
	longest := len(text) - from
	if c.IntN(4) > 0 {
		longest = min(longest, 8)
	}
	return from, from + c.IntN(longest+1)
}
