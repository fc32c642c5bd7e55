package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// failure remembers the first thing that made the member unable to go on.
type failure struct {
	once  sync.Once
	done  chan struct{}
	err   error
	blame func(error) error // says what damage means, and the way out
}

func newFailure(blame func(error) error) *failure {
	return &failure{done: make(chan struct{}), blame: blame}
}

func (f *failure) set(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.done)
	})
}

// newZap returns a logger for etcd that hands warnings and worse to log, and that turns a
// fatal entry, or one that is to panic, into a failure in place of ending the process: the
// goroutine that logged it ends there and then, so that nothing is written after it.
func newZap(log *slog.Logger, failed *failure) *zap.Logger {
	return zap.New(slogCore{log: log}, zap.WithFatalHook(lastWords{failed}), zap.WithPanicHook(lastWords{failed}))
}

// lastWords is what happens after an entry of a goroutine that cannot go on.
type lastWords struct{ failed *failure }

// OnWrite implements zapcore.CheckWriteHook.
func (h lastWords) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	err := errors.New(entry.Message)
	for _, f := range fields {
		if cause, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			err = fmt.Errorf("%s: %w", entry.Message, cause)
		}
	}
	if strings.Contains(entry.Message, lostTail) {
		err = h.failed.blame(err)
	}
	h.failed.set(err)
	runtime.Goexit()
}

// lostTail is a part of what etcd says as the others know more of a server's log than it has itself: the end of it was
// lost after this server had said that it has it.
const lostTail = "Was the raft log corrupted, truncated, or lost?"

// expected are parts of entries that only repeat what the caller gets as an error, or that are usual at every start.
// They go to the level of debugging.
var expected = []string{
	"failed to apply request",
	"Running http and grpc server on single port",
	"Failed to detect schema version", // a new store has none until its first sync
	"Failed to detect storage schema version",
	"failed to update storage version",
	"cannot campaign at term",         // told to lead a moment too early, see awaitReady
	"closed TCP streaming connection", // of a server that ends
	"failed to find remote peer in cluster",
	"failed to reach the peer URL", // who is away is said once, when it becomes inactive
	"failed to get version",
	"dropped internal Raft message",
	"waiting for ReadIndex response took too long",
	"timed out waiting for read index response",
	"apply request took too long",
	"ignored streaming request; ID mismatch", // of a server that came back after it was let go
	"rejected Raft message to mismatch member",
	"failed to process Raft message",
	"rejecting member add request; local member has not been connected", // it is tried again
	"prober detected unhealthy status",
}

func isExpected(message string) bool {
	return slices.ContainsFunc(expected, func(part string) bool { return strings.Contains(message, part) })
}

// slogCore writes zap's entries to slog.
type slogCore struct {
	log    *slog.Logger
	fields []zapcore.Field
}

// Enabled implements zapcore.LevelEnabler.
func (c slogCore) Enabled(level zapcore.Level) bool { return level >= zapcore.WarnLevel }

// With implements zapcore.Core.
func (c slogCore) With(fields []zapcore.Field) zapcore.Core {
	return slogCore{log: c.log, fields: slices.Concat(c.fields, fields)}
}

// Check implements zapcore.Core.
func (c slogCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c slogCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	level := slog.LevelWarn
	switch {
	case isExpected(entry.Message):
		level = slog.LevelDebug
	case entry.Level > zapcore.WarnLevel:
		level = slog.LevelError
	}
	encoder := zapcore.NewMapObjectEncoder()
	for _, f := range slices.Concat(c.fields, fields) {
		f.AddTo(encoder)
	}
	var attrs []slog.Attr
	for _, key := range slices.Sorted(maps.Keys(encoder.Fields)) {
		attrs = append(attrs, slog.Any(key, encoder.Fields[key]))
	}
	c.log.LogAttrs(context.Background(), level, "state engine",
		slog.String("message", entry.Message), slog.GroupAttrs("etcd", attrs...))
	return nil
}

// Sync implements zapcore.Core.
func (c slogCore) Sync() error { return nil }
