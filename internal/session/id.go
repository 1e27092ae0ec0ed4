package session

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"time"
)

// The prefixes of ids.
const (
	Prefix     = "ses_" // of a session's id
	turnPrefix = "turn_"
)

// An id is a prefix, digits of the time and random digits, in base 32 like a ULID. 50 bits of
// milliseconds last for thirty thousand years, and 80 random bits never collide.
const (
	TimeDigits   = 10
	ChanceDigits = 16
)

// Alphabet is Crockford's base 32 in lower case. It sorts as the numbers do, and leaves out i, l, o
// and u, which are easily misread.
const Alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// NewTurnID makes the id of a turn: turn_, and letters and digits that sort by time.
func NewTurnID() string { return NewID(turnPrefix, time.Now()) }

// NewID makes an id for the time now.
func NewID(prefix string, now time.Time) string {
	var digits [TimeDigits + ChanceDigits]byte
	rand.Read(digits[:]) // never fails: it ends the program instead of returning an error
	for i := range digits {
		digits[i] = Alphabet[digits[i]%32]
	}
	for i, ms := TimeDigits-1, now.UnixMilli(); i >= 0; i, ms = i-1, ms/32 {
		digits[i] = Alphabet[ms%32]
	}
	return prefix + string(digits[:])
}

// hostDigit is the first digit in the id of another agent's session. No time begins with this digit
// for the next fifteen thousand years.
const hostDigit = "h"

// HostID returns the id of another agent's session. It is made of the agent's name and the agent's
// own id of the session, so that all processes get the same id without asking each other.
func HostID(host, hostSession string) string {
	return Prefix + hostDigit + digest(TimeDigits+ChanceDigits-len(hostDigit), host, hostSession)
}

// IsHost reports whether an id belongs to another agent's session.
func IsHost(id string) bool {
	return strings.HasPrefix(id, Prefix+hostDigit) && len(id) == len(Prefix)+TimeDigits+ChanceDigits
}

// HostTurnID returns the id of a turn in another agent's session. It is made of the agent's own id
// of the turn.
func HostTurnID(sessionID, hostTurn string) string {
	return turnPrefix + hostDigit + digest(TimeDigits+ChanceDigits-len(hostDigit), sessionID, hostTurn)
}

// digest makes digits of a list of texts. Different lists have different digits.
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
