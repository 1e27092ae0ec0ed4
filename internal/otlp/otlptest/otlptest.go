// Package otlptest has a collector for tests. It accepts OTLP over HTTP in JSON, and refuses
// requests that break the rules of that format. The product does not import it.
//
//	New      a server on loopback
//	Parse    one request, checked: ids in hexadecimal, 64-bit numbers as strings, enums as numbers, no unknown field
package otlptest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// A Span is a received span.
type Span struct {
	TraceID, SpanID, Parent string
	Name                    string
	Start, End              int64
	Attributes              map[string]any
	Status                  Status
}

// A Status says how a span ended.
type Status struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// A Request is the content of one POST.
type Request struct {
	Resource map[string]any
	Spans    []Span
}

// A Collector is a server that accepts traces.
type Collector struct {
	URL string

	mu       sync.Mutex // protects the fields below
	requests []Request
	header   http.Header
}

// New starts a collector. A request that breaks the rules fails the test.
func New(t testing.TB) *Collector {
	c := new(Collector)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.accept(r); err != nil {
			t.Errorf("collector: %v", err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"partialSuccess":{}}`)
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// accept checks a request and stores it.
func (c *Collector) accept(r *http.Request) error {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		return fmt.Errorf("%s %s with %q", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	request, err := Parse(text)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests, c.header = append(c.requests, request), r.Header.Clone()
	return nil
}

// Spans returns all received spans.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Span
	for _, r := range c.requests {
		all = append(all, r.Spans...)
	}
	return all
}

// Header returns the header of the last request.
func (c *Collector) Header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header
}

// Resource returns the resource of the last request.
func (c *Collector) Resource() map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[len(c.requests)-1].Resource
}

type (
	requestJSON struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []attributeJSON `json:"attributes"`
			} `json:"resource"`
			ScopeSpans []struct {
				Scope struct {
					Name    string `json:"name"`
					Version string `json:"version"`
				} `json:"scope"`
				Spans []spanJSON `json:"spans"`
			} `json:"scopeSpans"`
		} `json:"resourceSpans"`
	}
	spanJSON struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Parent     string          `json:"parentSpanId"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []attributeJSON `json:"attributes"`
		Status     Status          `json:"status"`
	}
	attributeJSON struct {
		Key   string `json:"key"`
		Value struct {
			String *string `json:"stringValue"`
			Int    *string `json:"intValue"`
			Bool   *bool   `json:"boolValue"`
		} `json:"value"`
	}
)

// Parse decodes a request. Its error names the broken rule.
func Parse(text []byte) (Request, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var in requestJSON
	if err := d.Decode(&in); err != nil {
		return Request{}, err
	}
	if len(in.ResourceSpans) != 1 || len(in.ResourceSpans[0].ScopeSpans) != 1 || in.ResourceSpans[0].ScopeSpans[0].Scope.Name == "" {
		return Request{}, errors.New("want one resource with one scope that has a name")
	}
	out := Request{}
	var err error
	if out.Resource, err = attributes(in.ResourceSpans[0].Resource.Attributes); err != nil {
		return out, err
	}
	for _, s := range in.ResourceSpans[0].ScopeSpans[0].Spans {
		span, err := s.span()
		if err != nil {
			return out, fmt.Errorf("span %q: %w", s.Name, err)
		}
		out.Spans = append(out.Spans, span)
	}
	return out, nil
}

var (
	traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)
	spanID  = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

func (s *spanJSON) span() (Span, error) {
	start, errStart := strconv.ParseInt(s.Start, 10, 64)
	end, errEnd := strconv.ParseInt(s.End, 10, 64)
	all, errAttributes := attributes(s.Attributes)
	err := errors.Join(errStart, errEnd, errAttributes)
	switch {
	case err != nil:
	case !traceID.MatchString(s.TraceID) || !spanID.MatchString(s.SpanID) || s.Parent != "" && !spanID.MatchString(s.Parent):
		err = fmt.Errorf("the ids %q, %q and %q are not in hexadecimal, of 16 and 8 bytes", s.TraceID, s.SpanID, s.Parent)
	case s.TraceID == "00000000000000000000000000000000" || s.SpanID == "0000000000000000" || s.Parent == s.SpanID:
		err = errors.New("an id is zero, or the span is its own parent")
	case s.Name == "" || s.Kind < 1 || s.Kind > 5 || s.Status.Code < 0 || s.Status.Code > 2:
		err = errors.New("it has no name, or a kind or a status that does not exist")
	case start <= 0 || end < start:
		err = fmt.Errorf("it starts at %d and ends at %d", start, end)
	}
	return Span{TraceID: s.TraceID, SpanID: s.SpanID, Parent: s.Parent, Name: s.Name, Start: start, End: end, Attributes: all, Status: s.Status}, err
}

// attributes decodes attributes: each key once, each value of one kind.
func attributes(list []attributeJSON) (map[string]any, error) {
	all := make(map[string]any)
	for _, a := range list {
		if _, twice := all[a.Key]; twice || a.Key == "" {
			return nil, fmt.Errorf("the attribute %q occurs twice, or has no name", a.Key)
		}
		switch v := a.Value; {
		case v.String != nil && v.Int == nil && v.Bool == nil:
			all[a.Key] = *v.String
		case v.Int != nil && v.Bool == nil && v.String == nil:
			n, err := strconv.ParseInt(*v.Int, 10, 64)
			if err != nil {
				return nil, err
			}
			all[a.Key] = n
		case v.Bool != nil && v.String == nil && v.Int == nil:
			all[a.Key] = *v.Bool
		default:
			return nil, fmt.Errorf("the attribute %q has no value, or several", a.Key)
		}
	}
	return all, nil
}
