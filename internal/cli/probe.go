package cli

import (
	"errors"

	"hale/internal/cli/command"

	"github.com/spf13/cobra"
)

func (c commander) probeCommand() *cobra.Command {
	var log command.LogFlags
	o := command.ProbeOptions{Version: c.Version}
	cmd := &cobra.Command{
		Use:   "probe --join URL[,URL...] --token-file FILE",
		Short: "Run a satellite: look at machines from here, for a hale elsewhere",
		Long: "Makes the checks that have 'vantages' from this machine, too, and reports to the hale that it\n" +
			"joins, until SIGINT or SIGTERM. It calls the server, over one connection: nothing needs to reach it.\n" +
			"It gives no orders, and touches no machine. While it does not reach the server it goes on counting;\n" +
			"what it said before has no vote then.\n\n" +
			"Of several servers of one installation, name all: the active one answers.",
		Example: "  hale probe --join https://hale.example.org:7118 --token-file /etc/hale/ams.token",
		Args:    cobra.NoArgs,
		RunE: c.Begin(func(cmd *cobra.Command, _ []string) error {
			logger, err := log.Logger(c.Err)
			if err != nil {
				return err
			}
			if len(o.Join) == 0 || o.TokenFile == "" {
				return command.Usage(errors.New("say which hale it joins, and with which token: --join " +
					"https://hale.example.org:7118 --token-file FILE"))
			}
			o.Logger = logger
			return c.Probe(cmd.Context(), o)
		}),
	}
	log.Register(cmd, "info")
	cmd.Flags().StringSliceVar(&o.Join, "join", nil, "where hale listens for satellites (satellites.listen)")
	cmd.Flags().StringVar(&o.TokenFile, "token-file", "", "the file with this satellite's token (satellites.tokens)")
	cmd.Flags().StringVar(&o.CA, "ca", "",
		"the file with who signs the server's certificate (default: as the system has it)")
	cmd.Flags().StringVar(&o.Name, "name", "", "what it is called there (default: the token says it)")
	return cmd
}
