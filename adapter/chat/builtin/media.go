package builtin

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// media is what kind of thing a body is.
type media struct {
	name    string // the type without parameters: "text/html"
	full    string // with them
	charset bool   // they name a charset
	text    bool   // it can be shown
	html    bool
}

// textual are the types that are text though they are not called so.
var textual = []string{
	"application/json", "application/ld+json", "application/x-ndjson", "application/jsonl", "application/xml", "application/xhtml+xml",
	"application/javascript", "application/x-javascript", "application/ecmascript", "application/typescript",
	"application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/graphql",
	"application/x-sh", "application/x-httpd-php", "application/x-www-form-urlencoded", "application/pgp-signature",
}

// mediaOf goes by what the server says, and by the body where it says nothing or does not know.
func mediaOf(contentType string, body []byte) media {
	m := media{full: contentType}
	name, params, err := mime.ParseMediaType(contentType)
	if err != nil || name == "application/octet-stream" {
		m.full = http.DetectContentType(body)
		name, _, _ = mime.ParseMediaType(m.full) // it knows what it writes
	}
	_, m.charset = params["charset"]
	m.name = name
	m.html = name == "text/html" || name == "application/xhtml+xml"
	m.text = isText(name) && (m.charset || bytes.IndexByte(body, 0) < 0)
	return m
}

func isText(name string) bool {
	if strings.HasPrefix(name, "text/") || strings.HasSuffix(name, "+json") || strings.HasSuffix(name, "+xml") {
		return true
	}
	for _, t := range textual {
		if name == t {
			return true
		}
	}
	return false
}

// decode is the body in UTF-8. What is already is not touched, unless the server says that it is
// something else.
func (m media) decode(body []byte) string {
	if !m.charset && utf8.Valid(wholeCharacters(body)) {
		return string(wholeCharacters(body))
	}
	encoding, _, _ := charset.DetermineEncoding(body, m.full)
	decoded, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return strings.ToValidUTF8(string(body), string(utf8.RuneError))
	}
	return string(decoded)
}
