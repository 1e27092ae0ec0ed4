package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed all:dist
var dist embed.FS

// addresses lists the patterns of the page's addresses. The page's own script reads the path, and
// shows the view that belongs to it.
var addresses = []string{
	"/{$}",
	"/plugins", "/plugins/{name}",
	"/trace", "/trace/{session}/{turn}", "/trace/event/{id}",
	"/pipeline",
	"/try", "/try/tool/{name}", "/try/point/{point}",
	"/python", "/python/{name}",
	"/chat", "/chat/{session}",
	"/jobs", "/jobs/{agent}", "/runs/{agent}/{schedule}/{time}",
	"/doctor",
}

// Handler serves the page. It expects only GET and HEAD.
func Handler() http.Handler {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // "dist" is a valid path
	}
	return newPages(files)
}

// pages serves the files of dist.
type pages struct{ files fs.FS }

func newPages(files fs.FS) http.Handler {
	p := pages{files}
	mux := http.NewServeMux()
	for _, address := range addresses {
		mux.HandleFunc(address, p.page)
	}
	mux.HandleFunc("/assets/{file}", p.asset)
	mux.HandleFunc("/", p.other)
	return mux
}

// page answers with index.html. Browsers check each time whether it has changed, because it names
// the other files.
func (p pages) page(w http.ResponseWriter, r *http.Request) { p.send(w, r, "index.html", "no-cache") }

// asset answers with a file whose name changes with its content.
func (p pages) asset(w http.ResponseWriter, r *http.Request) {
	name := "assets/" + r.PathValue("file")
	if !p.has(name) {
		p.missing(w, r)
		return
	}
	p.send(w, r, name, "private, max-age=31536000, immutable")
}

// other answers with any other file of dist.
func (p pages) other(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if !p.has(name) {
		p.missing(w, r)
		return
	}
	p.send(w, r, name, "no-cache")
}

// has reports whether a file exists. It is false for directories.
func (p pages) has(name string) bool {
	info, err := fs.Stat(p.files, name)
	return err == nil && info.Mode().IsRegular()
}

// send answers with a file, or with 304 if the client has it. It compresses the file if the client
// accepts that.
func (p pages) send(w http.ResponseWriter, r *http.Request, name, cache string) {
	file, err := p.files.Open(name)
	if err != nil {
		p.missing(w, r)
		return
	}
	defer file.Close()
	content, ok := file.(io.ReadSeeker)
	if !ok {
		panic("a file that cannot seek: " + name)
	}
	w.Header().Set("Vary", "Accept-Encoding")
	if takesGzip(r) && path.Ext(name) != ".png" {
		content = compressed(content)
		w.Header().Set("Content-Encoding", "gzip")
	}
	tag, err := etag(content)
	if err != nil {
		panic(err) // it is in memory
	}
	w.Header().Set("Content-Type", contentType(name))
	w.Header().Set("Cache-Control", cache)
	w.Header().Set("ETag", tag)
	http.ServeContent(w, r, name, time.Time{}, content)
}

// takesGzip reports whether the client names gzip, and does not refuse it with "gzip;q=0".
func takesGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if name == "gzip" && (weight == "" || strings.Trim(weight, "q=0.") != "") {
			return true
		}
	}
	return false
}

// compressed compresses a file for each request again, so that the daemon keeps nothing in memory.
// Browsers cache the files whose names change with their content, and request them once.
func compressed(content io.Reader) io.ReadSeeker {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.Copy(w, content); err != nil {
		panic(err) // it is in memory
	}
	if err := w.Close(); err != nil {
		panic(err) // it goes to memory
	}
	return bytes.NewReader(b.Bytes())
}

// etag computes the ETag for each request again: hashing such a small file costs less than storing
// the hash.
func etag(content io.ReadSeeker) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return "", err
	}
	_, err := content.Seek(0, io.SeekStart)
	return `"` + hex.EncodeToString(sum.Sum(nil)[:12]) + `"`, err
}

// missing answers a browser with the page, which says that there is no such view, and a program
// with an error of the API.
func (p pages) missing(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	index, err := fs.ReadFile(p.files, "index.html")
	if err != nil || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		index = []byte(`{"detail":"Not found"}` + "\n")
		w.Header().Set("Content-Type", "application/json")
	} else {
		w.Header().Set("Content-Type", contentType("index.html"))
	}
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(index) // an error means that the client has gone
}

// contentType does not use the machine's own table of types, which may be wrong.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".ico":
		return "image/x-icon"
	case ".json", ".map":
		return "application/json"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}
