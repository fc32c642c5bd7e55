package command

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
)

// LogFlags choose how the log is written.
type LogFlags struct{ format, level string }

// Register gives the command the flags; the log is written from the level on, unless another is named.
func (l *LogFlags) Register(cmd *cobra.Command, level string) {
	cmd.Flags().StringVar(&l.format, "log-format", "text", "text or json")
	cmd.Flags().StringVar(&l.level, "log-level", level, "debug, info, warn or error")
}

// Logger writes to w as the flags say.
func (l *LogFlags) Logger(w io.Writer) (*slog.Logger, error) {
	var o slog.HandlerOptions
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, Usage(fmt.Errorf("--log-level %s: use debug, info, warn or error", l.level))
	}
	o.Level = level
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, &o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &o)), nil
	}
	return nil, Usage(fmt.Errorf("--log-format %s: use text or json", l.format))
}

// Preset has the log be text, from the level on.
func (l *LogFlags) Preset(level string) { l.format, l.level = "text", level }
