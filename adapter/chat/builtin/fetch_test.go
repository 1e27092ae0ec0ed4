package builtin

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// server starts a server on loopback for the test.
func server(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}

// page starts a server with one answer.
func page(t *testing.T, contentType, body string) string {
	t.Helper()
	return server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{contentType}
		if contentType == "" {
			w.Header()["Content-Type"] = nil
		}
		_, _ = w.Write([]byte(body))
	})
}

func TestFetch(t *testing.T) {
	b := newBench(t, Options{})

	t.Run("status, address and type come first, then the text", func(t *testing.T) {
		u := page(t, "text/plain; charset=utf-8", "hello\n")
		if got, want := b.ok("fetch", args{"url": u + "/x"}), "200 OK  "+u+"/x  text/plain\n\nhello\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
	t.Run("HTML becomes text, unless it is wanted raw", func(t *testing.T) {
		u := page(t, "text/html", "<h1>Head</h1><script>no()</script><p>See <a href='/more'>this</a>")
		contains(t, b.ok("fetch", args{"url": u}), "# Head\n\nSee this ("+u+"/more)")
		contains(t, b.ok("fetch", args{"url": u, "raw": true}), "<script>no()</script>")
	})
	t.Run("JSON and similar types are text", func(t *testing.T) {
		for _, kind := range []string{"application/json", "application/problem+json", "image/svg+xml", "application/x-yaml"} {
			contains(t, b.ok("fetch", args{"url": page(t, kind, `{"a":1}`)}), `{"a":1}`)
		}
	})
	t.Run("without a type from the server, the content decides", func(t *testing.T) {
		contains(t, b.ok("fetch", args{"url": page(t, "", "plain words")}), "plain words")
		contains(t, b.ok("fetch", args{"url": page(t, "application/octet-stream", "plain words")}), "plain words")
		b.fails("fetch", args{"url": page(t, "", "\x89PNG\r\n\x1a\n\x00\x00")}, "image/png", "not text")
	})
	t.Run("content that is not text is not shown", func(t *testing.T) {
		r := b.fails("fetch", args{"url": page(t, "image/png", "pixels")}, "image/png", "not text")
		if strings.Contains(r.Output, "pixels") {
			t.Error(r.Output)
		}
		b.fails("fetch", args{"url": page(t, "text/plain", "a\x00b")}, "not text")
	})
	t.Run("old charsets are understood", func(t *testing.T) {
		contains(t, b.ok("fetch", args{"url": page(t, "text/html; charset=iso-8859-1", "<p>Gr\xfc\xdfe")}), "Grüße")
		contains(t, b.ok("fetch", args{"url": page(t, "text/html", "<meta charset=shift_jis><p>\x93\xfa\x96\x7b")}), "日本")
		contains(t, b.ok("fetch", args{"url": page(t, "text/plain; charset=utf-16le", "a\x00b\x00")}), "ab")
	})
	t.Run("an empty answer is reported as empty", func(t *testing.T) {
		contains(t, b.ok("fetch", args{"url": page(t, "text/plain", "")}), "[the answer is empty]")
	})
	t.Run("a status that is not 2xx fails, and shows the body", func(t *testing.T) {
		u := server(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone fishing", http.StatusNotFound) })
		contains(t, b.fails("fetch", args{"url": u}, "404 Not Found").Output, "404 Not Found", "gone fishing")
	})
	t.Run("nothing but http and https is fetched", func(t *testing.T) {
		for _, u := range []string{"file:///etc/passwd", "ftp://x/", "example", "//example/x", "javascript:1", "http://", "https:///x", ""} {
			b.fails("fetch", args{"url": u}, "the address")
		}
		b.fails("fetch", args{"url": "http://x/" + strings.Repeat("y", maxURL)}, "the address has")
	})
	t.Run("TLS is configured by the given client", func(t *testing.T) {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "private") }))
		s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0) // of the handshake that must fail
		s.StartTLS()
		defer s.Close()
		b.fails("fetch", args{"url": s.URL}, "certificate")
		trusting := newBench(t, Options{HTTP: s.Client()})
		contains(t, trusting.ok("fetch", args{"url": s.URL}), "private")
	})
	t.Run("the request ends with the call", func(t *testing.T) {
		asked := make(chan struct{})
		u := server(t, func(_ http.ResponseWriter, r *http.Request) { close(asked); <-r.Context().Done() })
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-asked; cancel(errors.New("enough")) }()
		r, err := b.try(ctx, "fetch", args{"url": u})
		if err != nil || r.Success || !strings.Contains(r.Error, "enough") {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("an answer that breaks off fails, and shows the part that arrived", func(t *testing.T) {
		u := server(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("half of"))
		})
		contains(t, b.fails("fetch", args{"url": u}, "broke off").Output, "half of")
	})
}

func TestFetchIsBounded(t *testing.T) {
	b := newBench(t, Options{})

	t.Run("a long answer is cut, at a character, and says so", func(t *testing.T) {
		got := b.ok("fetch", args{"url": page(t, "text/plain", "x"+strings.Repeat("ä", maxBody))})
		if len(got) > shownMax || !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
			t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
		}
		contains(t, got, "[cut: the answer is longer than 1.0 MiB")
	})
	t.Run("an answer that is not shown whole says so", func(t *testing.T) {
		contains(t, b.ok("fetch", args{"url": page(t, "text/plain", strings.Repeat("x", 400<<10))}), "[cut: this is the beginning of 400.0 KiB]")
	})
	t.Run("an endless answer is abandoned", func(t *testing.T) {
		u := server(t, func(w http.ResponseWriter, _ *http.Request) {
			for chunk := []byte(strings.Repeat("x", 64<<10)); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		})
		contains(t, b.ok("fetch", args{"url": u}), "[cut: ")
	})
	t.Run("compression does not bypass the limit", func(t *testing.T) {
		u := server(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/plain")
			z := gzip.NewWriter(w)
			defer z.Close()
			for range 1000 {
				if _, err := z.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		})
		b.fails("fetch", args{"url": u}, "not text") // zeros
	})
}

func TestFetchRedirects(t *testing.T) {
	b := newBench(t, Options{})

	// hops redirects from /n to /n-1, and answers /0 with the request that it got.
	hops := func(t *testing.T) string {
		return server(t, func(w http.ResponseWriter, r *http.Request) {
			var n int
			if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err == nil && n > 0 {
				http.SetCookie(w, &http.Cookie{Name: "track", Value: "me"})
				http.Redirect(w, r, fmt.Sprintf("/%d?from=secret", n-1), http.StatusFound)
				return
			}
			fmt.Fprintf(w, "referer=%q cookie=%q authorization=%q", r.Referer(), r.Header.Get("Cookie"), r.Header.Get("Authorization"))
		})
	}
	t.Run("five redirects are followed", func(t *testing.T) {
		contains(t, b.ok("fetch", args{"url": hops(t) + "/5"}), "/0?from=secret")
	})
	t.Run("six redirects are not followed", func(t *testing.T) {
		b.fails("fetch", args{"url": hops(t) + "/6"}, "more than 5 redirects")
	})
	t.Run("neither Referer nor cookies are sent", func(t *testing.T) {
		contains(t, b.ok("fetch", args{"url": hops(t) + "/2"}), `referer="" cookie=""`)
	})
	t.Run("a password is not shown", func(t *testing.T) {
		u := strings.Replace(hops(t), "://", "://user:hunter2@", 1)
		got := b.ok("fetch", args{"url": u + "/0"})
		contains(t, got, "user:xxxxx@", `authorization="Basic `)
		if strings.Contains(got, "hunter2") {
			t.Error(got)
		}
		r := b.fails("fetch", args{"url": "http://user:hunter2@127.0.0.1:1/"}, "refused")
		if strings.Contains(r.Error, "hunter2") {
			t.Error(r.Error)
		}
	})
	t.Run("each redirect is checked", func(t *testing.T) {
		for _, to := range []string{"http://169.254.169.254/latest", "http://[fe80::1]/", "file:///etc/passwd", "http://[::ffff:169.254.1.1]/"} {
			u := server(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusFound)
			})
			b.fails("fetch", args{"url": u}, "redirected to")
		}
	})
}

func TestFetchRefusesAddresses(t *testing.T) {
	b := newBench(t, Options{})

	t.Run("link-local addresses and those of metadata services are refused", func(t *testing.T) {
		for _, host := range []string{"169.254.169.254", "169.254.0.1:8080", "[fe80::1]", "[fe80::1%25eth0]", "[::ffff:169.254.169.254]",
			"[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]", "100.100.100.200"} {
			b.fails("fetch", args{"url": "http://" + host + "/latest/meta-data"}, "link-local, multicast or a cloud's metadata service")
		}
	})
	t.Run("loopback and private addresses are not refused", func(t *testing.T) {
		for _, addr := range []string{"127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "fd12::1", "8.8.8.8", "2606:4700::1"} {
			if refusesAddress(netip.MustParseAddr(addr)) {
				t.Errorf("%s is refused", addr)
			}
		}
	})
	t.Run("the addresses that a name resolves to are checked when dialled", func(t *testing.T) {
		for address, want := range map[string]error{"169.254.169.254:80": errAddress, "[fe80::1%eth0]:443": errAddress, "127.0.0.1:80": nil} {
			if err := checkDial("tcp", address, nil); !errors.Is(err, want) {
				t.Errorf("%s: %v", address, err)
			}
		}
		dial := guardTransport(nil).(*http.Transport).DialContext
		if _, err := dial(t.Context(), "tcp", "169.254.169.254:80"); !errors.Is(err, errAddress) {
			t.Error(err)
		}
	})
	t.Run("the dial functions of a given client are replaced", func(t *testing.T) {
		given := &http.Transport{TLSClientConfig: &tls.Config{ServerName: "x", MinVersion: tls.VersionTLS12}}
		got := guardTransport(given).(*http.Transport)
		if got == given || got.DialContext == nil || got.TLSClientConfig.ServerName != "x" || given.DialContext != nil {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a bad proxy setting is not quoted", func(t *testing.T) {
		given := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New("user:hunter2@proxy") }}
		r, err := newBench(t, Options{HTTP: &http.Client{Transport: given}}).try(t.Context(), "fetch", args{"url": "http://127.0.0.1:1/"})
		if err != nil || !strings.Contains(r.Error, "proxy setting") || strings.Contains(r.Error, "hunter2") {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
