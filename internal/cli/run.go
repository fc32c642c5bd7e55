package cli

import (
	"hale/internal/adapters"
	"hale/internal/cli/command"
	"hale/internal/config"

	"github.com/spf13/cobra"
)

func (c commander) runCommand() *cobra.Command {
	var log command.LogFlags
	var readers, server string
	var thisFile bool
	cmd := &cobra.Command{
		Use: "run [FILE|DIR]", Short: "Run the controller, in the foreground",
		Long: "Runs the controller (of hale.yaml, unless another file is named) until SIGINT or SIGTERM. Stopping\n" +
			"it leaves all machines as they are. Where the state is shared (state.etcd), one server looks after\n" +
			"the fleets, and the others stand by. SIGHUP, or 'hale reload', makes it read the configuration\n" +
			"again.",
		Args: cobra.MaximumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			logger, err := log.Logger(c.Err)
			if err != nil {
				return err
			}
			path, err := command.Configuration(args)
			if err != nil {
				return err
			}
			loaded, err := command.Load(path)
			if err != nil {
				return err
			}
			dataDir, socket, err := c.Places()
			if err != nil {
				return err
			}
			return c.Run(cmd.Context(), command.RunOptions{
				Config: loaded, Load: func() (*config.Config, error) { return config.Load(path, adapters.All()) },
				DataDir: dataDir,
				Socket:  socket, Readers: readers, Server: server, ThisFile: thisFile, Logger: logger,
			})
		}),
	}
	log.Register(cmd, "info")
	cmd.Flags().StringVar(&readers, "socket-group", "",
		"a group: its members may read on the socket (status, why, events), but give no orders")
	cmd.Flags().StringVar(&server, "server", "",
		"what this server is called among those that share their state (default: the machine's host name)")
	cmd.Flags().BoolVar(&thisFile, "this-file", false,
		"look after the fleets also where the server that did so last had another configuration of them")
	return cmd
}
