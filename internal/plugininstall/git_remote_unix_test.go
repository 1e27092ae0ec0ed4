//go:build unix

package plugininstall

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// TestRemoteGit fetches from servers on loopback: git over https, GitHub's address through a proxy,
// and ssh, replaced by a program that runs the command of the other side.
func TestRemoteGit(t *testing.T) {
	r := newRepo(t, map[string]string{"manifest.yaml": kagedManifest, "notes.sh": script})
	r.git("tag", "v1")
	write(t, r.dir, map[string]string{"more": "x"})
	r.commit()
	root := t.TempDir()
	r.git("clone", "--quiet", "--bare", r.dir, filepath.Join(root, "owner", "repo.git"))
	server, authority := serveGit(t, root)
	fakeSSH := t.TempDir()
	write(t, fakeSSH, map[string]string{"ssh": "#!/bin/sh\necho \"$@\" >>" + fakeSSH + "/said\nfor last; do :; done\nexec sh -c \"$last\"\n"})
	for source, env := range map[string][]string{
		"https://" + server + "/owner/repo.git@v1": {"GIT_SSL_CAINFO=" + authority},
		"owner/repo@v1": {"GIT_SSL_CAINFO=" + authority, "HTTPS_PROXY=" + forward(t, server)},
		"ssh://git@example.org" + filepath.Join(root, "owner/repo.git@v1"): {"PATH=" + fakeSSH + ":" + os.Getenv("PATH")},
		"git@example.org:" + filepath.Join(root, "owner/repo.git@v1"):      {"PATH=" + fakeSSH + ":" + os.Getenv("PATH")},
	} {
		t.Run(strings.ReplaceAll(source, "/", "_"), func(t *testing.T) {
			h := newTestHome(t)
			h.o.Environ = append([]string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH")}, env...)
			if _, err := h.install(source, PlaceOptions{}); err != nil {
				t.Fatal(err)
			}
			const at = ".local/share/kaged/plugins/notes/"
			h.wants(at+"manifest.yaml", at+"notes.sh*")
			lock, err := trust.Load(h.o.Dirs.LockFile)
			if err != nil || lock.Entries[0].Origin.Ref != "v1" || lock.Entries[0].Origin.Commit != r.git("rev-parse", "v1") {
				t.Errorf("%+v, %v", lock.Entries[0], err)
			}
		})
	}
	said, err := os.ReadFile(filepath.Join(fakeSSH, "said"))
	if err != nil || !strings.Contains(string(said), "-F /dev/null") || !strings.Contains(string(said), "BatchMode=yes") {
		t.Errorf("ssh was called with %q, %v", said, err)
	}
	if _, err := newTestHome(t).install("https://"+server+"/owner/repo.git@v1", PlaceOptions{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server with an unknown certificate: %v", err)
	}
}

// serveGit serves the repositories below a directory over https, as 127.0.0.1 and as github.com. It
// returns the server's address, and the file of its certificate.
func serveGit(t *testing.T, root string) (address, authority string) {
	t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := filepath.Join(strings.TrimSpace(string(path)), "git-http-backend")
	plugtest.NeedTool(t, backend)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"github.com"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	authority = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(&cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}})
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), authority
}

// forward starts a proxy that leads connections to github.com to one server, and returns its
// address.
func forward(t *testing.T, to string) string {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "github.com:443" {
			http.Error(w, "only to github.com", http.StatusForbidden)
			return
		}
		there, err := net.Dial("tcp", to)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer there.Close()
		here, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer here.Close()
		if _, err := io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(there, here) // it ends with the connection
			_ = there.Close()
		}()
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}
