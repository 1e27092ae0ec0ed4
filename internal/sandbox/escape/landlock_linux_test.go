package escape

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// unpromised are the attempts that may succeed with Landlock alone, by the reason. docs/security.md
// describes these limits of Landlock.
var unpromised = map[string][]string{
	"names, sizes and times of other files can be seen, and when they are used": {
		"bash ask-by-changing-directory", "bash ask-for-age", "bash ask-for-existence", "bash ask-for-rights", "bash ask-for-size",
		"python read/read-symlink", "python read/stat-file", "python read/stat-file-with-statx", "python read/tell-existing-from-missing",
		"python read/watch-directory",
	},
	"/proc and the network's interfaces are the host's": {
		"bash ask-for-process-in-proc", "bash read-command-line", "bash read-mounts", "bash search-all-processes", "bash see-abstract-names",
		"bash see-interfaces", "bash see-sockets-of-host", "python ipc/keyring-list", "python ipc/sysv-tables", "python network/see-interfaces",
		"python network/see-interfaces-in-proc", "python network/see-listening-sockets", "python privileges/read-kernel-command-line",
		"python privileges/read-own-cgroup", "python processes/read-command-line", "python processes/search-all-processes",
		"python read/read-mounts", "python read/read-mounts-of-host",
	},
	"IPC objects of the same user are in reach": {
		"python ipc/sysv-memory", "python ipc/sysv-queue", "python ipc/sysv-semaphore",
	},
	"what was written can be loaded as code": {
		"bash load-builtin", "bash preload-library", "python execution/load-dropped-library", "python execution/make-written-file-executable",
		"python execution/map-written-file-executable", "python execution/preload-dropped-library", "python execution/run-dropped-by-loader",
	},
	"remaining processes are ended by the guardian, and not by the kernel": {
		"bash survive", "bash survive-as-coprocess", "python processes/survive",
	},
	"with write:fs, attributes can be changed by every descriptor": {
		"python attributes/owner-by-descriptor", "python attributes/times-by-old-call-by-descriptor", "python write/change-attribute-by-descriptor",
		"python write/change-flags-by-descriptor", "python write/change-mode-by-descriptor", "python write/change-times-by-descriptor",
	},
}

// unable is the work that cannot be done with Landlock alone.
var unable = map[string][]string{
	"attributes cannot be changed by path": {
		"python change-own-files", "python copy-with-attributes", "bash use-git", "bash use-tar",
	},
	"/tmp and /dev/shm are everybody's; only TMPDIR is its own": {
		"python write-private-tmp", "bash write-private-tmp", "python run-processes", "python share-memory",
	},
	"HOME is an empty directory; what was granted has its own path alone": {
		"python read-granted-path-in-home", "bash read-granted-path-in-home", "javascript read-granted-path-in-home", "go read-granted-path-in-home",
	},
	"without namespaces there is all of the network or nothing": {
		"python connect-to-granted-address", "python connect-to-granted-name", "python connect-many-times", "python talk-to-itself",
		"bash connect-to-granted-address", "bash connect-to-granted-name", "javascript connect-to-granted-address",
		"javascript connect-to-granted-name", "go connect-to-granted-address", "go connect-to-granted-name",
	},
}

// byName turns lists of names into the reason for each name.
func byName(lists map[string][]string) map[string]string {
	why := make(map[string]string)
	for reason, names := range lists {
		for _, name := range names {
			why[name] = reason
		}
	}
	return why
}

// needsLandlock skips a test if the level of Landlock alone is not available.
func needsLandlock(t *testing.T) {
	t.Helper()
	needs(t)
	g := proc.NewGroup(nil)
	defer g.Close()
	system := sandbox.Probe(context.Background(), g)
	if err := errors.Join(system.Landlock, system.Filter); err != nil {
		machine.Lacks(t, machine.Landlock, err)
	}
	if !system.Scoped {
		t.Skip("this kernel's Landlock does not keep signals and abstract sockets apart")
	}
}

// TestEscapesWithLandlockAlone makes every attempt at the level without namespaces. The attempts
// that may succeed there are listed, and all others must fail.
func TestEscapesWithLandlockAlone(t *testing.T) {
	needsLandlock(t)
	why := byName(unpromised)
	var mu sync.Mutex // protects seen
	seen := make(map[string]bool)
	t.Cleanup(func() {
		for name := range why {
			if !seen[name] && os.Getenv("PATCHBAY_ESCAPE") == "" {
				t.Errorf("there is no attempt %q", name)
			}
		}
	})
	for _, v := range byTurns(landlock, 1) {
		t.Run("as "+userName(v.uid), func(t *testing.T) {
			t.Parallel()
			inArena(t, v, func(line []byte) {
				a := decoded(t, line)
				name := a.Language + " " + a.Name
				mu.Lock()
				seen[name] = true
				mu.Unlock()
				if a.Boxed.Escaped && why[name] == "" {
					t.Errorf("%s escaped: %s", name, a.Boxed.Why)
				}
			})
		})
	}
}

// TestNothingToWriteWithLandlockAlone: a plugin that may write nothing cannot change attributes,
// not even by a descriptor.
func TestNothingToWriteWithLandlockAlone(t *testing.T) {
	needsLandlock(t)
	for _, uid := range users() {
		t.Run("as "+userName(uid), func(t *testing.T) {
			t.Parallel()
			seen := 0
			inArena(t, visit{uid: uid, what: "escapes", level: reading, only: "by-descriptor"}, func(line []byte) {
				seen++
				if a := decoded(t, line); a.Boxed.Escaped {
					t.Errorf("%s %s escaped: %s", a.Language, a.Name, a.Boxed.Why)
				}
			})
			if least := 6; seen < least {
				t.Errorf("only %d attempts", seen)
			}
		})
	}
}

func decoded(t *testing.T, line []byte) attempt {
	t.Helper()
	var a attempt
	if err := json.Unmarshal(line, &a); err != nil {
		t.Errorf("%q: %v", line, err)
	}
	return a
}

// TestLegitimateWithLandlockAlone runs the same work at the level without namespaces. The work that
// cannot be done there is listed.
func TestLegitimateWithLandlockAlone(t *testing.T) {
	needsLandlock(t)
	for _, uid := range users() {
		t.Run("as "+userName(uid), func(t *testing.T) {
			t.Parallel()
			legitimate(t, visit{uid: uid, what: "legitimate", level: landlock}, byName(unable))
		})
	}
}
