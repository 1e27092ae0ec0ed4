package otlp

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/version"
)

// Config says where and how spans are sent.
type Config struct {
	URL      *url.URL // of /v1/traces
	Headers  http.Header
	Gzip     bool
	Timeout  time.Duration // of one try
	Resource []Attribute
}

// ErrNoEndpoint reports that neither the caller nor the environment names an address.
var ErrNoEndpoint = errors.New("no collector is named")

// defaultTimeout is OpenTelemetry's default for OTEL_EXPORTER_OTLP_TIMEOUT.
const defaultTimeout = 10 * time.Second

// FromEnviron returns the config for an address, such as http://127.0.0.1:4318, and the OTEL_
// variables. The address overrides that of the variables, unless it is "".
func FromEnviron(address string, getenv func(string) string) (Config, error) {
	own := func(name string) string { // the variable for traces overrides the general one
		if v := getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); v != "" {
			return v
		}
		return getenv("OTEL_EXPORTER_OTLP_" + name)
	}
	c := Config{Timeout: defaultTimeout, Headers: make(http.Header), Gzip: own("COMPRESSION") == "gzip"}
	var err error
	if c.URL, err = endpoint(address, getenv, own("PROTOCOL")); err != nil {
		return c, err
	}
	headers, err := pairs(own("HEADERS"))
	if err != nil {
		return c, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %w", err) // the value is a secret
	}
	for _, h := range headers {
		c.Headers.Set(h.Key, h.Value.(string))
	}
	if ms, err := strconv.Atoi(own("TIMEOUT")); err == nil && ms > 0 {
		c.Timeout = time.Duration(ms) * time.Millisecond
	}
	c.Resource, err = resource(getenv)
	return c, err
}

// endpoint returns the address for traces. It adds /v1/traces if that is missing, except to
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.
func endpoint(address string, getenv func(string) string, protocol string) (*url.URL, error) {
	whole := false // the address already names the path for traces
	if address == "" {
		address = getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
		if whole = address != ""; !whole {
			address = getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
		}
		if address != "" && protocol == "grpc" {
			return nil, errors.New("OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and patchbay speaks http/json: name the collector's HTTP address, mostly port 4318")
		}
	}
	if address == "" {
		return nil, ErrNoEndpoint
	}
	u, err := parseURL(address)
	if err != nil {
		return nil, err
	}
	if !whole && !strings.HasSuffix(u.Path, "/v1/traces") {
		u = u.JoinPath("v1", "traces")
	}
	return u, nil
}

// parseURL parses the address of a collector.
func parseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("not the address of a collector: write it as in http://127.0.0.1:4318")
	}
	return u, nil
}

// pairs parses name=value,name=value with percent-encoded values. Its errors do not repeat the
// text.
func pairs(text string) ([]Attribute, error) {
	var all []Attribute
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, v, ok := strings.Cut(part, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(v))
		if name = strings.TrimSpace(name); !ok || err != nil || name == "" || strings.ContainsAny(name+decoded, "\r\n\x00") {
			return nil, errors.New("want NAME=VALUE,NAME=VALUE, the values percent-encoded")
		}
		all = append(all, Attribute{name, decoded})
	}
	return all, nil
}

// resource returns the attributes that describe the sender of the spans.
func resource(getenv func(string) string) ([]Attribute, error) {
	all, err := pairs(getenv("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	name := "patchbay"
	kept := []Attribute{}
	for _, a := range all {
		if a.Key == "service.name" {
			name = a.Value.(string)
			continue
		}
		kept = append(kept, a)
	}
	if own := getenv("OTEL_SERVICE_NAME"); own != "" {
		name = own
	}
	return append([]Attribute{{"service.name", name}, {"service.version", version.Number}}, kept...), nil
}
