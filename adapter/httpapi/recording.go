package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// A file describes an answer that is saved as a file, for the OpenAPI document.
type file struct {
	kind    string // its media type
	doc     string
	example string
}

func (f *file) describe(r *huma.Response) {
	r.Content[f.kind] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: f.doc}, Example: f.example}
	r.Headers = map[string]*huma.Param{"Content-Disposition": {Description: "The name of the saved file.",
		Schema: &huma.Schema{Type: huma.TypeString}, Example: `attachment; filename="turn_01jz.trace"`}}
}

type recordingQuery struct {
	Session string `query:"session" required:"true" minLength:"1" maxLength:"256" doc:"The session of the turn." example:"ses_01jz"`
	Turn    string `query:"turn" required:"true" minLength:"1" maxLength:"256" doc:"The turn." example:"turn_01jz"`
}

// recordingKind is the media type of JSON with one value on each line.
const recordingKind = "application/x-ndjson"

func (a *api) addRecording(tag string) {
	add(a, route{method: "GET", path: "/v1/recording", id: "get-recording", tag: tag, summary: "Save a turn as a recording",
		doc: "The file that `patchbay trace replay` reads: what each plugin was given, was sent and answered in the events of the turn, without secrets. " +
			"An event that was too long to be stored whole is left out: a line of type `left_out` says so, and the last line counts them. Tool calls are left out too.",
		file: &file{kind: recordingKind, doc: "One JSON object on each line, described in docs/tracing.md.",
			example: `{"type":"recording","version":1,"patchbay":"1.0.0","recorded":"2026-11-16T06:00:18Z","command":["trace","export"],"dir":"/home/me","home":"/home/me","plugins":[]}` + "\n"},
		errors: []int{404, 422, 503}}, a.recording)
}

func (a *api) recording(_ context.Context, in *recordingQuery) (*huma.StreamResponse, error) {
	return streamed(func(w http.ResponseWriter, r *http.Request) {
		leave, ok := a.enter(w)
		if !ok {
			return
		}
		defer leave()
		d := &download{w: w, name: fileName(in.Turn) + ".trace"}
		switch err := a.Inspect.Recording(r.Context(), in.Session, in.Turn, d); {
		case err == nil:
		case !d.begun:
			a.problem(err, "get-recording").write(w)
		default:
			a.logger.Warn("recording cut off", "session", in.Session, "turn", in.Turn, "err", err)
			panic(http.ErrAbortHandler) // an incomplete file must not look complete
		}
	}), nil
}

// A download is an answer that is saved as a file. Its first write sends the headers. Until then, a
// problem can still be the answer.
type download struct {
	w     http.ResponseWriter
	name  string
	begun bool
}

func (d *download) Write(p []byte) (int, error) {
	if !d.begun {
		d.begun = true
		d.w.Header().Set("Content-Type", recordingKind)
		d.w.Header().Set("Content-Disposition", `attachment; filename="`+d.name+`"`)
	}
	return d.w.Write(p)
}

// longestName limits the name of a file.
const longestName = 64

// fileName returns a text as a file name that is valid on every system, because the id of another
// agent can be anything.
func fileName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, text)
	if name = name[:min(len(name), longestName)]; strings.Trim(name, "-") == "" {
		return "turn"
	}
	return name
}
