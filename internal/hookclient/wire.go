package hookclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/localsock"
)

// Protocol is the version of the protocol between hook programs and the daemon. A daemon with
// another version answers 501.
const Protocol = 1

// SocketName is the daemon's socket, below the state directory.
const SocketName = "patchbay.sock"

// A Request is an event of another agent, as it is sent to the daemon.
type Request struct {
	Protocol int               `json:"protocol"`
	Version  string            `json:"version"` // of the client; "": any version will do
	Event    string            `json:"event,omitempty"`
	Dir      string            `json:"dir"`
	Environ  map[string]string `json:"environ,omitempty"`
	Input    json.RawMessage   `json:"input"` // what the agent wrote, as a string if it is not JSON
	Deadline int64             `json:"deadline_ms"`
}

// NewRequest returns the request for an event.
func NewRequest(in codehook.Input, version string) Request {
	r := Request{Protocol: Protocol, Version: version, Event: in.Event, Dir: in.Dir, Environ: in.Environ, Input: in.Data}
	if !json.Valid(in.Data) {
		r.Input, _ = json.Marshal(string(in.Data)) // a string can always be encoded
	}
	return r
}

// Moment parses the event of a request.
func (r *Request) Moment(agent codehook.Agent) (*codehook.Moment, error) {
	data := []byte(r.Input)
	var text string
	if json.Unmarshal(r.Input, &text) == nil {
		data = []byte(text)
	}
	return codehook.Parse(codehook.Input{Agent: agent, Event: r.Event, Data: data, Dir: r.Dir, Environ: r.Environ})
}

// An Answer is the answer for the agent, with notes on requests of plugins that the agent cannot
// fulfil.
type Answer struct {
	codehook.Answer
	Notes []string `json:"notes,omitempty"`
}

// MaxAnswer limits the length of an answer. It may contain a whole rewritten event, with escaped
// characters.
const MaxAnswer = 4 * codehook.MaxInput

// The reasons why exchange returns no answer.
var (
	errNoDaemon = errors.New("no daemon is running")
	errGone     = errors.New("the daemon went away before it answered")
	errVersion  = errors.New("the daemon has another version, and ends so that a daemon of this version can replace it")
	errForeign  = errors.New("the daemon speaks another protocol")
)

// exchange sends one request to the daemon. It writes HTTP/1.1 by hand, because loading net/http
// takes longer than the daemon's answer.
func exchange(ctx context.Context, socket string, agent codehook.Agent, r Request) (*Answer, error) {
	conn, err := localsock.Dial(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, errNoDaemon
	case isAway(err):
		return nil, fmt.Errorf("%w: %w", errGone, err)
	case err != nil:
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	if at, ok := ctx.Deadline(); ok {
		r.Deadline = max(time.Until(at).Milliseconds(), 1)
	}
	status, body, err := post(conn, "/v1/hooks/"+string(agent), r)
	switch {
	case err == nil:
		return readAnswer(status, body) // even if ctx has ended meanwhile: a refusal must not be lost
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("%w: %w", errGone, err)
}

// isAway reports whether err comes from a daemon that is ending, or too busy to accept a
// connection.
func isAway(err error) bool {
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return true
	}
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, io.EOF)
}

// readAnswer interprets the status of a response. docs/http-api.md describes the statuses.
func readAnswer(status int, body []byte) (*Answer, error) {
	var a struct {
		Answer
		Detail string `json:"detail"`
	}
	err := json.Unmarshal(body, &a)
	switch {
	case status == 503:
		return nil, errGone
	case status == 409:
		return nil, errVersion
	case status == 404, status == 405, status == 501:
		return nil, errForeign
	case err != nil:
		return nil, fmt.Errorf("the daemon's answer: %w", err)
	case status != 200:
		return nil, fmt.Errorf("the daemon says: %s", a.Detail)
	}
	return &a.Answer, nil
}

// post sends one request on a connection and reads the whole response.
func post(conn net.Conn, path string, v any) (status int, body []byte, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return 0, nil, err
	}
	head := "POST " + path + " HTTP/1.1\r\nHost: patchbay\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
		strconv.Itoa(len(text)) + "\r\n\r\n"
	// A daemon that refuses may answer and close before it has read everything. Then its response
	// counts, and not our write error.
	_, writeErr := conn.Write(append([]byte(head), text...))
	status, body, err = readResponse(bufio.NewReader(conn))
	if err != nil {
		return 0, nil, errors.Join(err, writeErr)
	}
	return status, body, nil
}

// maxHeader limits the size of the header.
const maxHeader = 64 << 10

func readResponse(r *bufio.Reader) (status int, body []byte, err error) {
	limited := &io.LimitedReader{R: r, N: maxHeader}
	head := bufio.NewReaderSize(limited, 4096)
	line, err := head.ReadString('\n')
	if err != nil {
		return 0, nil, truncated(err)
	}
	if _, err := fmt.Sscanf(line, "HTTP/1.1 %3d", &status); err != nil {
		return 0, nil, fmt.Errorf("the daemon's answer is not HTTP: %.60q", line)
	}
	length, chunked := -1, false
	for {
		line, err := head.ReadString('\n')
		if err != nil {
			return 0, nil, truncated(err)
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch strings.ToLower(name) {
		case "":
			limited.N = MaxAnswer
			body, err = readBody(head, length, chunked)
			return status, body, err
		case "content-length":
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return 0, nil, err
			}
		case "transfer-encoding":
			chunked = strings.EqualFold(strings.TrimSpace(value), "chunked")
		}
	}
}

func readBody(r *bufio.Reader, length int, chunked bool) ([]byte, error) {
	switch {
	case chunked:
		return readChunks(r)
	case length > MaxAnswer:
		return nil, fmt.Errorf("the daemon's answer is too long: %d bytes", length)
	case length >= 0:
		body := make([]byte, length)
		_, err := io.ReadFull(r, body)
		return body, truncated(err)
	}
	return io.ReadAll(r) // up to the end of the connection; a truncated body is not JSON
}

func readChunks(r *bufio.Reader) ([]byte, error) {
	var body []byte
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, truncated(err)
		}
		size, err := strconv.ParseUint(strings.TrimSpace(line), 16, 31)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the daemon's answer: %w", err)
		case size == 0:
			return body, nil
		case len(body)+int(size) > MaxAnswer:
			return nil, errors.New("the daemon's answer is too long")
		}
		piece := make([]byte, size+2)
		if _, err := io.ReadFull(r, piece); err != nil {
			return nil, truncated(err)
		}
		body = append(body, piece[:size]...)
	}
}

// truncated replaces io.EOF, which here means a truncated response, by io.ErrUnexpectedEOF.
func truncated(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
