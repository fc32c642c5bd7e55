package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// contractVersion is that of docs/reference/exec-provider.md.
const contractVersion = 1

// operation is what a program is asked for.
type operation string

// The operations.
const (
	opDescribe     operation = "describe"
	opIdentity     operation = "identity"
	opList         operation = "list"
	opGet          operation = "get"
	opStart        operation = "start"
	opReboot       operation = "reboot"
	opPowerOff     operation = "power-off"
	opCreate       operation = "create"
	opDelete       operation = "delete"
	opCertify      operation = "certify"
	opResume       operation = "resume"
	opSoftReboot   operation = "soft-reboot"
	opRebuild      operation = "rebuild"
	opKeep         operation = "keep"
	opRestore      operation = "restore"
	opSnapshot     operation = "snapshot"
	opDropSnapshot operation = "drop-snapshot"
	opAdjust       operation = "adjust"
	opPingGuest    operation = "ping-guest"
	opUsage        operation = "usage"
	opConsole      operation = "console"
	opScreenshot   operation = "screenshot"
	opStarts       operation = "starts"
	opNoteStart    operation = "note-start"
	opForgetStart  operation = "forget-start"
	opWatch        operation = "watch"
)

// changes reports whether the operation changes something, so that one without an answer has an unknown outcome.
func (o operation) changes() bool {
	return !slices.Contains([]operation{
		opDescribe, opIdentity, opList, opGet, opPingGuest, opUsage, opConsole, opScreenshot, opStarts, opWatch,
	}, o)
}

// The abilities that a program may have. Those without an operation of their own name are in abilityWords.
const (
	abilityDisks = "disks" // that outlive their instances
	abilityWatch = "watch"
	// abilityStarts is that of a program which keeps the notes of hale's starts.
	abilityStarts = "starts"
)

// abilityWords are the contract's words for the abilities of the port.
var abilityWords = map[string]string{
	"Resumer":       "resume",
	"SoftRebooter":  "soft-reboot",
	"Rebuilder":     "rebuild",
	"Keeper":        "keep",
	"Snapshotter":   "snapshot",
	"Adjuster":      "adjust",
	"GuestPinger":   "ping-guest",
	"UsageReader":   "usage",
	"ConsoleReader": "console",
	"Screenshooter": "screenshot",
	"StartReader":   abilityStarts,
	"StartNoter":    abilityStarts,
}

// Abilities returns all words that a program may describe itself with.
func Abilities() []string {
	words := []string{abilityDisks, abilityWatch}
	for _, w := range abilityWords {
		words = append(words, w)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// ability returns the word for what the operation needs, and whether there is one.
func (o operation) ability() (string, bool) {
	switch o {
	case opResume, opSoftReboot, opRebuild, opKeep, opSnapshot, opAdjust, opPingGuest, opUsage, opConsole, opScreenshot,
		opWatch:
		return string(o), true
	case opRestore:
		return string(opKeep), true
	case opDropSnapshot:
		return string(opSnapshot), true
	case opStarts, opNoteStart, opForgetStart:
		return abilityStarts, true
	case opDescribe, opIdentity, opList, opGet, opStart, opReboot, opPowerOff, opCreate, opDelete, opCertify:
	}
	return "", false // every program has it
}

// request is what a program reads.
type request struct {
	Contract  int       `json:"hale"`
	Operation operation `json:"operation"`
	// Seconds are left until the program is killed.
	Seconds  float64    `json:"seconds"`
	Instance *reference `json:"instance,omitempty"`
	// Instances are those of a question about several.
	Instances []placed       `json:"instances,omitempty"`
	Name      string         `json:"name,omitempty"`
	Template  *template      `json:"template,omitempty"`
	Made      []string       `json:"made,omitempty"`
	Snapshot  *snapshotNamed `json:"snapshot,omitempty"`
	Start     *startNamed    `json:"start,omitempty"`
	Limit     int            `json:"limit,omitempty"`
}

// placed is an instance, and where it is.
type placed struct {
	ID   string `json:"id"`
	Host string `json:"host"`
}

// reference names one instance.
type reference struct {
	ID      string `json:"id"`
	Host    string `json:"host"`
	Adopted bool   `json:"adopted"`
	Mark    *mark  `json:"mark"`
	// Excused are hosts that need not answer; see provider.Ref.
	Excused []string `json:"excused,omitempty"`
}

// mark is fleet.Mark.
type mark struct {
	Installation string    `json:"installation"`
	Fleet        string    `json:"fleet"`
	Machine      string    `json:"machine"`
	Generation   uint64    `json:"generation"`
	Certified    bool      `json:"certified"`
	Built        time.Time `json:"built"`
	Kept         bool      `json:"kept"`
	Instance     string    `json:"instance,omitempty"`
}

// template is policy.Template.
type template struct {
	Image    string            `json:"image,omitempty"`
	Kernel   string            `json:"kernel,omitempty"`
	Initrd   string            `json:"initrd,omitempty"`
	Cmdline  string            `json:"cmdline,omitempty"`
	Memory   uint64            `json:"memory_bytes"`
	CPUs     int               `json:"cpus"`
	Network  string            `json:"network,omitempty"`
	Disks    []disk            `json:"disks"`
	UserData string            `json:"user_data,omitempty"`
	Metadata map[string]string `json:"metadata"`
	Options  map[string]string `json:"options"`
}

// disk is policy.Disk.
type disk struct {
	Name      string `json:"name"`
	Ephemeral bool   `json:"ephemeral"`
	Size      uint64 `json:"size_bytes,omitempty"`
}

// snapshotNamed is fleet.SnapshotName.
type snapshotNamed struct {
	Installation string `json:"installation"`
	Machine      string `json:"machine"`
	Host         string `json:"host"`
	ID           string `json:"id"`
}

// startNamed is a start of hale, or, without a name, all of an installation.
type startNamed struct {
	Installation string `json:"installation"`
	Name         string `json:"name,omitempty"`
}

func about(op operation, ref provider.Ref) request {
	r := request{Operation: op, Instance: &reference{ID: string(ref.ID), Host: string(ref.Host), Adopted: ref.Adopted}}
	for _, host := range ref.Excused {
		r.Instance.Excused = append(r.Instance.Excused, string(host))
	}
	if ref.Mark != (fleet.Mark{}) {
		m := ref.Mark
		r.Instance.Mark = &mark{
			Installation: string(m.Installation),
			Fleet:        string(m.Fleet),
			Machine:      string(m.Machine),
			Generation:   uint64(m.Generation),
			Certified:    m.Certified,
			Built:        m.Built.UTC(),
			Kept:         m.Kept,
			Instance:     string(m.Instance),
		}
	}
	return r
}

func ordered(op operation, o provider.Blueprint) request {
	r := about(op, o.Ref)
	t := o.Template
	r.Name, r.Made = o.Name, o.Made
	r.Template = &template{
		Image:    t.Image,
		Kernel:   t.Kernel,
		Initrd:   t.Initrd,
		Cmdline:  t.Cmdline,
		Memory:   t.Memory,
		CPUs:     t.CPUs,
		Network:  t.Network,
		UserData: t.UserData,
		Disks:    []disk{},
		Options:  map[string]string{},
		Metadata: maps.Collect(t.Metadata.All()),
	}
	for _, d := range t.Disks {
		r.Template.Disks = append(r.Template.Disks, disk{Name: d.Name, Ephemeral: d.Ephemeral, Size: d.Size})
	}
	for _, v := range t.Options {
		r.Template.Options[v.Name] = v.Value
	}
	return r
}

// attachesDisks reports whether the order's template has a disk that outlives the instance.
func (r request) attachesDisks() bool {
	return r.Template != nil &&
		slices.ContainsFunc(r.Template.Disks, func(d disk) bool { return !d.Ephemeral && d.Size > 0 })
}

func (r request) subject() string {
	switch {
	case r.Instance != nil:
		return r.Instance.ID
	case r.Snapshot != nil:
		return r.Snapshot.ID
	case r.Start != nil:
		return r.Start.Name
	}
	return ""
}

// unanswered is the kind of a call that was sent and has no plain answer: otherwise, unless it changes something.
func (r request) unanswered(otherwise fault.Kind) fault.Kind {
	if r.Operation.changes() {
		return fault.UnknownOutcome
	}
	return otherwise
}

// encode returns the request as one line, so that a program may read just that.
func (r request) encode() (io.Reader, error) {
	data, err := json.Marshal(r)
	return bytes.NewReader(append(data, '\n')), err
}

// envelope is what a program writes: one of the two.
type envelope struct {
	Result json.RawMessage `json:"result"`
	Error  *trouble        `json:"error"`
}

// trouble is why there is no result.
type trouble struct {
	Kind    fault.Kind `json:"kind"`
	Message string     `json:"message"`
}

// faultKinds are those that a program may answer with.
var faultKinds = []fault.Kind{
	fault.NotFound, fault.Conflict, fault.Unsupported, fault.Throttled, fault.Quota, fault.Transient, fault.Permanent,
	fault.Unauthorised,
	fault.Invalid, fault.UnknownOutcome, fault.NoSpace, fault.Locked,
}

func (t trouble) check() error {
	if !slices.Contains(faultKinds, t.Kind) {
		return fmt.Errorf("the error's kind is %q, and must be one of %q", t.Kind, faultKinds)
	}
	return nil
}

// description is the result of describe.
type description struct {
	Contract  int      `json:"contract"`
	Name      string   `json:"name"`
	Abilities []string `json:"abilities"`
}

func (d description) check() error {
	if d.Contract != contractVersion {
		return fmt.Errorf("it speaks version %d of the contract; this hale speaks version %d",
			d.Contract, contractVersion)
	}
	for _, a := range d.Abilities {
		if !slices.Contains(Abilities(), a) {
			return fmt.Errorf("it has the unknown ability %q: the abilities are %q", a, Abilities())
		}
	}
	return nil
}

// identities is the result of identity: a text per host.
type identities struct {
	Identities map[string]string `json:"identities"`
}

// listed is the result of list.
type listed struct {
	Instances []instance   `json:"instances"`
	Hosts     []hostAnswer `json:"hosts"`
}

// hostAnswer is provider.HostAnswer.
type hostAnswer struct {
	Name    string   `json:"name"`
	Rack    string   `json:"rack"`
	Room    string   `json:"room"`
	Zone    string   `json:"zone"`
	Storage string   `json:"storage"`
	Error   *trouble `json:"error"`
	// Independent hosts keep neither ids nor names apart.
	Independent bool `json:"independent"`
	// Address is the host's own.
	Address string `json:"address"`
}

// got is the result of get.
type got struct {
	Instance *instance `json:"instance"`
}

// instance is fleet.Instance.
type instance struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Host    string `json:"host"`
	Power   string `json:"power"`
	Stop    string `json:"stop"`
	Address string `json:"address"`
	Network string `json:"network"`
	Storage string `json:"storage"`
	Mark    *mark  `json:"mark"`
	// Metadata are texts by their keys, from the template and from other writers.
	Metadata map[string]string `json:"metadata"`
	// Memory and CPUs are what it has; 0: not known.
	Memory uint64 `json:"memory_bytes"`
	CPUs   int    `json:"cpus"`
}

// copied is the result of snapshot.
type copied struct {
	Where string `json:"where"`
	Bytes uint64 `json:"bytes"`
}

// noted is the result of starts: names per host, or of all under an empty one.
type noted struct {
	Starts map[string][]string `json:"starts"`
}

// shown is the result of console and screenshot.
type shown struct {
	Format string `json:"format"`
	Text   string `json:"text"`
	Base64 []byte `json:"base64"`
}

// nothing is the result of the others.
type nothing struct{}

// event is one line of watch.
type event struct {
	Instance string `json:"instance"`
	Host     string `json:"host"`
}

// ReadTemplate reads a template as the contract has it, in JSON. What it does not say is small: 512 MiB, one processor,
// and, with an image, a root disk that goes with its instance.
func ReadTemplate(data []byte) (policy.Template, error) {
	t := template{Memory: 512 << 20, CPUs: 1}
	if err := strictly(data, &t); err != nil {
		return policy.Template{}, err
	}
	out := policy.Template{
		Image:    t.Image,
		Kernel:   t.Kernel,
		Initrd:   t.Initrd,
		Cmdline:  t.Cmdline,
		Memory:   t.Memory,
		CPUs:     t.CPUs,
		Network:  t.Network,
		UserData: t.UserData,
		Metadata: fleet.MetadataOf(t.Metadata),
	}
	for _, d := range t.Disks {
		out.Disks = append(out.Disks, policy.Disk{Name: d.Name, Ephemeral: d.Ephemeral, Size: d.Size})
	}
	if t.Image != "" && t.Disks == nil {
		out.Disks = []policy.Disk{{Name: "root", Ephemeral: true}}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Options)) {
		out.Options = append(out.Options, policy.Setting{Name: name, Value: t.Options[name]})
	}
	return out, nil
}
