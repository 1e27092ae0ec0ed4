package modeltest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// A Reply says how the server answers one request. The zero value is an empty reply with a proper
// end.
type Reply struct {
	Text  string // streamed word by word
	Tools []Tool // called after the text
	Stop  string // the provider's word for the reason of the end; "": the fitting one

	Input, Output int // the reported usage

	Status int               // not 0: an HTTP error instead of the reply
	Header map[string]string // of the HTTP response
	Body   string            // of the error; "": Error in the provider's format

	// Instead of a proper end, after the text and the tools:
	Raw   string // these bytes, as they are, and the end of the body
	Error string // an error event: the provider's word for its kind
	Cut   bool   // the connection is closed
	Hang  bool   // nothing comes until the client disconnects
}

// A Tool is a tool call of a reply.
type Tool struct {
	ID        string
	Name      string
	Arguments string // sent unchanged, in two parts, JSON or not
}

// A Request is a request that the server got.
type Request struct {
	Format Format // for a [Scripted] server
	Path   string
	Header http.Header
	Body   []byte
}

// JSON decodes the request's body into v.
func (r Request) JSON(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(r.Body, v); err != nil {
		t.Fatalf("request body %q: %v", r.Body, err)
	}
}

// A Server is a provider on loopback. It is closed with its test.
type Server struct {
	URL string // the base URL to configure

	t        testing.TB
	formatAt func(path string) (Format, encoder) // nil: 404
	quit     chan struct{}                       // closed when the test ends, which ends hanging replies
	next     func(Request) Reply                 // nil: the next of replies

	mu       sync.Mutex // protects the fields below
	replies  []Reply    // not yet played
	requests []Request
}

// Anthropic starts a server that speaks Anthropic's Messages. Each request takes the next reply; a
// request without a reply fails the test.
func Anthropic(t testing.TB, replies ...Reply) *Server {
	t.Helper()
	s := &Server{t: t, formatAt: only(Messages), replies: replies}
	s.start("")
	return s
}

// OpenAI starts a server that speaks OpenAI's Chat Completions. Each request takes the next reply;
// a request without a reply fails the test.
func OpenAI(t testing.TB, replies ...Reply) *Server {
	t.Helper()
	s := &Server{t: t, formatAt: only(ChatCompletions), replies: replies}
	s.start("/v1")
	return s
}

func (s *Server) start(base string) {
	s.quit = make(chan struct{})
	srv := httptest.NewServer(s)
	s.URL = srv.URL + base
	s.t.Cleanup(func() {
		close(s.quit)
		srv.CloseClientConnections()
		srv.Close() // also closes idle connections of http.DefaultTransport
	})
}

// Requests returns all requests so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Last returns the latest request; there must be one.
func (s *Server) Last() Request {
	s.t.Helper()
	all := s.Requests()
	if len(all) == 0 {
		s.t.Fatal("modeltest: there was no request")
	}
	return all[len(all)-1]
}

// Add adds replies to be played.
func (s *Server) Add(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies = append(s.replies, replies...)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	format, enc := s.formatAt(r.URL.Path)
	reply, ok := s.record(r, format)
	switch {
	case r.Method != http.MethodPost || enc == nil:
		http.Error(w, "modeltest: "+r.Method+" "+r.URL.Path+" is not served", http.StatusNotFound)
	case !ok:
		s.t.Errorf("modeltest: one request too many: %s", r.URL.Path)
		http.Error(w, "modeltest: no reply left", http.StatusBadRequest)
	case reply.Status != 0:
		s.refuse(w, enc, reply)
	default:
		s.play(w, r, enc, reply)
	}
}

// record records the request and takes its reply.
func (s *Server) record(r *http.Request, format Format) (Reply, bool) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Logf("modeltest: request body: %v", err) // the client disconnected
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	request := Request{Format: format, Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	s.requests = append(s.requests, request)
	if s.next != nil {
		return s.next(request), true
	}
	if len(s.replies) == 0 {
		return Reply{}, false
	}
	reply := s.replies[0]
	s.replies = s.replies[1:]
	return reply, true
}

func (s *Server) refuse(w http.ResponseWriter, enc encoder, reply Reply) {
	w.Header().Set("Content-Type", "application/json")
	setHeader(w, reply)
	w.WriteHeader(reply.Status)
	body := reply.Body
	if body == "" {
		body = enc.refusal(reply.Error)
	}
	_, _ = io.WriteString(w, body) // the client may have disconnected
}

func setHeader(w http.ResponseWriter, reply Reply) {
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
}
