package jail

// The names (argv[0]) of the processes, as a list of processes shows them.
const (
	Outer  = "patchbay-jail"
	Middle = "patchbay-jail-mid" // only if the host's user is an ordinary user
	Inner  = "patchbay-jail-init"
)

// Mark is the environment variable that tells a process which of these it is. The host sets it for
// outer. Each of these processes sets it for the next one. The program's own environment is in the
// plan.
const Mark = "PATCHBAY_JAIL"

// Protocol is the version of the plan's encoding and meaning. Host and jail must agree on it,
// because the jail may be a separate executable ([Helper]). Raise it with every change to either.
const Protocol = "8"

// Helper is the file name of a small executable that contains only the jail. If it lies beside the
// host's executable, it is started instead: a large Go program takes longer to start.
const Helper = "patchbay-jail"

// Environ returns the environment of one of the processes. files is the number of descriptors that
// the program has beyond the standard ones.
func Environ(name string, files int) []string {
	// One thread and no garbage collection keep the process small and quick to start.
	return []string{"GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=none", Mark + "=" + name + ":" + Protocol + ":" + decimal(uint64(files))}
}

// StageExec is the stage of an error that the program itself caused, not its jail.
const StageExec = "execute"

// StageBar is the stage in which loaders are barred, which not every kernel supports.
const StageBar = "bar the loader"

// A Plan describes a jail in full. The host computes it, and the jail only carries it out. Data for
// the kernel is already in the kernel's encoding.
type Plan struct {
	Path string   // the program, as seen inside
	Argv []string // with argv[0]
	Env  []string
	Dir  string // the working directory, as seen inside

	User, Group int // the ids that the program sees as its own

	Files  int  // descriptors beyond the three standard ones; they are 3, 4, … in every process
	Simple bool // no namespaces: Landlock and seccomp only
	Probe  bool // build everything, but start nothing
	Ahead  bool // build everything, then wait for the plan of the program

	Mounts   []Mount // in the order in which they are made: parents first
	Net      Net
	Landlock Landlock
	Limits   []Limit
	Filter   []byte   // of system calls: an array of struct sock_filter; empty for none
	Loaders  [][]byte // the first bytes of files that the kernel may use as loaders but no process may execute
}

// A Mount is one file or directory that is visible inside.
type Mount struct {
	Kind    Kind
	Source  string // Bind: the path outside, without links; Link: what it points to
	Target  string // the path inside, clean and absolute
	Write   bool   // Bind: it may be changed
	Exec    bool   // Bind: files in it may be mapped for execution
	Devices bool   // Bind: it is a device
	Content string // File only
	Size    int64  // Temp, Firm: at most this many bytes
	Files   int64  // Temp, Firm: at most this many files and directories
	Missing bool   // Bind: the source may be missing, and is then left out
	Lend    bool   // Bind: the program owns the files of the host's user, even if it runs as another
}

// Kind is the kind of a mount.
type Kind string

// The kinds of mounts.
const (
	Bind Kind = "bind" // a file or directory from outside
	Temp Kind = "temp" // an empty directory in memory
	Firm Kind = "firm" // like Temp, but read-only once the jail is built
	Proc Kind = "proc" // a /proc that shows only the processes of the jail
	Link Kind = "link" // a symbolic link
	File Kind = "file" // a small file with a given content, read-only
	Dir  Kind = "dir"  // an empty directory, read-only
)

// Net describes the network of a jail.
type Net struct {
	Shared bool // the host's own network
	// Broker: every address is local, and every connection ends at a socket that the host holds.
	// Otherwise there is only a loopback interface.
	Broker   bool
	Ports    []uint16 // the ports that may be reached if connections cannot be redirected
	AllPorts bool     // a grant names no port, so redirecting is required

	// Messages for netlink, one after the other.
	Route4, Route6 []byte // make every address of a family local
	Redirect       []byte // redirects every connection to RedirectPort
	Redirect4      []byte // the same without IPv6
}

// RedirectPort is the port to which every connection is redirected. No plugin needs it for itself.
const RedirectPort = 1

// Landlock describes a Landlock ruleset. If Handled and Scoped are zero, Landlock is not used.
type Landlock struct {
	Handled uint64 // the rights over files that need a rule
	Scoped  uint64 // the kinds of access to outside processes that are forbidden
	Rules   []Rule
}

// A Rule grants rights over a file, or over a directory with everything below. A rule for a missing
// path is ignored.
type Rule struct {
	Path   string // as seen inside, without links
	Rights uint64
}

// A Limit is a resource limit, soft and hard.
type Limit struct {
	Resource int
	Cur, Max uint64
}

// A Report is a message from the jail to the host over the control socket.
type Report struct {
	Sockets string     // "redirect" or "ports"; the message carries descriptors, and another report follows
	Built   bool       // everything is ready for the program, whose plan is still to come (Plan.Ahead)
	Seen    []Identity // with Built: the file that each of the plan's mounts is bound to; zero for other kinds
	Stale   bool       // the mounts of a jail built ahead are no longer in place; nothing was started
	Starts  bool       // a jail built ahead has its plan and starts the program now; another report follows
	Runs    bool       // the program was started
	Stage   string     // what failed
	Error   string     // why
	Errno   int        // why, as an error number; 0 if there is none
	Notes   []string   // deviations from the plan
}

// An Identity identifies a file independently of its name.
type Identity struct{ Device, Inode uint64 }

// supplied precedes the descriptors that outer sends to inner.
type supplied struct {
	opened bool  // this message and the next ones carry descriptors of the plan's bind mounts
	mounts []int // indexes into the plan's mounts, in the order of the descriptors
	last   bool
	notes  []string
}

// ended is inner's last message to outer.
type ended struct{ status uint32 } // of the program, as wait returns it

// Encode returns the encoded plan.
func (p *Plan) Encode() []byte { return encode(p) }

// DecodePlan decodes a plan and reports whether data is one.
func DecodePlan(data []byte) (*Plan, bool) {
	p := new(Plan)
	return p, decode(data, p)
}

// Encode returns the encoded report.
func (r *Report) Encode() []byte { return encode(r) }

// DecodeReport decodes a report and reports whether data is one.
func DecodeReport(data []byte) (Report, bool) {
	var r Report
	ok := decode(data, &r)
	return r, ok
}

func (p *Plan) fields(c *codec) {
	text(c, &p.Path)
	list(c, &p.Argv, text[string])
	list(c, &p.Env, text[string])
	text(c, &p.Dir)
	number(c, &p.User)
	number(c, &p.Group)
	number(c, &p.Files)
	c.flag(&p.Simple)
	c.flag(&p.Probe)
	c.flag(&p.Ahead)
	list(c, &p.Mounts, mountFields)
	netFields(c, &p.Net)
	number(c, &p.Landlock.Handled)
	number(c, &p.Landlock.Scoped)
	list(c, &p.Landlock.Rules, func(c *codec, r *Rule) { text(c, &r.Path); number(c, &r.Rights) })
	list(c, &p.Limits, func(c *codec, l *Limit) { number(c, &l.Resource); number(c, &l.Cur); number(c, &l.Max) })
	text(c, &p.Filter)
	list(c, &p.Loaders, text[[]byte])
}

func mountFields(c *codec, m *Mount) {
	text(c, &m.Kind)
	text(c, &m.Source)
	text(c, &m.Target)
	c.flag(&m.Write)
	c.flag(&m.Exec)
	c.flag(&m.Devices)
	text(c, &m.Content)
	number(c, &m.Size)
	number(c, &m.Files)
	c.flag(&m.Missing)
	c.flag(&m.Lend)
}

func netFields(c *codec, n *Net) {
	c.flag(&n.Shared)
	c.flag(&n.Broker)
	list(c, &n.Ports, number[uint16])
	c.flag(&n.AllPorts)
	text(c, &n.Route4)
	text(c, &n.Route6)
	text(c, &n.Redirect)
	text(c, &n.Redirect4)
}

func (r *Report) fields(c *codec) {
	text(c, &r.Sockets)
	c.flag(&r.Built)
	list(c, &r.Seen, func(c *codec, i *Identity) { number(c, &i.Device); number(c, &i.Inode) })
	c.flag(&r.Stale)
	c.flag(&r.Starts)
	c.flag(&r.Runs)
	text(c, &r.Stage)
	text(c, &r.Error)
	number(c, &r.Errno)
	list(c, &r.Notes, text[string])
}

func (m *supplied) fields(c *codec) {
	c.flag(&m.opened)
	list(c, &m.mounts, number[int])
	c.flag(&m.last)
	list(c, &m.notes, text[string])
}

func (e *ended) fields(c *codec) { number(c, &e.status) }

// decimal formats n in base 10.
func decimal(n uint64) string {
	var digits [20]byte
	at := len(digits)
	for {
		at--
		digits[at] = '0' + byte(n%10)
		if n /= 10; n == 0 {
			return string(digits[at:])
		}
	}
}
