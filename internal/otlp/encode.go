package otlp

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/patchbay-dev/patchbay/internal/version"
)

// A Span is one piece of work.
type Span struct {
	Trace      [16]byte
	ID         [8]byte
	Parent     [8]byte // zero: none
	Name       string
	Start, End time.Time
	Attributes []Attribute
	Failed     bool
	Message    string // why it failed
}

// An Attribute is a named value: a string, an int64 or a bool.
type Attribute struct {
	Key   string
	Value any
}

// The JSON of OTLP: names in lowerCamelCase, ids in hexadecimal, 64-bit numbers as strings, enums
// as numbers.
type (
	requestJSON struct {
		ResourceSpans []resourceSpansJSON `json:"resourceSpans"`
	}
	resourceSpansJSON struct {
		Resource   resourceJSON     `json:"resource"`
		ScopeSpans []scopeSpansJSON `json:"scopeSpans"`
	}
	resourceJSON struct {
		Attributes []attributeJSON `json:"attributes"`
	}
	scopeSpansJSON struct {
		Scope scopeJSON  `json:"scope"`
		Spans []spanJSON `json:"spans"`
	}
	scopeJSON struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	spanJSON struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []attributeJSON `json:"attributes"`
		Status     *statusJSON     `json:"status,omitempty"`
	}
	statusJSON struct {
		Code    int    `json:"code"`
		Message string `json:"message,omitempty"`
	}
	attributeJSON struct {
		Key   string    `json:"key"`
		Value valueJSON `json:"value"`
	}
	valueJSON struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
		Bool   *bool   `json:"boolValue,omitempty"`
	}
)

// The numbers of OTLP's enums.
const (
	kindInternal = 1 // SPAN_KIND_INTERNAL
	statusError  = 2 // STATUS_CODE_ERROR
)

// scopeName names the program that made the spans.
const scopeName = "github.com/patchbay-dev/patchbay"

// Encode returns the request that exports these spans. The resource describes their sender.
func Encode(resource []Attribute, spans []Span) ([]byte, error) {
	all := make([]spanJSON, len(spans))
	for i := range spans {
		all[i] = spans[i].json()
	}
	return json.Marshal(requestJSON{[]resourceSpansJSON{{
		Resource:   resourceJSON{attributes(resource)},
		ScopeSpans: []scopeSpansJSON{{scopeJSON{scopeName, version.Number}, all}},
	}}})
}

func (s *Span) json() spanJSON {
	out := spanJSON{TraceID: hex.EncodeToString(s.Trace[:]), SpanID: hex.EncodeToString(s.ID[:]), Name: s.Name, Kind: kindInternal,
		Start: nanos(s.Start), End: nanos(s.End), Attributes: attributes(s.Attributes)}
	if s.Parent != [8]byte{} {
		out.Parent = hex.EncodeToString(s.Parent[:])
	}
	if s.Failed {
		out.Status = &statusJSON{statusError, s.Message}
	}
	return out
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func attributes(all []Attribute) []attributeJSON {
	out := make([]attributeJSON, len(all))
	for i, a := range all {
		out[i] = attributeJSON{a.Key, value(a.Value)}
	}
	return out
}

func value(v any) valueJSON {
	switch v := v.(type) {
	case bool:
		return valueJSON{Bool: &v}
	case int64:
		text := strconv.FormatInt(v, 10)
		return valueJSON{Int: &text}
	case string:
		return valueJSON{String: &v}
	}
	return valueJSON{} // OTLP allows an empty value
}
