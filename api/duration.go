package api

import (
	"fmt"
	"time"
)

// Duration is a time span that is written as Go writes it: "90s" is "1m30s". As a number of nanoseconds it would be
// cut by every reader whose numbers end at 2^53, which is 104 days.
type Duration time.Duration

// String implements fmt.Stringer.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	span, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is no duration: write for example 90s, 15m or 2h", text)
	}
	*d = Duration(span)
	return nil
}
