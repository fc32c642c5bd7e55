// Package secret refers to passwords and tokens without holding them.
//
// It promises that a Secret never renders as anything but "[secret]" (law L14), that its value is read anew by each
// Resolve, so that a rotated one is taken up without a restart, and that no error has a piece of the value in it. It
// hands the value to its caller, who is to use it and let it go.
package secret

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// Secret is where a password or token is kept. The zero value refers to nothing.
type Secret struct{ kind, where string }

// Shown is what every secret looks like.
const Shown = "[secret]"

const (
	kindEnv  = "env"
	kindFile = "file"
	kindKey  = "key"
)

// longest is more than any password or token has, in bytes.
const longest = 64 << 10

// Env refers to an environment variable. The error says what is wrong with the name, and does not repeat it: a secret
// may have been written in its place.
func Env(name string) (Secret, error) {
	if name == "" || strings.ContainsAny(name, "=\x00 \t\r\n") {
		return Secret{}, errors.New("it is not the name of an environment variable")
	}
	return Secret{kindEnv, name}, nil
}

// File refers to a file's content, by an absolute path.
func File(path string) (Secret, error) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return Secret{}, errors.New("it is not an absolute path")
	}
	return Secret{kindFile, filepath.Clean(path)}, nil
}

// Key refers to a file's content that has several lines, as a private key has.
func Key(path string) (Secret, error) {
	s, err := File(path)
	if err == nil {
		s.kind = kindKey
	}
	return s, err
}

// Of is what a fleet's policy refers to. The error is that of File or Env.
func Of(s fleet.Secret) (Secret, error) {
	switch {
	case s.None():
		return Secret{}, nil
	case s.File != "":
		return File(s.File)
	}
	return Env(s.Env)
}

// Read returns the value of what a fleet's policy refers to. The error tells neither where it is kept nor what is
// there.
func Read(ctx context.Context, s fleet.Secret) (string, error) {
	from, err := Of(s)
	if err != nil {
		return "", err
	}
	return from.told(ctx)
}

// ReadKey is the same of a private key in a file.
func ReadKey(ctx context.Context, path string) (string, error) {
	from, err := Key(path)
	if err != nil {
		return "", err
	}
	return from.told(ctx)
}

// told reads the secret. The error does not tell where it is kept.
func (s Secret) told(ctx context.Context) (string, error) {
	value, err := s.Resolve(ctx)
	if f := (*fault.Error)(nil); errors.As(err, &f) && f.Err != nil {
		err = f.Err
	}
	return value, err
}

// Derived is another secret that follows from one, for the user or thing that is named. It does not reveal the one that
// it is derived from, or another one of the kind. It is the HMAC-SHA256 of the name, in hexadecimal digits, which
// openssl computes too.
func Derived(from, name string) string {
	mac := hmac.New(sha256.New, []byte(from))
	mac.Write([]byte(name))
	return hex.EncodeToString(mac.Sum(nil))
}

// None reports whether it refers to nothing.
func (s Secret) None() bool { return s.kind == "" }

// Resolve reads the secret. A single line break at a file's end does not belong to it. The error is a fault: NotFound
// when there is none, Unauthorised when it may not be read, Invalid when it is empty or spreads over lines that nothing
// could use, else Permanent. It names the place, never the content.
func (s Secret) Resolve(ctx context.Context) (string, error) {
	const op = "secret.resolve"
	if err := ctx.Err(); err != nil {
		return "", fault.New(fault.Transient, op, s.place(), err)
	}
	value, err := s.read()
	if err != nil {
		return "", fault.New(kindOf(err), op, s.place(), err)
	}
	switch {
	case value == "":
		return "", fault.New(fault.Invalid, op, s.place(), errors.New("the secret is empty"))
	case s.kind != kindKey && strings.ContainsAny(value, "\x00\r\n"):
		return "", fault.New(fault.Invalid, op, s.place(), errors.New("the secret has more than one line"))
	}
	return value, nil
}

var (
	errUnset  = errors.New("the environment variable is not set")
	errNoFile = errors.New("there is no such file")
	errDenied = errors.New("hale may not read it")
)

func kindOf(err error) fault.Kind {
	switch {
	case errors.Is(err, errUnset), errors.Is(err, errNoFile):
		return fault.NotFound
	case errors.Is(err, errDenied):
		return fault.Unauthorised
	}
	return fault.Permanent
}

func (s Secret) read() (string, error) {
	switch s.kind {
	case kindEnv:
		value, ok := os.LookupEnv(s.where)
		if !ok {
			return "", errUnset
		}
		return value, nil
	case kindFile:
		value, err := readFile(s.where)
		return strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r"), err
	case kindKey:
		return readFile(s.where)
	}
	return "", errors.New("it refers to nothing")
}

// readFile reads a small regular file. Its errors are for people, without the path.
func readFile(path string) (string, error) {
	info, err := os.Stat(path) // before opening: a pipe would block
	if err != nil {
		return "", because(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", because(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, longest+1))
	switch {
	case err != nil:
		return "", errors.New("reading failed")
	case len(data) > longest:
		return "", fmt.Errorf("it is larger than %d bytes", longest)
	}
	return string(data), nil
}

func because(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errNoFile
	case errors.Is(err, fs.ErrPermission):
		return errDenied
	}
	return errors.New("it is not reachable")
}

// Exposed says why others than those it is meant for may know the secret; empty: nothing is known against it. A file
// that only its owner and its group can read is well kept.
func (s Secret) Exposed() string {
	if s.kind != kindFile && s.kind != kindKey {
		return ""
	}
	info, err := os.Stat(s.where)
	if err != nil {
		return "" // Resolve says it
	}
	switch mode := info.Mode().Perm(); {
	case mode&0o006 != 0:
		return fmt.Sprintf("everybody on this server can read or write %s: chmod o= %s", s.place(), s.where)
	case mode&0o020 != 0:
		return fmt.Sprintf("its whole group can write %s: chmod g-w %s", s.place(), s.where)
	}
	return ""
}

// place is for errors only.
func (s Secret) place() string {
	if s.None() {
		return "no secret"
	}
	return s.kind + " " + s.where
}

// String hides even the place.
func (s Secret) String() string { return Shown }

// GoString hides it from %#v.
func (s Secret) GoString() string { return Shown }

// Format hides it from every other verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Shown)) }

// MarshalText hides it from encoders of text and JSON, as a key of a map too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Shown), nil }

// LogValue hides it from log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(Shown) }

// Redact returns the text without the values of secrets. Short values are left: they would hide half of any text, and
// are no secrets.
func Redact(text string, values ...string) string {
	for _, v := range values {
		if len(v) >= shortest {
			text = strings.ReplaceAll(text, v, Shown)
		}
	}
	return text
}

// RedactEnd hides what a text that was cut off ends with, where it is the beginning of a value.
func RedactEnd(text string, values ...string) string {
	for _, v := range values {
		for n := len(v) - 1; n >= shortest; n-- {
			if rest, ends := strings.CutSuffix(text, v[:n]); ends {
				text = rest + Shown
				break
			}
		}
	}
	return text
}

// RedactBegin hides the end of a value with which a text begins after its own beginning was cut off.
func RedactBegin(text string, values ...string) string {
	for _, v := range values {
		for n := 1; n <= len(v)-shortest; n++ {
			if rest, begins := strings.CutPrefix(text, v[n:]); begins {
				text = Shown + rest
				break
			}
		}
	}
	return text
}

// shortest is what is hidden from a text, in bytes.
const shortest = 4
