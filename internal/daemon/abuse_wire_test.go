package daemon

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestShapesOfRequests checks that each sequence of bytes on a connection gets the expected answers
// and never reaches a wrong route. HOST stands for the daemon's own host.
func TestShapesOfRequests(t *testing.T) {
	s := newTestHome(t).serve("", Limits{})
	const get, post = "GET /features HTTP/1.1\r\nHost: HOST\r\n", "POST /session HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n"
	for _, c := range []struct {
		rule, request string
		want          []int // the statuses of the answers
	}{
		{"a plain request", get + "\r\n", []int{200}},
		{"two lengths", post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", []int{400}},
		{"two lengths in one line", post + "Content-Length: 2, 3\r\n\r\n{} ", []int{400}},
		{"a length that is negative", post + "Content-Length: -1\r\n\r\n{}", []int{400}},
		{"a length with a sign", post + "Content-Length: +2\r\n\r\n{}", []int{400}},
		{"a length too large for an integer", post + "Content-Length: 99999999999999999999\r\n\r\n{}", []int{400}},
		{"a length of 8 EiB", post + "Content-Length: 9223372036854775807\r\n\r\n{}", []int{413}},
		{"an unknown coding", post + "Transfer-Encoding: gzip\r\n\r\n{}", []int{501}},
		{"a coding that only resembles chunked", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", []int{501}},
		{"two codings", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", []int{501}},
		{"a chunk whose size is not a number", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", []int{400}},
		{"a chunk that is longer than it says", post + "Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n", []int{400}},
		{"chunks that never end", post + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("x", 2000)+"\r\n{\r\n", 1000), []int{400}},
		{"a space before the colon", get + "Content-Length : 2\r\n\r\n", []int{400}},
		{"a header that is continued", get + "X: a\r\n b\r\n\r\n", []int{200}},
		{"a header without a name", get + ": x\r\n\r\n", []int{400}},
		{"a zero byte in a header", get + "X: a\x00b\r\n\r\n", []int{400}},
		{"a line end inside the path", "GET /features\rX HTTP/1.1\r\nHost: HOST\r\n\r\n", []int{400}},
		{"not HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []int{400}},
		{"HTTP/0.9", "GET /features\r\n\r\n", []int{400}},
		{"HTTP/1.0, which has no host", "GET /features HTTP/1.0\r\n\r\n", []int{403}},
		{"HTTP/1.0 with our host", "GET /features HTTP/1.0\r\nHost: HOST\r\n\r\n", []int{200}},
		{"HTTP/2 without an upgrade", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{403}},
		{"HTTP/2 by upgrade", get + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n", []int{200}},
		{"HTTP/9.9", "GET /features HTTP/9.9\r\nHost: HOST\r\n\r\n", []int{505}},
		{"an unknown method", "FROB /features HTTP/1.1\r\nHost: HOST\r\n\r\n", []int{405}},
		{"TRACE, which would show headers", "TRACE /features HTTP/1.1\r\nHost: HOST\r\nCookie: secret\r\n\r\n", []int{405}},
		{"CONNECT to another host", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", []int{403}},
		{"CONNECT to itself", "CONNECT HOST HTTP/1.1\r\nHost: HOST\r\n\r\n", []int{404}},
		{"OPTIONS of everything", "OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n", []int{404}},
		{"a method override", "GET /session HTTP/1.1\r\nHost: HOST\r\nX-HTTP-Method-Override: POST\r\n\r\n", []int{200}},
		{"a target with its own foreign host", "GET http://evil.example/features HTTP/1.1\r\nHost: HOST\r\n\r\n", []int{403}},
		{"a target of another scheme", "GET file:///etc/passwd HTTP/1.1\r\nHost: HOST\r\n\r\n", []int{404}},
		{"a target that is half a URL", "GET http:/etc/passwd HTTP/1.1\r\nHost: HOST\r\n\r\n", []int{404}},
		{"a path without a slash", "GET features HTTP/1.1\r\nHost: HOST\r\n\r\n", []int{400}},
		{"fifty requests at once", strings.Repeat(get+"\r\n", 50), slices.Repeat([]int{200}, 50)},
		{"a request in the body of a refused one", post + "Origin: http://evil.example\r\nContent-Length: 200\r\n\r\n" + get + "\r\n", []int{403}},
		{"a request in the body of one that is too large", post + "Content-Length: 2000000\r\n\r\n" + get + "\r\n", []int{413}},
		{"a GET with a body", get + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", []int{200}},
		{"a body that waits for permission, too large", post + "Expect: 100-continue\r\nContent-Length: 2000000\r\n\r\n", []int{413}},
		{"an unknown expectation", get + "Expect: miracles\r\n\r\n", []int{417}},
		{"one header of 1 MiB", get + "X: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", []int{431}},
		{"a hundred thousand headers", get + strings.Repeat("X: y\r\n", 100_000) + "\r\n", []int{431}},
		{"a path of 1 MiB", "GET /plugin/" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: HOST\r\n\r\n", []int{431}},
		{"a path of 50 KB", "GET /plugin/" + strings.Repeat("a", 50_000) + " HTTP/1.1\r\nHost: HOST\r\n\r\n", []int{400}},
		{"a path with ten thousand parts", "GET /v1/" + strings.Repeat("a/", 10_000) + " HTTP/1.1\r\nHost: HOST\r\n\r\n", []int{404}},
		{"ten thousand parameters", "GET /v1/traces?" + strings.Repeat("a=b&", 10_000) + " HTTP/1.1\r\nHost: HOST\r\n\r\n", []int{200}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var got []int
			for _, r := range s.talk(strings.ReplaceAll(c.request, "HOST", s.addr), len(c.want)) {
				got = append(got, r.status)
				if strings.Contains(r.body, "secret") || len(r.body) > 64<<10 {
					t.Errorf("answered %.200s", r.body)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("answers %v, want %v", got, c.want)
			}
		})
	}
	s.works("all of them")
}

// TestHosts checks that requests with a foreign host name are refused, also if that name points to
// this machine.
func TestHosts(t *testing.T) {
	s := newTestHome(t).serve("", Limits{})
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host string
		want int
	}{
		{"127.0.0.1:PORT", 200}, {"localhost:PORT", 200}, {"LOCALHOST:PORT", 200}, {"[::1]:PORT", 200}, {"[::ffff:127.0.0.1]:PORT", 200},
		{"127.0.0.1", 403}, {"localhost", 403}, {"127.0.0.1:1", 403}, {"127.0.0.1:", 403}, {"127.0.0.1:PORT0", 403}, {"", 403},
		{"evil.example", 403}, {"evil.example:PORT", 403}, {"localhost.evil.example:PORT", 403}, {"evil-localhost:PORT", 403},
		{"127.0.0.1.nip.io:PORT", 403}, {"localtest.me:PORT", 403}, {"127.0.0.1.:PORT", 403}, {"localhost.:PORT", 403},
		{"0.0.0.0:PORT", 403}, {"[::]:PORT", 403}, {"0:PORT", 403}, {"127.1:PORT", 403}, {"2130706433:PORT", 403}, {"0x7f.0.0.1:PORT", 403},
		{"0177.0.0.1:PORT", 403}, {"169.254.169.254:PORT", 403}, {"192.168.0.1:PORT", 403}, {"[::1%25lo]:PORT", 200}, {"[fe80::1]:PORT", 403},
		{"user@127.0.0.1:PORT", 400}, {"127.0.0.1:PORT@evil.example", 400}, {"evil.example#@127.0.0.1:PORT", 400}, {"127.0.0.1:PORT/", 400},
		{"127.0.0.1:PORT, evil.example", 400}, {"127.0.0.1:PORT:PORT", 403}, {"[127.0.0.1]:PORT", 200}, {"[localhost]:PORT", 200},
		{"ｌocalhost:PORT", 400}, {"127。0。0。1:PORT", 400}, {"localhost\x00:PORT", 400},
	} {
		host := strings.ReplaceAll(c.host, "PORT", port)
		got := s.talk("GET /features HTTP/1.1\r\nHost: "+host+"\r\n\r\n", 1)
		if len(got) != 1 || got[0].status != c.want {
			t.Errorf("Host: %q: %+v, want %d", host, got, c.want)
		}
	}
	if got := s.talk("GET /features HTTP/1.1\r\n\r\n", 1); len(got) != 1 || got[0].status != http.StatusBadRequest {
		t.Errorf("no host: %+v", got)
	}
	if got := s.talk(fmt.Sprintf("GET /features HTTP/1.1\r\nHost: %s\r\nHost: evil.example\r\n\r\n", s.addr), 1); len(got) != 1 || got[0].status != http.StatusBadRequest {
		t.Errorf("two hosts: %+v", got)
	}
	if got := s.do("GET", "/features", "", "X-Forwarded-Host", "evil.example", "Forwarded", "host=evil.example"); got.status != 200 || strings.Contains(got.body, "evil") {
		t.Errorf("forwarded: %+v", got)
	}
}
