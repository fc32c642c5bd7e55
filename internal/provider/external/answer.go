package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"hale/internal/core/fault"
)

// longestAnswer bounds what a program may write, in bytes: 100,000 instances are about 40 MB.
const longestAnswer = 64 << 20

// paper takes a program's answer up to a length. A program that writes on is cut off.
type paper struct {
	text []byte
	most int
	over bool
}

// Write implements io.Writer.
func (p *paper) Write(b []byte) (int, error) {
	if len(p.text)+len(b) > p.most {
		p.over = true
		return 0, io.ErrShortWrite
	}
	p.text = append(p.text, b...)
	return len(b), nil
}

// whole reports whether there is one JSON object.
func (p *paper) whole() bool { return json.Valid(p.text) }

// reply is how a program ended.
type reply struct {
	code int
	text []byte
	said *ear
}

// judge reads an answer. Whatever is not plainly a result or an error is none.
func (p *Provider) judge(r request, a reply, result any) error {
	bad := func(kind fault.Kind, err error) error {
		return p.fail(r, r.unanswered(kind), fmt.Errorf("%w%s", err, a.said.last()))
	}
	var e envelope
	switch err := json.Unmarshal(a.text, &e); {
	case len(bytes.TrimSpace(a.text)) == 0:
		return bad(fault.Transient, fmt.Errorf("it ended with %s and without an answer", ending(a.code)))
	case err != nil:
		return bad(fault.Permanent,
			fmt.Errorf("its answer is not one JSON object with result or error (%w): it begins with %s",
				err, a.said.quote(a.text)))
	case e.Error != nil && present(e.Result):
		return bad(fault.Permanent, errors.New("its answer has both result and error"))
	case e.Error != nil:
		if err := e.Error.check(); err != nil {
			return bad(fault.Permanent, err)
		}
		return p.fail(r, e.Error.Kind, a.said.trouble(*e.Error))
	case !present(e.Result):
		return bad(fault.Permanent,
			fmt.Errorf("its answer has neither result nor error: it begins with %s", a.said.quote(a.text)))
	case a.code != 0:
		return bad(fault.Transient, fmt.Errorf("it answered with a result, and ended with %s", ending(a.code)))
	}
	if err := json.Unmarshal(e.Result, result); err != nil {
		return bad(fault.Permanent, fmt.Errorf("its result cannot be read: %w", err))
	}
	if err := p.unknownKeys(r.Operation, a, e.Result, result); err != nil {
		return bad(fault.Permanent, err)
	}
	return nil
}

func present(m json.RawMessage) bool { return len(m) > 0 && !bytes.Equal(m, []byte("null")) }

func ending(code int) string {
	if code < 0 {
		return "a signal"
	}
	return fmt.Sprintf("exit code %d", code)
}

// unknownKeys finds keys that the contract does not have: mistyped ones, most likely. Answers are looked at once per
// operation, but for a strict adapter.
func (p *Provider) unknownKeys(op operation, a reply, raw json.RawMessage, like any) error {
	p.mu.Lock()
	seen := p.checked[op]
	p.checked[op] = true
	p.mu.Unlock()
	if seen && !p.o.Strict {
		return nil
	}
	err := errors.Join(strictly(a.text, &envelope{}), strictly(raw, like))
	if err == nil {
		return nil
	}
	err = fmt.Errorf("its answer has a key that the contract does not know: %s",
		strings.ReplaceAll(err.Error(), "json: ", ""))
	if p.o.Strict {
		return err
	}
	p.o.Logger.Warn("an exec provider's program answers with more than hale reads", "operation", string(op), "err", err)
	return nil
}

// strictly reads again what was readable.
func strictly(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
