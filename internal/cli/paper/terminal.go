package paper

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Style is how a piece of text looks where there is colour.
type Style string

// The styles, as parameters of the terminal's "select graphic rendition".
const (
	Plain  Style = ""
	Strong Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Sheet is what text is drawn on.
type Sheet struct {
	Width  int // 0: as wide as need be
	Height int // 0: as long as need be
	Colour bool
}

// Paint returns the text in the style.
func (p Sheet) Paint(s Style, text string) string {
	if !p.Colour || s == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Screen is where a command's output goes: a terminal, or a file or pipe.
type Screen struct {
	Out    io.Writer
	Live   bool // it can be redrawn in place
	colour bool
	Size   func() (width, height int)
}

// ScreenOf finds out what the writer is.
func ScreenOf(w io.Writer, getenv func(string) string) Screen {
	if t, ok := w.(tame); ok {
		w = t.to
	}
	s := Screen{Out: w, Size: func() (int, int) { return 0, 0 }}
	f, ok := w.(*os.File)
	if !ok {
		return s
	}
	fd := int(f.Fd())
	if _, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ); err != nil { // only a terminal has a size
		return s
	}
	s.Live = getenv("TERM") != "dumb" && getenv("TERM") != ""
	s.colour = s.Live && getenv("NO_COLOR") == ""
	s.Size = func() (int, int) {
		ws, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err != nil {
			return 0, 0
		}
		return int(ws.Col), int(ws.Row)
	}
	return s
}

// Sheet is paper of the size that the screen has now.
func (s Screen) Sheet() Sheet {
	w, h := s.Size()
	return Sheet{Width: w, Height: h, Colour: s.colour}
}

// The terminal's own language.
const (
	EnterLive  = "\x1b[?1049h\x1b[?25l" // another page, no cursor
	LeaveLive  = "\x1b[?25h\x1b[?1049l"
	BeginFrame = "\x1b[?2026h\x1b[H" // hold the picture until the frame is whole, where the terminal can
	EndOfLine  = "\x1b[K\r\n"
	endFrame   = "\x1b[J\x1b[?2026l"
)

// Frame draws the lines over what was there, in one write, so that nothing flickers. What does not fit is left out.
func (s Screen) Frame(lines []string) {
	if _, height := s.Size(); height > 0 && len(lines) > height-1 {
		lines = append(lines[:max(0, height-2):max(0, height-2)], "…")
	}
	for i, l := range lines {
		lines[i] = tamed(l)
	}
	fmt.Fprint(s.Out, BeginFrame+strings.Join(lines, EndOfLine)+EndOfLine+endFrame)
}
