package netprobe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/probe"
	"hale/internal/secret"
)

// secrets are the values that one probe uses. They are read anew for each, so that a changed one is taken up, and live no longer.
type secrets []string

// read returns the value of the header or variable of the name. One that cannot be read is our own fault, and the error tells
// neither where it is kept nor what is there.
func (s *secrets) read(ctx context.Context, name string, where fleet.Secret) (string, error) {
	from, err := secret.Of(where)
	if err != nil {
		return "", unreadable(name, err)
	}
	value, err := from.Resolve(ctx)
	if err != nil {
		return "", unreadable(name, err)
	}
	*s = append(*s, value)
	return value, nil
}

func unreadable(name string, err error) error {
	var known *fault.Error
	if errors.As(err, &known) && known.Err != nil {
		err = known.Err // without the place
	}
	return probe.LocalError{Err: fmt.Errorf("the secret of %s cannot be read: %w", name, err)}
}

// leastPiece is how much of a secret is hidden where the rest of it was cut off, in bytes.
const leastPiece = 4

// hideIn returns what a program said without the secrets. Of its output only the beginning is kept, so the end may be a piece of one.
func (s secrets) hideIn(output string) string {
	output = secret.Redact(output, s...)
	for _, value := range s {
		for n := len(value) - 1; n >= leastPiece; n-- {
			if rest, cut := strings.CutSuffix(output, value[:n]); cut {
				output = rest + secret.Shown
				break
			}
		}
	}
	return output
}
