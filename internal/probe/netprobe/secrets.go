package netprobe

import (
	"context"
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/probe"
	"hale/internal/secret"
)

// secrets are the values that one probe uses. They are read anew for each, so that a changed one is taken up, and live
// no longer.
type secrets []string

// read returns the value of the header or variable of the name. One that cannot be read is our own fault, and the error
// tells neither where it is kept nor what is there.
func (s *secrets) read(ctx context.Context, name string, where fleet.Secret) (string, error) {
	value, err := secret.Read(ctx, where)
	if err != nil {
		return "", probe.LocalError{Err: fmt.Errorf("the secret of %s cannot be read: %w", name, err)}
	}
	*s = append(*s, value)
	return value, nil
}

// hideIn returns what a program said without the secrets. Of its output only the beginning is kept, so the end may be a
// piece of one.
func (s secrets) hideIn(output string) string {
	return secret.RedactEnd(secret.Redact(output, s...), s...)
}
