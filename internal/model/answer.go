package model

import (
	"fmt"
	"io"
	"mime"
	"net/http"
)

// An answeredError is an answer that is an error: an HTTP response, or an event in mid-stream.
type answeredError struct {
	status int         // 0: an event
	header http.Header // nil: an event
	body   []byte      // the beginning of the response, or the event's data
}

func (e *answeredError) Error() string { return "the server answered with an error" } // see endpoint.refused

// maxErrorBytes bounds what is read of an error: messages have a few hundred bytes.
const maxErrorBytes = 64 << 10

// readError reads an error; what it says is worth less than its status, and may be missing.
func readError(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	if err != nil && len(body) == 0 {
		body = []byte(err.Error())
	}
	return &answeredError{status: resp.StatusCode, header: resp.Header, body: body}
}

// notStream catches what is no model server: a page, or a JSON answer of another kind, with a
// status that says all is well; and events in a compression that we did not ask for.
func notStream(resp *http.Response) error {
	if packed := resp.Header.Get("Content-Encoding"); packed != "" && packed != "identity" {
		return &notStreamError{kind: "the encoding " + quote(packed)}
	}
	kind := contentType(resp)
	if kind != "text/html" && kind != "application/json" {
		return nil // a server that says something else, or nothing, may still send events
	}
	begin, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	if err != nil {
		return err
	}
	return &notStreamError{kind: kind, begin: string(begin)}
}

// noEvents is the error of a stream that ended without a single event.
func noEvents(resp *http.Response) error {
	kind := contentType(resp)
	if kind == "" || kind == "text/event-stream" {
		return nil // cut off at its beginning
	}
	return &notStreamError{kind: kind}
}

// contentType is the kind of a response; "": it does not say, or nothing that makes sense.
func contentType(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// A notStreamError is an answer that is no stream of events.
type notStreamError struct{ kind, begin string }

func (e *notStreamError) Error() string {
	text := "the server answered with " + e.kind + " rather than a stream"
	if e.begin != "" {
		text += fmt.Sprintf(": %q", e.begin)
	}
	return text
}
