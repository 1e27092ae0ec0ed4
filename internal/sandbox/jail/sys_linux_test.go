package jail

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestNumbers: the numbers that package syscall lacks are those of x/sys/unix.
func TestNumbers(t *testing.T) {
	for name, pair := range map[string][2]int{
		"open_tree":               {sysOpenTree, unix.SYS_OPEN_TREE},
		"move_mount":              {sysMoveMount, unix.SYS_MOVE_MOUNT},
		"fsopen":                  {sysFsopen, unix.SYS_FSOPEN},
		"fsconfig":                {sysFsconfig, unix.SYS_FSCONFIG},
		"fsmount":                 {sysFsmount, unix.SYS_FSMOUNT},
		"close_range":             {sysCloseRange, unix.SYS_CLOSE_RANGE},
		"openat2":                 {sysOpenat2, unix.SYS_OPENAT2},
		"mount_setattr":           {sysMountSetattr, unix.SYS_MOUNT_SETATTR},
		"landlock_create_ruleset": {sysLandlockCreateRuleset, unix.SYS_LANDLOCK_CREATE_RULESET},
		"landlock_add_rule":       {sysLandlockAddRule, unix.SYS_LANDLOCK_ADD_RULE},
		"landlock_restrict_self":  {sysLandlockRestrictSelf, unix.SYS_LANDLOCK_RESTRICT_SELF},
		"seccomp":                 {sysSeccomp, unix.SYS_SECCOMP},
		"statx":                   {sysStatx, unix.SYS_STATX},

		"AT_FDCWD":                {atFdcwd, unix.AT_FDCWD},
		"AT_EMPTY_PATH":           {atEmptyPath, unix.AT_EMPTY_PATH},
		"AT_RECURSIVE":            {atRecursive, unix.AT_RECURSIVE},
		"O_PATH":                  {oPath, unix.O_PATH},
		"RESOLVE_NO_MAGICLINKS":   {resolveNoMagiclinks, unix.RESOLVE_NO_MAGICLINKS},
		"RESOLVE_NO_SYMLINKS":     {resolveNoSymlinks, unix.RESOLVE_NO_SYMLINKS},
		"OPEN_TREE_CLONE":         {openTreeClone, unix.OPEN_TREE_CLONE},
		"OPEN_TREE_CLOEXEC":       {openTreeCloexec, unix.OPEN_TREE_CLOEXEC},
		"MOVE_MOUNT_F_EMPTY_PATH": {moveMountFEmptyPath, unix.MOVE_MOUNT_F_EMPTY_PATH},
		"MOVE_MOUNT_T_EMPTY_PATH": {moveMountTEmptyPath, unix.MOVE_MOUNT_T_EMPTY_PATH},
		"FSOPEN_CLOEXEC":          {fsopenCloexec, unix.FSOPEN_CLOEXEC},
		"FSMOUNT_CLOEXEC":         {fsmountCloexec, unix.FSMOUNT_CLOEXEC},
		"FSCONFIG_SET_STRING":     {fsconfigSetString, unix.FSCONFIG_SET_STRING},
		"FSCONFIG_CMD_CREATE":     {fsconfigCmdCreate, unix.FSCONFIG_CMD_CREATE},
		"MOUNT_ATTR_RDONLY":       {mountAttrRdonly, unix.MOUNT_ATTR_RDONLY},
		"MOUNT_ATTR_NOSUID":       {mountAttrNosuid, unix.MOUNT_ATTR_NOSUID},
		"MOUNT_ATTR_NODEV":        {mountAttrNodev, unix.MOUNT_ATTR_NODEV},
		"MOUNT_ATTR_NOEXEC":       {mountAttrNoexec, unix.MOUNT_ATTR_NOEXEC},
		"MOUNT_ATTR_IDMAP":        {mountAttrIdmap, unix.MOUNT_ATTR_IDMAP},
		"PIPEFS_MAGIC":            {pipefsMagic, unix.PIPEFS_MAGIC},
		"STATX_MNT_ID":            {statxMntID, unix.STATX_MNT_ID},
		"CLOSE_RANGE_CLOEXEC":     {closeRangeCloexec, unix.CLOSE_RANGE_CLOEXEC},

		"SECCOMP_SET_MODE_FILTER":     {seccompSetFilter, unix.SECCOMP_SET_MODE_FILTER},
		"KEYCTL_JOIN_SESSION_KEYRING": {keyctlJoinSession, unix.KEYCTL_JOIN_SESSION_KEYRING},
		"PR_SET_DUMPABLE":             {prSetDumpable, unix.PR_SET_DUMPABLE},
		"PR_CAPBSET_DROP":             {prCapbsetDrop, unix.PR_CAPBSET_DROP},
		"PR_SET_SECUREBITS":           {prSetSecurebits, unix.PR_SET_SECUREBITS},
		"PR_SET_NO_NEW_PRIVS":         {prSetNoNewPrivs, unix.PR_SET_NO_NEW_PRIVS},
		"PR_CAP_AMBIENT":              {prCapAmbient, unix.PR_CAP_AMBIENT},
		"PR_CAP_AMBIENT_CLEAR_ALL":    {prCapAmbientClearAll, unix.PR_CAP_AMBIENT_CLEAR_ALL},
		"CAP_SETGID":                  {capSetgid, unix.CAP_SETGID},
		"CAP_SETUID":                  {capSetuid, unix.CAP_SETUID},
		"CAP_SETPCAP":                 {capSetpcap, unix.CAP_SETPCAP},
		"CAP_NET_BIND_SERVICE":        {capNetBindService, unix.CAP_NET_BIND_SERVICE},
		"CAP_NET_ADMIN":               {capNetAdmin, unix.CAP_NET_ADMIN},
		"CAP_SYS_ADMIN":               {capSysAdmin, unix.CAP_SYS_ADMIN},
		"capabilities, version 3":     {capabilityVersion3, unix.LINUX_CAPABILITY_VERSION_3},

		"LANDLOCK_RULE_PATH_BENEATH":    {landlockPathBelow, unix.LANDLOCK_RULE_PATH_BENEATH},
		"LANDLOCK_ACCESS_FS_EXECUTE":    {landlockExecute, unix.LANDLOCK_ACCESS_FS_EXECUTE},
		"LANDLOCK_ACCESS_FS_WRITE_FILE": {landlockWriteFile, unix.LANDLOCK_ACCESS_FS_WRITE_FILE},
		"LANDLOCK_ACCESS_FS_READ_FILE":  {landlockReadFile, unix.LANDLOCK_ACCESS_FS_READ_FILE},
		"LANDLOCK_ACCESS_FS_TRUNCATE":   {landlockTruncate, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		"LANDLOCK_ACCESS_FS_IOCTL_DEV":  {landlockIoctlDev, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},

		"struct mount_attr":                 {int(unsafe.Sizeof(mountAttr{})), int(unsafe.Sizeof(unix.MountAttr{}))},
		"struct statx":                      {int(unsafe.Sizeof(statx{})), int(unsafe.Sizeof(unix.Statx_t{}))},
		"the mount in struct statx":         {int(unsafe.Offsetof(statx{}.mount)), int(unsafe.Offsetof(unix.Statx_t{}.Mnt_id))},
		"struct open_how":                   {int(unsafe.Sizeof(openHow{})), int(unsafe.Sizeof(unix.OpenHow{}))},
		"struct landlock_ruleset_attr":      {int(unsafe.Offsetof(rulesetAttr{}.scoped)), int(unsafe.Offsetof(unix.LandlockRulesetAttr{}.Scoped))},
		"struct landlock_path_beneath_attr": {int(unsafe.Offsetof(pathAttr{}.parent)), int(unsafe.Offsetof(unix.LandlockPathBeneathAttr{}.Parent_fd))},
		"struct __user_cap_header_struct":   {int(unsafe.Sizeof(capHeader{})), int(unsafe.Sizeof(unix.CapUserHeader{}))},
		"struct __user_cap_data_struct":     {int(unsafe.Sizeof(capData{})), int(unsafe.Sizeof(unix.CapUserData{}))},
		"struct sock_filter":                {sizeofSockFilter, int(unsafe.Sizeof(unix.SockFilter{}))},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %#x, want %#x", name, pair[0], pair[1])
		}
	}
}

// TestLean: a process with the mark must be taken over before the rest of its program is
// initialised. Go initialises a package after its imports, so this one may only import package
// syscall and the packages that syscall imports.
func TestLean(t *testing.T) {
	deps := func(pkg string) []string {
		t.Helper()
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	may := append(deps("syscall"), "github.com/patchbay-dev/patchbay/internal/sandbox/jail")
	for _, pkg := range deps(".") {
		if !slices.Contains(may, pkg) {
			t.Errorf("it imports %s, directly or indirectly", pkg)
		}
	}
	out, err := exec.Command("go", "list", "-f", `{{join .Imports " "}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(out)); got != "runtime syscall unsafe" {
		t.Errorf("imports %s", got)
	}
}
