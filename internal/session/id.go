package session

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"time"
)

// The beginnings of ids.
const (
	Prefix     = "ses_" // of a session's id
	turnPrefix = "turn_"
)

// An id is a prefix, digits of time and digits of chance, in base 32 as a ULID has them: 50 bits of
// milliseconds last for thirty thousand years, and 80 bits of chance are never met twice.
const (
	TimeDigits   = 10
	ChanceDigits = 16
)

// Alphabet is Crockford's base 32 in lower case: it sorts as the numbers do, and has no i, l, o and
// u to misread.
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

// hostDigit is the first digit of the id of another agent's session. No time has it for the next
// fifteen thousand years.
const hostDigit = "h"

// HostID is the id of another agent's session, made from the agent's name and its own id of the
// session: every process, and each daemon that takes the place of another, comes to the same one
// without asking.
func HostID(host, hostSession string) string {
	return Prefix + hostDigit + digest(TimeDigits+ChanceDigits-len(hostDigit), host, hostSession)
}

// IsHost tells the id of another agent's session.
func IsHost(id string) bool {
	return strings.HasPrefix(id, Prefix+hostDigit) && len(id) == len(Prefix)+TimeDigits+ChanceDigits
}

// HostTurnID is the id of a turn in another agent's session, made from the agent's own id of the
// turn.
func HostTurnID(sessionID, hostTurn string) string {
	return turnPrefix + hostDigit + digest(TimeDigits+ChanceDigits-len(hostDigit), sessionID, hostTurn)
}

// digest makes digits of texts. No two lists of texts are taken for one another.
func digest(digits int, texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		sum := sha256.Sum256([]byte(t))
		h.Write(sum[:])
	}
	out := make([]byte, digits)
	for i, b := range h.Sum(nil)[:digits] {
		out[i] = Alphabet[b%32]
	}
	return string(out)
}
