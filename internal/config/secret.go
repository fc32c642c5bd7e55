package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"strings"

	"hale/internal/fault"
)

// Secret refers to a password or token: "env:NAME" or "file:/path". It never holds the secret itself, which is read
// anew by each Resolve, and it renders as "[secret]" wherever it is printed, logged or marshalled (law L14).
type Secret struct{ kind, where string }

const redacted = "[secret]"

// ParseSecret reads a reference. Anything else is refused, in words that do not repeat it: it may be a secret that
// somebody wrote down.
func ParseSecret(reference string) (Secret, error) {
	kind, where, _ := strings.Cut(reference, ":")
	switch {
	case kind == "env" && where != "" && !strings.ContainsAny(where, "= \x00"):
	case kind == "file" && path.IsAbs(where):
	default:
		return Secret{}, errors.New("a secret is not written here: refer to it by env:NAME or file:/path")
	}
	return Secret{kind: kind, where: where}, nil
}

// Resolve reads the secret. A single line break at a file's end does not belong to it. The error is a fault: NotFound
// when there is none, Invalid when it is empty, else Permanent; it names the reference, never the content.
func (s Secret) Resolve(ctx context.Context) (string, error) {
	const op = "secret.resolve"
	if err := ctx.Err(); err != nil {
		return "", fault.New(fault.Transient, op, s.reference(), err)
	}
	value := ""
	switch s.kind {
	case "env":
		v, ok := os.LookupEnv(s.where)
		if !ok {
			return "", fault.New(fault.NotFound, op, s.reference(), errors.New("the environment variable is not set"))
		}
		value = v
	case "file":
		v, err := readRegular(s.where)
		if errors.Is(err, errNoFile) {
			return "", fault.New(fault.NotFound, op, s.reference(), err)
		}
		if err != nil {
			return "", fault.New(fault.Permanent, op, s.reference(), err)
		}
		value = strings.TrimSuffix(strings.TrimSuffix(v, "\n"), "\r")
	}
	if value == "" {
		return "", fault.New(fault.Invalid, op, s.reference(), errors.New("the secret is empty"))
	}
	return value, nil
}

// reference is for errors only.
func (s Secret) reference() string { return s.kind + ":" + s.where }

// String hides even the reference.
func (s Secret) String() string { return redacted }

// Format hides it from every verb, %#v included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText hides it from encoders of text and JSON, as a key of a map too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue hides it from log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
