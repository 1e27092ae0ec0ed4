package builtin

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// media is the type of a body.
type media struct {
	name    string // the type without parameters: "text/html"
	full    string // with parameters
	charset bool   // the parameters name a charset
	text    bool   // it can be shown
	html    bool
}

// textual lists types that are text although their names do not say so.
var textual = []string{
	"application/json", "application/ld+json", "application/x-ndjson", "application/jsonl", "application/xml", "application/xhtml+xml",
	"application/javascript", "application/x-javascript", "application/ecmascript", "application/typescript",
	"application/yaml", "application/x-yaml", "application/toml", "application/sql", "application/graphql",
	"application/x-sh", "application/x-httpd-php", "application/x-www-form-urlencoded", "application/pgp-signature",
}

// mediaOf returns the type that the server states. If the server states none, or an unspecific one,
// it looks at the body.
func mediaOf(contentType string, body []byte) media {
	m := media{full: contentType}
	name, params, err := mime.ParseMediaType(contentType)
	if err != nil || name == "application/octet-stream" {
		m.full = http.DetectContentType(body)
		name, _, _ = mime.ParseMediaType(m.full) // cannot fail: http.DetectContentType returns valid types
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

// decode returns the body in UTF-8. A body that is valid UTF-8 stays as it is, unless the server
// names another charset.
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
