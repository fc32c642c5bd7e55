package netprobe

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"hale/internal/core/fleet"
)

// FuzzIntroduction: whatever a server says, a line that is returned introduces it as one of SSH 2 within bounds, and it
// does not matter in which pieces it comes.
func FuzzIntroduction(f *testing.F) {
	for _, said := range []string{
		"SSH-2.0-OpenSSH_9.2p1\r\n", "hello\r\nSSH-1.99-x\n", "SSH-1.5-x\r\n",
		"SSH-2.0-" + strings.Repeat("x", 300) + "\r\n", strings.Repeat("\n", 100), "SSH-", "",
	} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		line, err := readIntroduction(strings.NewReader(said))
		again, errAgain := readIntroduction(iotest.OneByteReader(strings.NewReader(said)))
		if line != again || (err == nil) != (errAgain == nil) {
			t.Fatalf("%q, %v; in pieces %q, %v", line, err, again, errAgain)
		}
		var known failure
		switch {
		case err != nil && (!errors.As(err, &known) || known.reason != fleet.ResultProtocol):
			t.Errorf("it ends with %v", err)
		case err == nil &&
			(!strings.HasPrefix(line, "SSH-") || len(line) > maxIntroduction || strings.Contains(line, "\n") ||
				!strings.Contains(said, line)):
			t.Errorf("%q is no introduction", line)
		}
	})
}
