package external

import (
	"bytes"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"hale/internal/secret"
)

const (
	callLines   = 20  // of a program's standard error that are logged for one call
	watchLines  = 200 // and for one run of a watch
	longestLine = 500 // bytes of one line, of an error's message and of what is quoted
)

// ear takes what a program writes to its standard error: the first lines of it are logged, the last one goes with an
// error. Secrets are hidden.
type ear struct {
	log     *slog.Logger
	secrets []string

	mu   sync.Mutex // guards what follows: the program's outputs have a writer each
	left int
	line []byte
	tail string // the last line that says something
}

func (p *Provider) ear(r request, secrets []string, lines int) *ear {
	return &ear{
		log:     p.o.Logger.With("operation", string(r.Operation), "instance", r.subject()),
		secrets: secrets,
		left:    lines,
	}
}

// Write implements io.Writer; it cannot fail.
func (e *ear) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for rest := b; len(rest) > 0; {
		line, more, ended := bytes.Cut(rest, []byte{'\n'})
		if room := 2*longestLine - len(e.line); room > 0 { // secrets are hidden before it is cut
			e.line = append(e.line, line[:min(room, len(line))]...)
		}
		if ended {
			e.tell()
		}
		rest = more
	}
	return len(b), nil
}

// end logs what has no line break.
func (e *ear) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tell()
}

func (e *ear) tell() {
	text := e.clean(string(e.line))
	e.line = e.line[:0]
	if text == "" {
		return
	}
	e.tail = text
	switch e.left--; {
	case e.left > 0:
		e.log.Info("an exec provider's program wrote to standard error", "text", text)
	case e.left == 0:
		e.log.Info("an exec provider's program wrote more than hale logs")
	}
}

// last returns the last line, to be appended to an error.
func (e *ear) last() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tail == "" {
		return ""
	}
	return "; it said: " + e.tail
}

// trouble is the program's own error.
func (e *ear) trouble(t trouble) error { return errors.New(e.clean(t.Message)) }

// quote renders the first bytes of an answer.
func (e *ear) quote(text []byte) string {
	return strconv.Quote(e.clean(string(text[:min(len(text), 2*longestLine)])))
}

// clean returns the text on one line, printable, bounded, and without secrets.
func (e *ear) clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(secret.Redact(text, e.secrets...), ""))
	text = strings.TrimSpace(text)
	if len(text) > longestLine {
		text = strings.ToValidUTF8(text[:longestLine], "") + "…"
	}
	return text
}
