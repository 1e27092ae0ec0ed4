package httpapi

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/patchbay-dev/patchbay/internal/session"
)

type sessionID struct {
	ID string `path:"id" maxLength:"256" doc:"The session's id."`
}

type sessionCreate struct {
	Body *struct { // `curl -X POST` without data creates a session too
		Plugins    []string `json:"plugins,omitempty" maxItems:"1024" doc:"Python plugins to activate, in this order." example:"[\"sign\"]"`
		WorkingDir string   `json:"working_dir,omitempty" doc:"The directory of its tools; the default is the daemon's directory." example:"/home/mira/notes"`
		Title      string   `json:"title,omitempty" maxLength:"1024" doc:"The title." example:"count the words in notes.md"`
	}
}

type sessionUpdate struct {
	ID   string `path:"id" maxLength:"256" doc:"The session's id."`
	Body struct {
		Title   *string   `json:"title,omitempty" maxLength:"1024" doc:"The title." example:"count the words in notes.md"`
		Plugins *[]string `json:"plugins,omitempty" maxItems:"1024" doc:"Replaces the list." example:"[\"sign\"]"`
	}
}

type sessionList struct {
	Limit int    `query:"limit" minimum:"1" maximum:"1000" doc:"The largest number of sessions, the newest first. If neither limit nor after is given, all sessions are listed."`
	After string `query:"after" maxLength:"256" doc:"The header Next-Page of the previous page. If limit is not given, a page has up to 50 sessions."`
}

// A sessionPage is a list of sessions, or a part of one. The cursor of the next part is in a
// header, so that the body is always the list.
type sessionPage struct {
	Next string `header:"Next-Page" doc:"The cursor of the next page; absent if there is none."`
	Link string `header:"Link" doc:"The next page as a link, rel=\"next\"; absent if there is none."`
	Body []session.Session
}

// A prefix is one of the two paths of sessions: that of the python protocol, and the one under /v1.
type prefix struct {
	path, id string
}

var sessionPrefixes = []prefix{{"/session", "session"}, {"/v1/sessions", "v1-session"}}

func (a *api) addSessions() {
	const tag = "sessions"
	missing := []int{404, 422}
	for _, p := range sessionPrefixes {
		one := p.path + "/{id}"
		add(a, route{method: "POST", path: p.path, id: p.id + "-create", tag: tag, summary: "Begin a session",
			doc: "Plugins that do not exist are refused, and named."}, a.createSession)
		add(a, route{method: "GET", path: p.path, id: p.id + "-list", tag: tag, summary: "List the sessions, the newest first",
			doc: "Use limit to get a page: its cost does not depend on the number of sessions.", errors: []int{400, 422}},
			func(ctx context.Context, in *sessionList) (*sessionPage, error) {
				return a.listSessions(ctx, p.path, in)
			})
		add(a, route{method: "GET", path: one, id: p.id + "-get", tag: tag, summary: "Show a session", errors: missing}, a.getSession)
		add(a, route{method: "PATCH", path: one, id: p.id + "-update", tag: tag, summary: "Change a session's title or plugins",
			errors: missing}, a.updateSession)
		add(a, route{method: "DELETE", path: one, id: p.id + "-delete", tag: tag, summary: "Delete a session and its transcript",
			errors: []int{404, 409, 422}}, a.deleteSession)
	}
	add(a, route{method: "GET", path: "/v1/sessions/{id}/transcript", id: "v1-session-transcript", tag: tag,
		summary: "Show the transcript of a session", errors: missing}, a.transcript)
}

func (a *api) createSession(ctx context.Context, in *sessionCreate) (*answer[session.Session], error) {
	var r SessionRequest
	if in.Body != nil {
		r = SessionRequest{Plugins: in.Body.Plugins, WorkingDir: in.Body.WorkingDir, Title: in.Body.Title}
	}
	s, err := a.Sessions.Create(ctx, r)
	return answered(shown(s), err)
}

func (a *api) listSessions(ctx context.Context, path string, in *sessionList) (*sessionPage, error) {
	var page session.Page
	var err error
	if in.Limit == 0 && in.After == "" {
		page.Sessions, err = a.Sessions.List(ctx)
	} else {
		page, err = a.Sessions.Page(ctx, session.PageRequest{Limit: in.Limit, Cursor: in.After})
	}
	if err != nil {
		return nil, err
	}
	out := &sessionPage{Next: page.Next, Body: make([]session.Session, len(page.Sessions))}
	for i, s := range page.Sessions {
		out.Body[i] = shown(s)
	}
	if page.Next != "" {
		out.Link = nextLink(path, in.Limit, page.Next)
	}
	return out, nil
}

// nextLink returns a link to the next page, in the format of RFC 8288.
func nextLink(path string, limit int, cursor string) string {
	query := url.Values{"after": {cursor}}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	return fmt.Sprintf("<%s?%s>; rel=\"next\"", path, query.Encode())
}

func (a *api) getSession(ctx context.Context, in *sessionID) (*answer[session.Session], error) {
	s, err := a.Sessions.Get(ctx, in.ID)
	return answered(shown(s), err)
}

func (a *api) updateSession(ctx context.Context, in *sessionUpdate) (*answer[session.Session], error) {
	s, err := a.Sessions.Update(ctx, in.ID, SessionUpdate{Title: in.Body.Title, Plugins: in.Body.Plugins})
	return answered(shown(s), err)
}

func (a *api) deleteSession(ctx context.Context, in *sessionID) (*answer[deleted], error) {
	return answered(deleted{in.ID}, a.Sessions.Delete(ctx, in.ID))
}

func (a *api) transcript(ctx context.Context, in *sessionID) (*answer[[]session.Entry], error) {
	entries, err := a.Sessions.Transcript(ctx, in.ID)
	return answered(orEmpty(entries), err)
}

// shown returns a session as clients see it. Its plugins are a list even if it has none.
func shown(s session.Session) session.Session {
	if s.From == session.FromHTTP { // sessions of HTTP have no such field: docs/protocols/python.md lists the fields
		s.From = ""
	}
	s.Plugins = orEmpty(s.Plugins)
	return s
}
