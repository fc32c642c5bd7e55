package etcd

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/zap"
)

func TestEtcdsLogGoesToSlog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	zl := newZap(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: noTime})), newFailure(damage))
	zl.Info("small talk")
	zl.Named("raft").With(zap.Int("member", 7)).Warn("slow disk", zap.String("took", "2s"))
	zl.Error("broken disk", zap.Error(errors.New("sector 5")))
	want := `level=WARN msg="state engine" message="slow disk" etcd.member=7 etcd.took=2s
level=ERROR msg="state engine" message="broken disk" etcd.error="sector 5"
`
	if got := out.String(); got != want {
		t.Errorf("logged\n%swant\n%s", got, want)
	}
}

func TestAFatalEntryEndsItsGoroutineAndNotTheProcess(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	failed := newFailure(damage)
	cause := errors.New("no space left")
	ended := make(chan bool, 1)
	go func() {
		wentOn := false
		defer func() { ended <- wentOn }()
		newZap(slog.New(slog.NewTextHandler(&out, nil)), failed).Fatal("cannot save", zap.Error(cause))
		wentOn = true
	}()
	if <-ended {
		t.Error("the goroutine went on after a fatal entry")
	}
	<-failed.done
	if !errors.Is(failed.err, cause) || !strings.Contains(failed.err.Error(), "cannot save") {
		t.Errorf("the failure is %v", failed.err)
	}
	if !strings.Contains(out.String(), "level=ERROR") {
		t.Errorf("nothing was said: %q", out.String())
	}
}
