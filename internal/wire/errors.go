package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

var (
	// ErrTooLarge says that a message, sent or received, was over the cap. The connection lives on.
	ErrTooLarge = errors.New("message too large")
	// ErrClosed says that the connection has ended: the plugin closed its side, or we ours.
	ErrClosed = errors.New("connection closed")
	// ErrBacklog says that the plugin does not read, and that more waits for it than is let wait.
	ErrBacklog = errors.New("plugin does not read its input")
)

// Codes of JSON-RPC 2.0, section 5.1, that this package sends itself.
const (
	codeParse     = -32700 // not JSON
	codeInvalid   = -32600 // JSON, but no request
	codeNoMethod  = -32601
	codeInternal  = -32603
	codeOverload  = -32000 // the range left to implementations
	messageCut    = 200    // of foreign text in errors and noise, in bytes: a line of a log
	idCut         = 64     // of a foreign id
	noMethodText  = "Method not found"
	overloadText  = "too many requests in flight"
	tooLargeText  = "reply is over the size limit"
	notObjectText = "Invalid Request"
)

// RPCError is an error that the other side answered with, or that we are to answer with.
type RPCError struct {
	Code    int
	Message string
	Data    json.RawMessage
}

func (e *RPCError) Error() string {
	return fmt.Sprintf("answered with error %d: %q", e.Code, excerpt.Head(e.Message, messageCut))
}

// MalformedError is a reply to our call that is not a valid JSON-RPC reply.
type MalformedError struct {
	Line string // cut
	Why  string
}

func (e *MalformedError) Error() string { return fmt.Sprintf("malformed reply: %s: %q", e.Why, e.Line) }

// NoiseKind tells noises apart.
type NoiseKind int

// The kinds of noise.
const (
	NoiseGarbage   NoiseKind = iota + 1 // not a JSON-RPC message; passed over
	NoiseTooLarge                       // over the cap; discarded
	NoiseLate                           // a reply to a call that was given up; discarded
	NoiseDuplicate                      // a second reply to one call; discarded
	NoiseWrongID                        // a reply with an id that fits no call: Serial takes it for the outstanding one, Peer discards it
	NoiseStale                          // a reply that arrived while no call was outstanding; discarded
	NoiseUnasked                        // a notification or request that nobody here listens to
	NoiseUnsent                         // an answer to the plugin's request that could not be sent
)

func (k NoiseKind) String() string {
	names := [...]string{"unknown", "garbage", "too large", "late reply", "duplicate reply", "wrong id", "stale reply", "unasked", "unsent answer"}
	if k < 0 || int(k) >= len(names) {
		k = 0
	}
	return names[k]
}

// Noise is something a plugin sent that belongs to no call. The owner of the connection logs it.
type Noise struct {
	Kind NoiseKind
	Line string // what was sent, cut to 200 bytes
	ID   string // the id in it, as it was written, where there is one
	Why  string // for NoiseGarbage: what is wrong with the line
}

// Options are the same for [Serial] and [Peer]. The zero value works.
type Options struct {
	MaxSend, MaxReceive int         // bytes a message, without the newline; 0: 4 MiB
	OnNoise             func(Noise) // nil: dropped. Must be quick: it is called on the reading goroutine (NoiseUnsent: or on another)
}

// defaultMax is seed 002's "Max message size: 4 MB".
const defaultMax = 4 << 20

func (o Options) maxSend() int    { return orDefault(o.MaxSend, defaultMax) }
func (o Options) maxReceive() int { return orDefault(o.MaxReceive, defaultMax) }

func orDefault(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// noise tells the owner, if it wants to know. The strings are made only then.
func (o Options) noise(kind NoiseKind, line []byte, id []byte) {
	if o.OnNoise != nil {
		o.OnNoise(Noise{Kind: kind, Line: excerpt.Head(line, messageCut), ID: excerpt.Head(id, idCut)})
	}
}

// garbage is the noise for a line that is no message.
func (o Options) garbage(line []byte, err error) {
	if o.OnNoise == nil {
		return
	}
	why := err.Error()
	if line[0] == '{' && !errors.Is(err, errDeep) { // docs/protocols/scaffold.md: a message is one line. Authors often print it over several
		why += " (a message is one JSON object on one line)"
	}
	o.OnNoise(Noise{Kind: NoiseGarbage, Line: excerpt.Head(line, messageCut), Why: why})
}

// tooLarge is the error for a message we will not send.
func tooLarge(size, limit int) error {
	return fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, size, limit)
}
