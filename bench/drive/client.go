package drive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// callWithin bounds one request: a turn whose plugins are slow on a busy machine takes seconds.
const callWithin = time.Minute

// A Client calls a daemon. It is safe for concurrent use.
type Client struct {
	url  string
	http *http.Client
}

// NewClient makes a client of the daemon at url. It keeps up to 256 idle connections open for
// reuse.
func NewClient(url string) *Client {
	return &Client{url: url, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}}
}

// Close ends the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call makes a request with a JSON body and decodes the answer into out. A nil in sends no body, a
// nil out ignores the answer.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	answer, err := c.do(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, answer.Status, text)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

func (c *Client) do(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return nil, err
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return c.http.Do(r)
}

// List decodes a list into out. The list is the answer itself, as older daemons send it, or the
// named field of an object.
func (c *Client) List(ctx context.Context, path, name string, out any) error {
	var answer json.RawMessage
	if err := c.Call(ctx, "GET", path, nil, &answer); err != nil {
		return err
	}
	if answer[0] == '{' {
		var page map[string]json.RawMessage
		if err := json.Unmarshal(answer, &page); err != nil {
			return fmt.Errorf("GET %s: %w", path, err)
		}
		if answer = page[name]; answer == nil {
			return fmt.Errorf("GET %s: the answer has no %q", path, name)
		}
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

// CreateSession creates a session with these python plugins, and returns its id.
func (c *Client) CreateSession(ctx context.Context, plugins ...string) (string, error) {
	var s struct {
		ID string `json:"id"`
	}
	in := map[string]any{}
	if len(plugins) > 0 {
		in["plugins"] = plugins
	}
	err := c.Call(ctx, "POST", "/v1/sessions", in, &s)
	return s.ID, err
}

// DeleteSession deletes a session.
func (c *Client) DeleteSession(ctx context.Context, id string) error {
	return c.Call(ctx, "DELETE", "/v1/sessions/"+id, nil, nil)
}

// A Turn is the result of a message.
type Turn struct {
	Turn   string `json:"turn"`
	Status string `json:"status"`
	Text   string `json:"text"`
	Error  any    `json:"error"`
}

// Send sends a message, and returns after the answer. A turn that did not complete is an error.
func (c *Client) Send(ctx context.Context, session, text string) (Turn, error) {
	var t Turn
	err := c.Call(ctx, "POST", "/v1/sessions/"+session+"/message", map[string]any{"text": text}, &t)
	if err == nil && t.Status != "done" {
		err = fmt.Errorf("a turn of session %s ended as %s: %v", session, t.Status, t.Error)
	}
	return t, err
}

// An Entry is one entry of a transcript, with the fields that are compared.
type Entry struct {
	Sequence uint64 `json:"seq"`
	Turn     string `json:"turn"`
	Status   string `json:"status"`
	Message  *struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"message"`
}

// Transcript returns all entries of a session's transcript.
func (c *Client) Transcript(ctx context.Context, session string) ([]Entry, error) {
	var all []Entry
	err := c.Call(ctx, "GET", "/v1/sessions/"+session+"/transcript", nil, &all)
	return all, err
}

// Metrics returns the daemon's counters, by name. Counters that differ only in labels are added up.
func (c *Client) Metrics(ctx context.Context) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	answer, err := c.do(ctx, "GET", "/metrics", nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET /metrics: %s", answer.Status)
	}
	sums := make(map[string]float64)
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || name == "#" {
			continue
		}
		name, _, _ = strings.Cut(name, "{")
		at := strings.LastIndexByte(value, ' ') // labels may contain spaces
		number, err := strconv.ParseFloat(value[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("GET /metrics: %.100q: %w", lines.Text(), err)
		}
		sums[name] += number
	}
	return sums, lines.Err()
}

// Dropped returns how many events the daemon could not store. It returns the larger one of the
// numbers in its metrics and in its health. Metrics without the number are an error.
func (c *Client) Dropped(ctx context.Context) (int, error) {
	var health struct {
		Dropped int `json:"events_dropped"`
	}
	if err := c.Call(ctx, "GET", "/v1/health", nil, &health); err != nil {
		return 0, err
	}
	counters, err := c.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	counted, ok := counters["patchbay_events_dropped_total"]
	if !ok {
		return 0, errors.New("the daemon does not say how many events it dropped: its metrics have no patchbay_events_dropped_total")
	}
	return max(health.Dropped, int(counted)), nil
}
