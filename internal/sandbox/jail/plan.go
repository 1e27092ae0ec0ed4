package jail

// The names (argv[0]) of the processes, for people who look at a list of them.
const (
	Outer  = "patchbay-jail"
	Middle = "patchbay-jail-mid" // only where the host's user is an ordinary one
	Inner  = "patchbay-jail-init"
)

// Mark is the variable by whose value a process knows that it is one of these. It is the host that
// sets it, for outer, and outer, for the others; what the program has of an environment is in the
// plan.
const Mark = "PATCHBAY_JAIL"

// Protocol is what host and jail must agree on, since the jail may be a program of its own
// ([Helper]): how a plan is written, and what is meant by it. Whoever changes either raises it.
const Protocol = "7"

// Helper is the file name of a small program that is nothing but the jail. Where one lies beside
// the host's executable, it is started in that one's stead: the larger a Go program, the longer it
// takes to start.
const Helper = "patchbay-jail"

// Environ is the environment of one of the processes, whose program has so many descriptors beyond
// the standard ones.
func Environ(name string, files int) []string {
	// One thread and no collections keep them small and quick to start.
	return []string{"GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=none", Mark + "=" + name + ":" + Protocol + ":" + decimal(uint64(files))}
}

// StageExec is the stage at which the program itself is at fault, not its jail.
const StageExec = "execute"

// StageBar is the stage at which loaders are barred, which not every kernel can.
const StageBar = "bar the loader"

// Plan is what the jail is to be, worked out by the host to the last detail. It is plain data: what
// is in it was decided outside, and what the kernel is to be told is in the kernel's own words.
type Plan struct {
	Path string   // the program, as seen inside
	Argv []string // with argv[0]
	Env  []string
	Dir  string // the working directory, as seen inside

	User, Group int // whom the program takes itself for

	Files  int  // descriptors the program has beyond the three standard ones; they are 3, 4, … in every stage
	Simple bool // no namespaces: Landlock and seccomp only
	Probe  bool // build everything, start nothing
	Ahead  bool // build everything, and wait for a plan that says what is started in it

	Mounts   []Mount // in the order in which they are made: what lies deeper comes later
	Net      Net
	Landlock Landlock
	Limits   []Limit
	Filter   []byte   // of system calls: an array of struct sock_filter; empty: none
	Loaders  [][]byte // how files begin that the kernel may use as loaders and nobody may execute
}

// A Mount is one thing to be seen inside.
type Mount struct {
	Kind    Kind
	Source  string // Bind: the path outside, without links in it; Link: what it points to
	Target  string // the path inside, clean and absolute
	Write   bool   // Bind: it may be changed
	Exec    bool   // Bind: what is in it may be mapped for execution
	Devices bool   // Bind: it is a device
	Content string // File
	Size    int64  // Temp, Firm: at most this many bytes
	Files   int64  // Temp, Firm: at most this many files and directories
	Missing bool   // Bind: may be absent, and is then left out
	Lend    bool   // Bind: files of the host's user are the program's own, also where it runs as another
}

// Kind is what a mount is.
type Kind string

// The kinds.
const (
	Bind Kind = "bind" // a file or directory of the outside
	Temp Kind = "temp" // an empty directory in memory
	Firm Kind = "firm" // the same, and once the jail is built nothing can be added to it
	Proc Kind = "proc" // the processes of the jail
	Link Kind = "link" // a symbolic link
	File Kind = "file" // a small file with a given content, read-only
	Dir  Kind = "dir"  // an empty directory, read-only
)

// Net is what there is of a network.
type Net struct {
	Shared bool // the host's own
	// Broker: every address is at hand, and every connection ends at a socket that the host holds.
	// Otherwise there is a loopback interface and nothing else.
	Broker   bool
	Ports    []uint16 // the ports that may be reached, for where there is no redirecting
	AllPorts bool     // some grant names no port: without redirecting it cannot be kept

	// What netlink is told, whole messages one after the other.
	Route4, Route6 []byte // make every address of a family one of this machine's own
	Redirect       []byte // lead every connection to RedirectPort
	Redirect4      []byte // the same for where there is no IPv6
}

// RedirectPort is where every connection ends up. A port that no plugin needs for itself.
const RedirectPort = 1

// Landlock is what Landlock is told. Where it handles nothing and keeps nothing apart, it is not
// asked for.
type Landlock struct {
	Handled uint64 // the rights over files that nobody has without a rule
	Scoped  uint64 // what is kept apart from the outside
	Rules   []Rule
}

// A Rule gives rights over a file, or over a directory with all below. What is not there needs
// none.
type Rule struct {
	Path   string // as seen inside, without links in it
	Rights uint64
}

// A Limit is one resource limit, soft and hard.
type Limit struct {
	Resource int
	Cur, Max uint64
}

// A Report is what the jail tells the host over the control socket.
type Report struct {
	Sockets string     // descriptors come along: "redirect" or "ports"; then one report more follows
	Built   bool       // all is ready for the program, which is still to be named (Plan.Ahead)
	Seen    []Identity // with Built: what each of the plan's mounts has bound; zero for those that bind nothing
	Stale   bool       // what was built is not any more: nothing was started
	Runs    bool       // the program was started
	Stage   string     // what went wrong
	Error   string     // how
	Errno   int        // the same as a number, where it has one
	Notes   []string   // what is not as planned
}

// An Identity is which file something is, whatever its name.
type Identity struct{ Device, Inode uint64 }

// supplied announces what outer hands to inner.
type supplied struct {
	opened bool  // the descriptors that come with this message and the next ones are the plan's binds
	mounts []int // which of the plan's mounts, in the order of the descriptors
	last   bool
	notes  []string
}

// ended is what inner tells outer last.
type ended struct{ status uint32 } // of the program, as by wait

// Encode writes a plan.
func (p *Plan) Encode() []byte { return encode(p) }

// DecodePlan reads a plan, and reports whether the bytes are one.
func DecodePlan(data []byte) (*Plan, bool) {
	p := new(Plan)
	return p, decode(data, p)
}

// Encode writes a report.
func (r *Report) Encode() []byte { return encode(r) }

// DecodeReport reads a report, and reports whether the bytes are one.
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

// decimal is a number as people write it.
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
