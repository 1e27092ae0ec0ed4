package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

const fetchDescription = `Get a page or a text from the web, or from a server on this machine, with one HTTP GET. ` +
	`HTML is reduced to its text, with the addresses of links; set raw for the source. ` +
	`Other things than text are not shown. At most 1 MiB is read and 256 KiB shown.`

const fetchParameters = `{
	"type": "object",
	"properties": {
		"url": {"type": "string", "description": "The address, http:// or https://."},
		"raw": {"type": "boolean", "description": "Show HTML as it is instead of its text. Default: false."}
	},
	"required": ["url"],
	"additionalProperties": false
}`

type fetchArgs struct {
	URL string `json:"url"`
	Raw flag   `json:"raw"`
}

const (
	fetchTimeout = 30 * time.Second // for everything
	maxRedirects = 5
	maxURL       = 8 << 10 // the longest address that servers accept
	maxBody      = 1 << 20
)

// A fetcher is the tool that gets pages.
type fetcher struct {
	client *http.Client
}

// newFetcher returns a fetcher whose client stores no cookies. After a redirect, the client does
// not tell the new server the address of the last page.
func newFetcher(given *http.Client) *fetcher {
	if given == nil {
		given = new(http.Client)
	}
	return &fetcher{client: &http.Client{
		Transport:     guardTransport(given.Transport),
		CheckRedirect: checkRedirect,
		Timeout:       given.Timeout,
	}}
}

// checkRedirect checks the target of a redirect.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	req.Header.Del("Referer") // net/http has just put it there
	if err := checkURL(req.URL); err != nil {
		return fmt.Errorf("redirected to %s: %w", quoted(req.URL.Redacted()), err)
	}
	return nil
}

// errFetchTime is the cause of the tool's own time limit. It distinguishes that from the end of the
// call.
var errFetchTime = fmt.Errorf("no answer within %v", fetchTimeout)

func (f *fetcher) fetch(ctx context.Context, _ chat.Call, args fetchArgs) (string, error) {
	u, err := parseURL(args.URL)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, errFetchTime)
	defer cancel()
	resp, err := f.get(ctx, u)
	if err != nil {
		return "", fmt.Errorf("%s: %w", quoted(u.Redacted()), reason(ctx, err))
	}
	defer resp.Body.Close()
	a, err := readAnswer(resp)
	if err != nil {
		err = reason(ctx, err)
	}
	return a.show(bool(args.Raw), err)
}

// parseURL returns an address that may be fetched.
func parseURL(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxURL {
		return nil, fmt.Errorf("the address has %s, and the limit is %s", size(int64(len(text))), size(maxURL))
	}
	u, err := url.Parse(text)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // the address in it may have a password
		}
		return nil, fmt.Errorf("the address cannot be read: %w", err)
	}
	return u, checkURL(u)
}

// get requests a page.
func (f *fetcher) get(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "patchbay (fetch)")
	req.Header.Set("Accept", "text/html, text/plain, text/*;q=0.9, application/json;q=0.9, */*;q=0.1")
	return f.client.Do(req)
}

// reason returns why the request failed: the cause if the time limit was reached, otherwise the
// error without the wrapping of net/http.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		return inner.Err
	}
	return err
}

// An answer is the response of a server.
type answer struct {
	status string // "200 OK"
	good   bool   // it is 2xx
	url    *url.URL
	media  media
	body   []byte // up to maxBody bytes, of any type
	cut    bool   // there is more
}

// readAnswer reads an answer up to maxBody. If the body broke off, it returns the error and the
// part that arrived.
func readAnswer(resp *http.Response) (*answer, error) {
	a := &answer{status: resp.Status, good: resp.StatusCode/100 == 2, url: resp.Request.URL}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if len(body) > maxBody {
		body, a.cut = body[:maxBody], true
	}
	a.body, a.media = body, mediaOf(resp.Header.Get("Content-Type"), body)
	return a, err
}

// show returns the answer as the model reads it, status and address first. broken is why the body
// broke off, or nil.
func (a *answer) show(raw bool, broken error) (string, error) {
	head := fmt.Sprintf("%s  %s  %s\n\n", excerpt.Head(a.status, quotedMax), a.url.Redacted(), excerpt.Head(a.media.name, quotedMax))
	var failure error
	switch {
	case broken != nil:
		failure = fmt.Errorf("the answer broke off: %w", broken)
	case !a.good:
		failure = fmt.Errorf("the server answered %s", quoted(a.status))
	case !a.media.text:
		failure = fmt.Errorf("the answer is %s, not text: get it with shell (curl -o) if it is needed", quoted(a.media.name))
	}
	if !a.media.text {
		return head, failure
	}
	text, more := a.text(raw)
	if text == "" {
		text = note("", "the answer is empty")
	}
	if len(head)+len(text) > shownMax {
		text, more = excerpt.Head(text, shownMax-noteRoom-len(head)), true
	}
	switch {
	case more && a.cut:
		text = note(text, "cut: the answer is longer than %s, and not all of that is shown", size(maxBody))
	case a.cut:
		text = note(text, "cut: the answer is longer than %s", size(maxBody))
	case more:
		text = note(text, "cut: this is the beginning of %s", size(int64(len(a.body))))
	}
	return head + text, failure
}

// text returns the body as text, and whether there is more than is shown.
func (a *answer) text(raw bool) (text string, more bool) {
	decoded := a.media.decode(a.body)
	if a.media.html && !raw {
		return pageText(decoded, a.url)
	}
	return decoded, false
}
