package plugininstall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// downloadTime bounds a download.
const downloadTime = 5 * time.Minute

// download gets an archive. Only https is spoken, on the way as well.
func download(ctx context.Context, address, to string, trusted *tls.Config) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, downloadTime, fmt.Errorf("the archive was not there after %v", downloadTime))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trusted, DisableKeepAlives: true},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if r.URL.Scheme != "https" || len(via) >= 5 {
				return errors.New("it leads elsewhere than to an https address, or in circles")
			}
			return nil
		}}
	resp, err := client.Do(r)
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return badSource("look at the address in a browser", "%s: %s", address, resp.Status)
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n, err := io.Copy(f, io.LimitReader(resp.Body, mostFetched+1))
	if err == nil && n > mostFetched {
		err = fmt.Errorf("%s has more than %d MiB", address, mostFetched>>20)
	}
	return err
}
