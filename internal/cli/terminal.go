package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// style is how a piece of text looks where there is colour.
type style string

// The styles, as parameters of the terminal's "select graphic rendition".
const (
	plain  style = ""
	strong style = "1"
	faint  style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// paper is what text is drawn on.
type paper struct {
	width  int // 0: as wide as need be
	height int // 0: as long as need be
	colour bool
}

// paint returns the text in the style.
func (p paper) paint(s style, text string) string {
	if !p.colour || s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// screen is where a command's output goes: a terminal, or a file or pipe.
type screen struct {
	out    io.Writer
	live   bool // it can be redrawn in place
	colour bool
	size   func() (width, height int)
}

// screenOf finds out what the writer is.
func screenOf(w io.Writer, getenv func(string) string) screen {
	if t, ok := w.(tame); ok {
		w = t.to
	}
	s := screen{out: w, size: func() (int, int) { return 0, 0 }}
	f, ok := w.(*os.File)
	if !ok {
		return s
	}
	fd := int(f.Fd())
	if _, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ); err != nil { // only a terminal has a size
		return s
	}
	s.live = getenv("TERM") != "dumb" && getenv("TERM") != ""
	s.colour = s.live && getenv("NO_COLOR") == ""
	s.size = func() (int, int) {
		ws, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err != nil {
			return 0, 0
		}
		return int(ws.Col), int(ws.Row)
	}
	return s
}

func (s screen) paper() paper {
	w, h := s.size()
	return paper{width: w, height: h, colour: s.colour}
}

// The terminal's own language.
const (
	enterLive  = "\x1b[?1049h\x1b[?25l" // another page, no cursor
	leaveLive  = "\x1b[?25h\x1b[?1049l"
	beginFrame = "\x1b[?2026h\x1b[H" // hold the picture until the frame is whole, where the terminal can
	endOfLine  = "\x1b[K\r\n"
	endFrame   = "\x1b[J\x1b[?2026l"
)

// frame draws the lines over what was there, in one write, so that nothing flickers. What does not fit is left out.
func (s screen) frame(lines []string) {
	if _, height := s.size(); height > 0 && len(lines) > height-1 {
		lines = append(lines[:max(0, height-2):max(0, height-2)], "…")
	}
	for i, l := range lines {
		lines[i] = tamed(l)
	}
	fmt.Fprint(s.out, beginFrame+strings.Join(lines, endOfLine)+endOfLine+endFrame)
}
