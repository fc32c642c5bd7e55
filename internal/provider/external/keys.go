package external

import (
	"context"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/secret"
)

// Kind is the provider type exec.
func Kind() kinds.Provider {
	return kinds.Provider{
		Word: "exec", Doc: "for anything else, by a program of your own", Images: true,
		Usages:   policy.Usages(),
		Keys:     keys.SectionOf("exec", providerKeys(), compileKeys),
		Template: keys.SectionOf("exec", templateKeys(), optioned),
		Without:  []string{"seed", "xml", "accel"},
		Stored:   kinds.StoredAs[Settings],
		Remarks:  remarks(),
	}
}

// remarks say which abilities the program lacks.
func remarks() kinds.Remarks {
	out := kinds.Remarks{}
	for _, word := range []operation{opResume, opSoftReboot, opRebuild, opAdjust, opKeep, opRestore, opSnapshot,
		opDropSnapshot} {
		ability, _ := word.ability()
		out[fleet.Op(word)] = kinds.Remark{Lacks: "the program does not have the ability " + ability}
	}
	for _, word := range []fleet.Op{"migrate", "evacuate", "rescue"} {
		out[word] = kinds.Remark{Lacks: "the contract has no word for it"}
	}
	return out
}

// Settings are what the keys come to.
type Settings struct {
	Program `json:"Exec"`
}

// Program is the program that speaks for the hypervisor.
type Program struct {
	Command []string // the program by an absolute path, and its arguments
	Env     []Kept
	Timeout time.Duration // of calls that no step limits
	// Parallel is how many programs run at once for calls that change something, and how many for those that read.
	Parallel int
}

// Kept is one variable of the program's environment. It says where a secret is kept, so that it can be stored: at most
// one of Value, File and Env is there.
type Kept struct {
	Name, Value string
	File        string `json:",omitempty"` // an absolute path
	Env         string `json:",omitempty"` // a variable of hale's own
}

// SameAddress implements kinds.Settings: the same program speaks for the same hypervisor, as far as one can tell from
// outside.
func (s Settings) SameAddress(was kinds.Settings, _ kinds.Hosts) bool {
	o, ok := was.(Settings)
	return ok && slices.Equal(s.Command, o.Command) && slices.Equal(s.Env, o.Env)
}

// describeLimit is how long a program may take to say what it can do before hale goes on without knowing: it is asked
// again with each call.
const describeLimit = 10 * time.Second

// Connect implements kinds.Settings.
func (s Settings) Connect(ctx context.Context, c kinds.Connection) (kinds.Connected, error) {
	o := Options{Command: s.Command, Timeout: s.Timeout, Parallel: s.Parallel, Logger: c.Logger}
	for _, v := range s.Env {
		kept, err := secret.Of(fleet.Secret{File: v.File, Env: v.Env})
		if err != nil {
			return kinds.Connected{}, fault.New(fault.Invalid, "external.connect", string(c.Name), err)
		}
		o.Env = append(o.Env, secret.Named{Name: v.Name, Plain: v.Value, Secret: kept})
	}
	p, err := New(o)
	if err != nil {
		return kinds.Connected{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, describeLimit)
	defer cancel()
	if _, err := p.Describe(ctx); err != nil {
		c.Logger.Warn("an exec provider's program does not say what it can do; it is asked again", "err", err)
	}
	return c.Real(p, p), nil
}

type programDraft struct {
	keys.ProgramDraft
	timeout  keys.At[time.Duration]
	parallel keys.At[int]
}

func providerKeys() []keys.Field[programDraft] {
	return []keys.Field[programDraft]{
		keys.May("command", "exec only, and needed there: the program and its arguments, without a shell. What it "+
			"reads and writes is in [the contract](exec-provider.md). A relative path begins at the folder of this "+
			"file. Put no secrets here: everybody on the server can read them.",
			keys.List[string]{Noun: "the program", Each: keys.Text("a word of the command",
				"/usr/local/lib/hale/my-cloud")},
			func(p *programDraft) *keys.At[[]keys.At[string]] { return &p.Command }),
		keys.May("env", "exec only: the program's environment, beside a PATH: a text, or `{file: PATH}` or `{env: "+
			"NAME}` for what is secret, which is read for each call.",
			keys.Mapping[keys.TextDraft]{Key: "VARIABLE",
				Each: keys.TextOrSecret("a text", "https://cloud.example.org"), Names: keys.VariableNames},
			func(p *programDraft) *keys.At[[]keys.Named[keys.TextDraft]] { return &p.Env }),
		keys.Or("timeout", defaultTimeout, "exec only: when a program is killed if its step sets no limit.",
			keys.Duration(time.Second, time.Hour),
			func(p *programDraft) *keys.At[time.Duration] { return &p.timeout }),
		keys.Or("parallel", defaultParallel,
			"exec only: how many programs run at once to change something, and how many to read.", keys.Integer(1, 256),
			func(p *programDraft) *keys.At[int] { return &p.parallel }),
	}
}

type templateDraft struct {
	options keys.At[[]keys.Named[string]]
}

func templateKeys() []keys.Field[templateDraft] {
	return []keys.Field[templateDraft]{
		keys.May("options", "exec only: whatever else the provider's program wants to know, by its own names.",
			keys.Mapping[string]{Key: "OPTION", Each: keys.Text("the option's value", "ssd"),
				Names: keys.KeyForm{Noun: "the name of an option", Pattern: "^[A-Za-z0-9_.-]+$"}},
			func(t *templateDraft) *keys.At[[]keys.Named[string]] { return &t.options }),
	}
}

func compileKeys(e kinds.Entry, d *programDraft) kinds.Made {
	if !d.Command.Written() || d.Command.Known() && len(d.Command.Value) == 0 {
		e.Add(e.Spot.Under("command"), "is missing", "add command: [/path/to/the/program]")
	}
	p := Program{Command: keys.Command(d.Command), Timeout: d.timeout.Value, Parallel: d.parallel.Value}
	for _, v := range d.Env.Value {
		e.Spelt(v, keys.Hushed)
		plain, kept := e.TextPlace(v)
		p.Env = append(p.Env, Kept{Name: v.Name, Value: plain, File: kept.File, Env: kept.Env})
	}
	slices.SortFunc(p.Env, func(a, b Kept) int { return strings.Compare(a.Name, b.Name) })
	return kinds.Made{Settings: Settings{p}}
}

// optioned returns the template with its options, sorted by name. What the program means by an image is its business.
func optioned(m kinds.Machine, d *templateDraft) policy.Template {
	t := m.Common
	t.Image = m.Draft.Image.Value
	for _, n := range d.options.Value {
		t.Options = append(t.Options, policy.Setting{Name: n.Name, Value: n.Value})
	}
	slices.SortFunc(t.Options, func(a, b policy.Setting) int { return strings.Compare(a.Name, b.Name) })
	return t
}
