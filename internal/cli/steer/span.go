package steer

import (
	"errors"
	"time"

	"hale/internal/core/fleet"
)

// span is a flag for a length of time, in which days count.
type span time.Duration

func (s *span) String() string { return time.Duration(*s).String() }
func (s *span) Type() string   { return "duration" }

func (s *span) Set(text string) error {
	d, err := fleet.ParseSpan(text)
	if err != nil {
		return errors.New("write for example 30m, 2h or 3d")
	}
	*s = span(d)
	return nil
}
