package session

import (
	"crypto/rand"
	"time"
)

const (
	sessionPrefix = "ses_"
	turnPrefix    = "turn_"
)

// An id is a prefix, digits of time and digits of chance, in base 32 as a ULID has them: 50 bits of milliseconds last
// for thirty thousand years, and 80 bits of chance are never met twice.
const (
	timeDigits   = 10
	chanceDigits = 16
)

// alphabet is Crockford's base 32 in lower case: it sorts as the numbers do, and has no i, l, o and u to misread.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// NewTurnID makes the id of a turn: turn_ and letters and digits that sort by time.
func NewTurnID() string { return newID(turnPrefix, time.Now()) }

func newID(prefix string, now time.Time) string {
	var digits [timeDigits + chanceDigits]byte
	rand.Read(digits[:]) // never fails: it ends the program rather than return an error
	for i := range digits {
		digits[i] = alphabet[digits[i]%32]
	}
	for i, ms := timeDigits-1, now.UnixMilli(); i >= 0; i, ms = i-1, ms/32 {
		digits[i] = alphabet[ms%32]
	}
	return prefix + string(digits[:])
}
