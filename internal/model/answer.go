package model

import (
	"fmt"
	"io"
	"mime"
	"net/http"
)

// An answeredError is an error that the server sent, as an HTTP response or as an event in the
// stream.
type answeredError struct {
	status int         // 0: an event
	header http.Header // nil: an event
	body   []byte      // the beginning of the response, or the data of the event
}

func (e *answeredError) Error() string { return "the server answered with an error" } // see endpoint.refused

// maxErrorBytes limits how much of an error is read; messages have a few hundred bytes.
const maxErrorBytes = 64 << 10

// readError reads an error response. Its text matters less than its status, and may be missing.
func readError(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	if err != nil && len(body) == 0 {
		body = []byte(err.Error())
	}
	return &answeredError{status: resp.StatusCode, header: resp.Header, body: body}
}

// notStream returns an error if the response does not come from a model server: it is a web page or
// a JSON document with a successful status, or its events are in a compression that was not
// requested.
func notStream(resp *http.Response) error {
	if packed := resp.Header.Get("Content-Encoding"); packed != "" && packed != "identity" {
		return &notStreamError{kind: "the encoding " + quote(packed)}
	}
	kind := contentType(resp)
	if kind != "text/html" && kind != "application/json" {
		return nil // other servers may send events with another type or none
	}
	begin, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	if err != nil {
		return err
	}
	return &notStreamError{kind: kind, begin: string(begin)}
}

// noEvents returns the error for a stream that ended without an event.
func noEvents(resp *http.Response) error {
	kind := contentType(resp)
	if kind == "" || kind == "text/event-stream" {
		return nil // cut off at its beginning
	}
	return &notStreamError{kind: kind}
}

// contentType returns the media type of a response, or "" if it has none or an invalid one.
func contentType(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// A notStreamError is an answer that is not a stream of events.
type notStreamError struct{ kind, begin string }

func (e *notStreamError) Error() string {
	text := "the server answered with " + e.kind + " rather than a stream"
	if e.begin != "" {
		text += fmt.Sprintf(": %q", e.begin)
	}
	return text
}
