package keys

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/secret"
)

// SecretRef says where a secret is kept.
type SecretRef struct{ File, Env At[string] }

// TextDraft is a text that may be a secret, and is a reference then.
type TextDraft struct {
	Plain  At[string]
	Secret SecretRef
}

// ProgramDraft is a program with its environment.
type ProgramDraft struct {
	Command At[[]At[string]]
	Env     At[[]Named[TextDraft]]
}

// Secret reads a reference to a secret. A literal is refused, and not repeated.
func Secret() Shape[SecretRef] {
	return onlyReference{Object[SecretRef]{Fields: []Field[SecretRef]{
		May("file", "The file that holds it and nothing else; relative paths begin at the folder of this file. "+
			"Readable by hale, and not by everybody.",
			Text("a path", "/run/secrets/token"), func(s *SecretRef) *At[string] { return &s.File }),
		May("env", "The environment variable of hale that holds it.", Text("a variable's name",
			"HALE_TOKEN"), func(s *SecretRef) *At[string] { return &s.Env }),
	}}}
}

// onlyReference reads only a mapping, and says nothing of what stands there instead: it may be the secret itself.
type onlyReference struct{ Object[SecretRef] }

func (s onlyReference) Read(r *Reader, n Node) (SecretRef, bool) {
	if n.Form == FormMapping {
		return s.Object.Read(r, n)
	}
	r.Add(n.Spot, "is "+string(n.Form)+"; a secret is not written here", "keep it in a file or in the environment, "+
		"and write {file: /run/secrets/NAME} or {env: NAME}")
	return SecretRef{}, false
}

func (s onlyReference) Schema() *Schema {
	one := 1
	o := s.Object.Schema()
	o.Type, o.MinProperties, o.MaxProperties = "object", &one, &one
	return o
}

// TextOrSecret reads a text, or a reference to a secret.
func TextOrSecret(noun, example string) Shorthand[TextDraft, string] {
	return Shorthand[TextDraft, string]{
		Short: Text(noun, example), Long: secretText{Secret()},
		Take: func(plain At[string]) TextDraft { return TextDraft{Plain: plain} },
	}
}

// secretText reads a secret as a text.
type secretText struct{ Shape[SecretRef] }

func (s secretText) Read(r *Reader, n Node) (TextDraft, bool) {
	d, ok := s.Shape.Read(r, n)
	return TextDraft{Secret: d}, ok
}

// VariableNames is what variables of an environment are called.
var VariableNames = KeyForm{Noun: "the name of a variable", Pattern: "^[A-Za-z_][A-Za-z0-9_]*$"}

// HeaderNames are those of RFC 9110.
var HeaderNames = KeyForm{Noun: "the name of a header", Pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"}

// Program reads a program that hale runs, with its environment.
func Program() Object[ProgramDraft] {
	return Object[ProgramDraft]{Fields: []Field[ProgramDraft]{
		Must("command", "[/usr/local/bin/tell, on-call]", "The program and its arguments, without a shell. Put "+
			"no secrets here: everybody on the server can read them.",
			List[string]{Noun: "the program", Each: Text("a word of the command", "/usr/local/bin/tell")},
			func(t *ProgramDraft) *At[[]At[string]] { return &t.Command }),
		May("env", "Its environment, beside PATH and HALE_…: a text, or `{file: PATH}` or `{env: NAME}` for "+
			"what is secret.",
			Mapping[TextDraft]{Key: "VARIABLE", Each: TextOrSecret("a text", "on-call"), Names: VariableNames},
			func(t *ProgramDraft) *At[[]Named[TextDraft]] { return &t.Env }),
	}}
}

// Path makes a path absolute; a relative one begins at the folder of the file that it is written in.
func Path(v At[string]) string {
	if !v.Known() || filepath.IsAbs(v.Value) {
		return v.Value
	}
	path, err := filepath.Abs(filepath.Join(filepath.Dir(v.File), v.Value))
	if err != nil { // there is no working folder; the path stays as relative as the file's
		return filepath.Join(filepath.Dir(v.File), v.Value)
	}
	return path
}

// Secret judges a reference. Nothing that was written in it is repeated.
func (f *Finder) Secret(v At[SecretRef]) secret.Secret {
	if v.How != Given {
		return secret.Secret{}
	}
	file, env := v.Value.File, v.Value.Env
	var s secret.Secret
	var err error
	switch {
	case file.Written() && env.Written():
		f.Add(env.Spot, "comes besides file", "write either file or env")
	case file.Given():
		s, err = secret.File(Path(file))
	case env.Given():
		s, err = secret.Env(env.Value)
	case !file.Written() && !env.Written():
		f.Add(file.Spot, "is missing", "write {file: PATH} or {env: NAME}")
	}
	if err != nil {
		where := env.Spot
		if file.Given() {
			where = file.Spot
		}
		f.Add(where, err.Error(), "write {file: /run/secrets/NAME} or {env: NAME}")
	}
	return s
}

// Place judges a reference, and returns where the secret is kept: what may be stored.
func (f *Finder) Place(v At[SecretRef]) fleet.Secret {
	switch s := v.Value; {
	case f.Secret(v).None():
		return fleet.Secret{}
	case s.File.Written():
		return fleet.Secret{File: Path(s.File)}
	default:
		return fleet.Secret{Env: s.Env.Value}
	}
}

// reference is where the text's secret is kept.
func (d TextDraft) reference() At[SecretRef] {
	return At[SecretRef]{Spot: d.Secret.File.Spot, Value: d.Secret, How: Given}
}

// Text judges a text that may be a secret.
func (f *Finder) Text(d TextDraft) secret.Value {
	if d.Plain.How != Absent {
		return secret.Value{Plain: d.Plain.Value}
	}
	return secret.Value{Secret: f.Secret(d.reference())}
}

// TextPlace judges the text of a name for what may be stored.
func (f *Finder) TextPlace(n Named[TextDraft]) (plain string, s fleet.Secret) {
	if d := n.Value; n.OK && d.Plain.How == Absent {
		return "", f.Place(d.reference())
	}
	return n.Value.Plain.Value, fleet.Secret{}
}

// Named judges the text of a name.
func (f *Finder) Named(n Named[TextDraft]) secret.Named {
	if !n.OK { // the problem is reported already
		return secret.Named{Name: n.Name}
	}
	v := f.Text(n.Value)
	return secret.Named{Name: n.Name, Plain: v.Plain, Secret: v.Secret}
}

// Hushed reports whether a name says that its value is secret.
func Hushed(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"authorization", "cookie", "token", "secret", "password",
		"api-key", "apikey", "signature"},
		func(part string) bool { return strings.Contains(name, part) })
}

// Spelt reports a text that is written in the file, and is a secret by its name.
func (f *Finder) Spelt(n Named[TextDraft], secret func(name string) bool) bool {
	if !n.Value.Plain.Written() || !secret(n.Name) {
		return false
	}
	f.Add(n.Spot, "is a secret by its name, and is written here",
		"keep it in a file or in the environment, and write {file: PATH} or {env: NAME}")
	return true
}

// Program judges a program, and returns its words and its environment, sorted by name.
func (f *Finder) Program(d ProgramDraft) (command []string, env []secret.Named) {
	for _, e := range d.Env.Value {
		if strings.HasPrefix(e.Name, "HALE_") {
			f.Add(e.Spot, "HALE_… is what hale itself says to the program", "choose another name")
		}
		env = append(env, f.Named(e))
	}
	slices.SortFunc(env, func(a, b secret.Named) int { return cmp.Compare(a.Name, b.Name) })
	return Command(d.Command), env
}

// Command returns the words of a command, its program by an absolute path if it is found.
func Command(d At[[]At[string]]) []string {
	command := Values(d)
	if words := d.Value; len(words) > 0 && words[0].Known() && words[0].Value != "" &&
		!filepath.IsAbs(words[0].Value) {
		if strings.ContainsRune(words[0].Value, filepath.Separator) {
			command[0] = Path(words[0])
		} else if found, err := exec.LookPath(words[0].Value); err == nil {
			command[0] = found
		}
	}
	return command
}

// Values returns what is written, or nil.
func Values[V any](drafts At[[]At[V]]) []V {
	var out []V
	for _, d := range drafts.Value {
		out = append(out, d.Value)
	}
	return out
}
