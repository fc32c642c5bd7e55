package cli

import (
	"fmt"
	"io"
	"log/slog"

	"hale/internal/adapters"
	"hale/internal/config"

	"github.com/spf13/cobra"
)

func (c *commander) runCommand() *cobra.Command {
	var log logFlags
	var readers string
	cmd := &cobra.Command{
		Use: "run [FILE|DIR]", Short: "Run the controller, in the foreground",
		Long: "Runs the controller (of hale.yaml, unless another file is named) until SIGINT or SIGTERM. Stopping\n" +
			"it leaves all machines as they are. SIGHUP, or 'hale reload', makes it read the configuration\n" +
			"again.",
		Args: cobra.MaximumNArgs(1),
		RunE: c.command(func(cmd *cobra.Command, args []string) error {
			logger, err := log.logger(c.Err)
			if err != nil {
				return err
			}
			path, err := configuration(args)
			if err != nil {
				return err
			}
			loaded, err := load(path)
			if err != nil {
				return err
			}
			dataDir, socket, err := c.places()
			if err != nil {
				return err
			}
			return c.Run(cmd.Context(), RunOptions{
				Config: loaded, Load: func() (*config.Config, error) { return config.Load(path, adapters.All()) },
				DataDir: dataDir,
				Socket:  socket, Readers: readers, Logger: logger,
			})
		}),
	}
	log.register(cmd, "info")
	cmd.Flags().StringVar(&readers, "socket-group", "",
		"a group: its members may read on the socket (status, why, events), but give no orders")
	return cmd
}

// logFlags choose how the log is written.
type logFlags struct{ format, level string }

func (l *logFlags) register(cmd *cobra.Command, level string) {
	cmd.Flags().StringVar(&l.format, "log-format", "text", "text or json")
	cmd.Flags().StringVar(&l.level, "log-level", level, "debug, info, warn or error")
}

func (l *logFlags) logger(w io.Writer) (*slog.Logger, error) {
	var o slog.HandlerOptions
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.level)); err != nil {
		return nil, usageError{fmt.Errorf("--log-level %s: use debug, info, warn or error", l.level)}
	}
	o.Level = level
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, &o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &o)), nil
	}
	return nil, usageError{fmt.Errorf("--log-format %s: use text or json", l.format)}
}
