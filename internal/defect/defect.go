// Package defect keeps a panic in one part of hale, or in a library that it uses, from ending all of hale.
//
// It promises to report a panic once, with its value and a short stack in the log, and to count it from then on
// (Register).
// Keep begins work again that panicked, after a rest that grows. It does not promise that the part works after its
// panic: its caller takes a question as unanswered, and an order as of unknown outcome. What Go itself ends a process
// over (two writes to a map at once, no memory, no stack) cannot be caught.
package defect

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Panic is a panic that was caught. It is an error.
type Panic struct {
	Value string // what it said, shortened
	Stack string // where: the innermost calls first
}

// Error implements error.
func (p *Panic) Error() string { return "a defect: it panicked: " + p.Value }

const (
	longestValue = 200 // bytes
	mostFrames   = 8
)

// Of returns the panic that recover returned as v; nil: there was none. It is called by the deferred function itself,
// where the stack is still that of the panic.
func Of(v any) *Panic {
	if v == nil {
		return nil
	}
	said := fmt.Sprint(v)
	if len(said) > longestValue {
		said = strings.ToValidUTF8(said[:longestValue], "") + "…"
	}
	return &Panic{Value: said, Stack: stack()}
}

// stack names the calls that led to the panic.
func stack() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	var calls []string
	for began := false; len(calls) < mostFrames; {
		f, more := frames.Next()
		if began && !strings.HasPrefix(f.Function, "runtime.") {
			calls = append(calls, filepath.Base(f.Function)+" "+filepath.Base(f.File)+":"+strconv.Itoa(f.Line))
		}
		began = began || f.Function == "runtime.gopanic"
		if !more {
			break
		}
	}
	return strings.Join(calls, " < ")
}

// Try calls do, and returns its error, or its panic.
func Try(do func() error) (err error) {
	defer func() {
		if p := Of(recover()); p != nil {
			err = p
		}
	}()
	return do()
}
