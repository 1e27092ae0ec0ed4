package sample

import (
	"encoding/json"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// number returns a number within its limits.
func (g *generator) number(o object, whole bool) any {
	low, hasLow := bound(o, "minimum", "exclusiveMinimum", whole, 1)
	high, hasHigh := bound(o, "maximum", "exclusiveMaximum", whole, -1)
	v := 1.0
	switch {
	case g.size == Boundary && hasHigh:
		v = high
	case g.size == Boundary && hasLow:
		v = low + 1<<20
	case g.size == Boundary:
		v = 1 << 40
	case g.size == Minimal && hasLow:
		v = low
	case g.size == Minimal && !hasHigh:
		v = 0
	case g.size == Full && hasLow && hasHigh && whole:
		v = math.Floor((low + high) / 2)
	case g.size == Full && hasLow && hasHigh:
		v = (low + high) / 2
	}
	if hasLow {
		v = max(v, low)
	}
	if hasHigh {
		v = min(v, high)
	}
	if step, ok := float(o["multipleOf"]); ok && step > 0 {
		v = math.Floor(v/step) * step
		if hasLow && v < low {
			v += step
		}
	}
	if whole || v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return int64(v)
	}
	return v
}

// bound returns a limit of a number, in either of its two spellings. inward is 1 for a lower limit
// and -1 for an upper one.
func bound(o object, word, exclusive string, whole bool, inward float64) (float64, bool) {
	if v, ok := float(o[word]); ok {
		if o[exclusive] == true { // as in draft 4
			return v + inward*gap(whole), true
		}
		if x, also := float(o[exclusive]); also && (x-v)*inward >= 0 {
			return x + inward*gap(whole), true
		}
		return v, true
	}
	if v, ok := float(o[exclusive]); ok {
		return v + inward*gap(whole), true
	}
	return 0, false
}

// gap returns how far a number stays from an exclusive limit.
func gap(whole bool) float64 {
	if whole {
		return 1
	}
	return 1.0 / 1024
}

func float(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// formats has a text for each format of JSON Schema.
var formats = map[string]string{
	"date-time": "2026-01-15T10:30:00Z", "date": "2026-01-15", "time": "10:30:00Z", "duration": "PT1H",
	"email": "ann@example.org", "idn-email": "ann@example.org", "hostname": "example.org", "idn-hostname": "example.org",
	"ipv4": "192.0.2.7", "ipv6": "2001:db8::7", "uuid": "123e4567-e89b-12d3-a456-426614174000",
	"uri": "https://example.org/a", "iri": "https://example.org/a", "uri-reference": "/a", "iri-reference": "/a", "uri-template": "/a/{b}",
	"json-pointer": "/a", "relative-json-pointer": "0", "regex": "^a$",
}

// Odd is text that tests how a plugin handles quotes, backslashes, line ends and other alphabets.
const Odd = "naïve \"quotes\" \\ back\nline\ttab ¡日本語! 😀 $HOME `ls` %s '; --"

// mostText limits a text of the size Boundary. Another check of `plugin test` sends larger ones.
const mostText = 2000

// mostLength limits a text with a minimum length. A schema that demands more has no samples.
const mostLength = 64 << 10

// text returns a text within its limits.
func (g *generator) text(o object) any {
	if form, ok := o["format"].(string); ok && formats[form] != "" {
		return formats[form]
	}
	if p, ok := o["pattern"].(string); ok {
		if text, ok := matching(p, g.size); ok {
			return stretch(text, count(o, "minLength", 0))
		}
	}
	least := min(count(o, "minLength", 0), mostLength)
	limit := count(o, "maxLength", mostText)
	text := "text"
	switch g.size {
	case Minimal:
		text = strings.Repeat("a", max(least, min(1, limit)))
	case Boundary:
		text = stretch(Odd, min(max(least, limit), mostText))
	}
	return shorten(stretch(text, least), limit)
}

// stretch repeats the last character of a text until it is long enough.
func stretch(text string, least int) string {
	if missing := least - utf8.RuneCountInString(text); missing > 0 && text != "" {
		last, _ := utf8.DecodeLastRuneInString(text)
		text += strings.Repeat(string(last), min(missing, mostLength))
	}
	return text
}

func shorten(text string, most int) string {
	runes := []rune(text)
	return string(runes[:max(0, min(len(runes), most))])
}

// matching returns a text that matches a pattern. It returns false if it finds none.
func matching(pattern, size string) (string, bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	spell(&b, parsed.Simplify(), size)
	re, err := regexp.Compile(pattern)
	return b.String(), err == nil && re.MatchString(b.String())
}

// spell writes a text that an expression matches. Only the size Minimal leaves optional parts out.
// For the size Boundary, a part that is repeated by a plus is written a few times.
func spell(b *strings.Builder, re *syntax.Regexp, size string) {
	times := 1
	if size == Boundary {
		times = 3
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(member(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			spell(b, sub, size)
		}
	case syntax.OpAlternate:
		spell(b, re.Sub[0], size)
	case syntax.OpPlus:
		for range times {
			spell(b, re.Sub[0], size)
		}
	case syntax.OpStar, syntax.OpQuest:
		if size != Minimal {
			spell(b, re.Sub[0], size)
		}
	case syntax.OpRepeat:
		for range max(re.Min, 1) {
			spell(b, re.Sub[0], size)
		}
	}
}

// member returns a character of a class, if possible a letter or a digit.
func member(ranges []rune) rune {
	if len(ranges) == 0 {
		return 'a' // the class is empty
	}
	for _, wish := range "aA0_-" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= wish && wish <= ranges[i+1] {
				return wish
			}
		}
	}
	return ranges[0]
}
