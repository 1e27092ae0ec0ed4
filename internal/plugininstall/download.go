package plugininstall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

// downloadTime limits a download.
const downloadTime = 5 * time.Minute

// download fetches an archive, only over https, also after redirects.
func download(ctx context.Context, s Source, to string, trusted *tls.Config) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, downloadTime, fmt.Errorf("the archive was not downloaded within %v", downloadTime))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		return fmt.Errorf("%s is not an address", s.Text)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trusted, DisableKeepAlives: true},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if r.URL.Scheme != "https" || len(via) >= 5 {
				return errors.New("it redirects to an address that is not https, or too often")
			}
			return nil
		}}
	resp, err := client.Do(r)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // it contains the address, which may have a key
		}
		return errors.Join(fmt.Errorf("%s: %w", s.Text, err), context.Cause(ctx))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return badSource("look at the address in a browser", "%s: %s", s.Text, resp.Status)
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n, err := io.Copy(f, io.LimitReader(resp.Body, mostFetched+1))
	if err == nil && n > mostFetched {
		err = fmt.Errorf("%s has more than %d MiB", s.Text, mostFetched>>20)
	}
	return err
}
