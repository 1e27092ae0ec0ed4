package session

import (
	"crypto/rand"
	"time"
)

// The beginnings of ids.
const (
	Prefix     = "ses_" // of a session's id
	turnPrefix = "turn_"
)

// An id is a prefix, digits of time and digits of chance, in base 32 as a ULID has them: 50 bits of milliseconds last
// for thirty thousand years, and 80 bits of chance are never met twice.
const (
	TimeDigits   = 10
	ChanceDigits = 16
)

// Alphabet is Crockford's base 32 in lower case: it sorts as the numbers do, and has no i, l, o and u to misread.
const Alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// NewTurnID makes the id of a turn: turn_ and letters and digits that sort by time.
func NewTurnID() string { return NewID(turnPrefix, time.Now()) }

// NewID makes an id of that time.
func NewID(prefix string, now time.Time) string {
	var digits [TimeDigits + ChanceDigits]byte
	rand.Read(digits[:]) // never fails: it ends the program rather than return an error
	for i := range digits {
		digits[i] = Alphabet[digits[i]%32]
	}
	for i, ms := TimeDigits-1, now.UnixMilli(); i >= 0; i, ms = i-1, ms/32 {
		digits[i] = Alphabet[ms%32]
	}
	return prefix + string(digits[:])
}
