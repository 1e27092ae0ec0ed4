package escape

import (
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// runPlugin is a plugin in Go: "plugin NAME KEY=VALUE…", or list. It prints "ok" or what went
// wrong.
func runPlugin() error {
	args := os.Args[3:]
	if args[0] == "list" {
		for name := range goWork {
			fmt.Println(name)
		}
		return nil
	}
	target := map[string]string{}
	for _, pair := range args[1:] {
		key, value, _ := strings.Cut(pair, "=")
		target[key] = value
	}
	if err := goWork[args[0]](target); err != nil {
		fmt.Println(err)
		return nil
	}
	fmt.Println("ok")
	return nil
}

var goWork = map[string]func(map[string]string) error{
	"read-own-files":    func(t map[string]string) error { return reads(t["own"]+"/escapes.py", "Attempts") },
	"read-granted-path": func(t map[string]string) error { return reads(t["note"], "to be read") },
	"write-granted-path": func(t map[string]string) error {
		return os.WriteFile(t["scratch"]+"/written", []byte("by the plugin"), 0o644)
	},
	"write-private-tmp": func(t map[string]string) error { return os.WriteFile(os.TempDir()+"/"+t["stray"], nil, 0o600) },
	"read-granted-path-in-home": func(t map[string]string) error {
		home, err := os.UserHomeDir()
		return errors.Join(err, reads(home+"/notes/note", "to be read"), reads(t["notes"]+"/note", "to be read"))
	},
	"write-home": func(map[string]string) error { return os.WriteFile(os.Getenv("HOME")+"/new", nil, 0o600) },
	"work-in-own-directory": func(t map[string]string) error {
		return errors.Join(reads("escapes.py", "Attempts"), os.WriteFile("../scratch/relative", []byte("x"), 0o600), reads(t["scratch"]+"/relative", "x"))
	},
	"run-granted-program": func(t map[string]string) error {
		_, code, err := runFree(freeSpec{argv: []string{t["tool"]}})
		return errors.Join(err, wanted(code, 0))
	},
	"run-itself": func(t map[string]string) error {
		said, _, err := runFree(freeSpec{argv: []string{"/proc/self/exe", "-stage", "plugin", "list"}})
		return errors.Join(err, wanted(strings.Contains(said, "run-itself"), true))
	},
	"connect-to-granted-address": func(t map[string]string) error { return answers("127.0.0.1:"+t["port"], "granted") },
	"connect-to-granted-name":    func(t map[string]string) error { return answers(net.JoinHostPort(t["name"], t["port"]), "canary-") },
	"use-goroutines": func(map[string]string) error {
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() { time.Sleep(time.Millisecond) }) // so that many run at once
		}
		all.Wait()
		return nil
	},
	"use-certificates": func(map[string]string) error {
		pool, err := x509.SystemCertPool()
		return errors.Join(err, wanted(pool != nil && !pool.Equal(x509.NewCertPool()), true))
	},
	"use-time-zones": func(map[string]string) error { _, err := time.LoadLocation("Europe/Berlin"); return err },
	"use-randomness": func(map[string]string) error { _, err := rand.Read(make([]byte, 8)); return err },
	"use-interfaces": func(map[string]string) error {
		all, err := net.Interfaces()
		return errors.Join(err, wanted(slices.ContainsFunc(all, func(i net.Interface) bool { return i.Name == "lo" }), true))
	},
}

func wanted[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

func reads(path, want string) error {
	text, err := os.ReadFile(path)
	return errors.Join(err, wanted(strings.Contains(string(text), want), true))
}

func answers(address, want string) error {
	c, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	buf := make([]byte, len(want))
	_, err = io.ReadFull(c, buf)
	return errors.Join(err, wanted(string(buf), want))
}
