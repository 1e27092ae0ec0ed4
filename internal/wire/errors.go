package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

var (
	// ErrTooLarge means that a message, sent or received, was over the size limit. The connection
	// goes on.
	ErrTooLarge = errors.New("message too large")

	// ErrRequestTooLarge means that the message which the host wanted to send was over the size
	// limit. It is an [ErrTooLarge].
	ErrRequestTooLarge = fmt.Errorf("%w to send", ErrTooLarge)
	// ErrClosed means that the connection has ended: the plugin closed its side, or the host did.
	ErrClosed = errors.New("connection closed")
	// ErrBacklog means that the plugin does not read, and that too many bytes already wait to be
	// sent to it.
	ErrBacklog = errors.New("plugin does not read its input")
)

// Error codes of JSON-RPC 2.0, section 5.1, that this package sends itself, and limits and texts of
// errors.
const (
	codeParse    = -32700 // not JSON
	codeInvalid  = -32600 // JSON, but not a request
	codeNoMethod = -32601
	codeInternal = -32603
	codeOverload = -32000 // from the range for implementations
	messageCut   = 200    // bytes of a plugin's text in errors and noise: one line of a log
	idCut        = 64     // bytes of a plugin's id
	noMethodText = "Method not found"
	overloadText = "too many requests in flight"
	tooLargeText = "reply is over the size limit"
	invalidText  = "Invalid Request"
)

// An RPCError is an error that the other side answered with, or that a handler wants to answer
// with.
type RPCError struct {
	Code    int
	Message string
	Data    json.RawMessage
}

func (e *RPCError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("answered with error %d and without a message", e.Code)
	}
	return fmt.Sprintf("answered with error %d: %q", e.Code, excerpt.Head(e.Message, messageCut))
}

// A MalformedError is a reply that is not valid JSON-RPC.
type MalformedError struct {
	Line string // shortened
	Why  string
}

func (e *MalformedError) Error() string { return fmt.Sprintf("malformed reply: %s: %q", e.Why, e.Line) }

// A NoiseKind is the kind of a [Noise].
type NoiseKind int

// The kinds of noise.
const (
	NoiseGarbage   NoiseKind = iota + 1 // not a JSON-RPC message; ignored
	NoiseTooLarge                       // over the size limit; discarded
	NoiseLate                           // a reply to a call that was given up; discarded
	NoiseDuplicate                      // a second reply to one call; discarded
	NoiseWrongID                        // a reply with an id of no call: Serial accepts it for the outstanding call, Peer discards it
	NoiseStale                          // a reply while no call was outstanding; discarded
	NoiseUnasked                        // a notification or request for which there is no handler
	NoiseUnsent                         // an answer to the plugin's request that could not be sent
)

func (k NoiseKind) String() string {
	names := [...]string{"unknown", "garbage", "too large", "late reply", "duplicate reply", "wrong id", "stale reply", "unasked", "unsent answer"}
	if k < 0 || int(k) >= len(names) {
		k = 0
	}
	return names[k]
}

// A Noise is something that a plugin sent and that belongs to no call. The owner of the connection
// logs it.
type Noise struct {
	Kind NoiseKind
	Line string // the text, shortened to 200 bytes
	ID   string // the id in it as it was written, if there is one
	Why  string // for NoiseGarbage: what is wrong with the line; for NoiseWrongID: that the reply was accepted, if it was
}

// Options are common to [Serial] and [Peer]. The zero value works.
type Options struct {
	MaxSend, MaxReceive int         // bytes per message, without the newline; 0: 4 MiB
	OnNoise             func(Noise) // nil: dropped. It must be quick: it is called on the reading goroutine, or for NoiseUnsent on another
}

// defaultMax is the limit of docs/protocols/kaged.md, row K78.
const defaultMax = 4 << 20

func (o Options) maxSend() int    { return orDefault(o.MaxSend, defaultMax) }
func (o Options) maxReceive() int { return orDefault(o.MaxReceive, defaultMax) }

func orDefault(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// noise reports a noise to the owner. The strings are made only if there is a handler.
func (o Options) noise(kind NoiseKind, line []byte, id []byte) {
	if o.OnNoise != nil {
		o.OnNoise(Noise{Kind: kind, Line: excerpt.Head(line, messageCut), ID: excerpt.Head(id, idCut)})
	}
}

// garbage reports a line that is not a message.
func (o Options) garbage(line []byte, err error) {
	if o.OnNoise == nil {
		return
	}
	why := err.Error()
	if line[0] == '{' && !errors.Is(err, errDeep) { // authors often print a message over several lines
		why += " (a message is one JSON object on one line)"
	}
	o.OnNoise(Noise{Kind: NoiseGarbage, Line: excerpt.Head(line, messageCut), Why: why})
}

// tooLarge returns the error of a message that is too large to be sent.
func tooLarge(size, limit int) error {
	return fmt.Errorf("%w: %d bytes, the limit is %d", ErrRequestTooLarge, size, limit)
}
