// Package servers has the commands about the servers that share the state: which ones there are, and how hale's own
// cluster of them is begun, enlarged and mended.
package servers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/cluster/door"
	"hale/internal/cluster/invitation"
	"hale/internal/config"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

// Command is hale server.
func Command(call *command.Call) *cobra.Command {
	c := caller{call}
	cmd := &cobra.Command{
		Use: "server", Short: "The servers that share the state, and hale's own cluster of them", Args: cobra.NoArgs,
		RunE: c.Begin(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(c.list(), c.init(), c.invite(), c.join(), c.leave(), c.replace())
	return cmd
}

type caller struct{ *command.Call }

// sheet is paper for what these commands print.
type sheet struct{ paper.Sheet }

func (c caller) sheet() sheet { return sheet{paper.ScreenOf(c.Out, c.Getenv).Sheet()} }

// here is where the command runs. Of what etcd says while it works, errors are written.
func (c caller) here() (command.Here, error) {
	dataDir, _, err := c.Places()
	if err != nil {
		return command.Here{}, err
	}
	var log command.LogFlags
	log.Preset("error")
	logger, err := log.Logger(c.Err)
	return command.Here{DataDir: dataDir, Version: c.Version, Logger: logger}, err
}

// place reads where the servers reach this one.
func place(path string) (config.Cluster, error) {
	var named []string
	if path != "" {
		named = append(named, path)
	}
	path, err := command.Configuration(named)
	if err != nil {
		return config.Cluster{}, err
	}
	loaded, err := command.Load(path)
	if err != nil {
		return config.Cluster{}, err
	}
	return loaded.Cluster, nil
}

const forMember = " It is said on a server of the cluster, where hale runs,\nas the user that runs it."

func (c caller) init() *cobra.Command {
	var file, name string
	var renew bool
	cmd := &cobra.Command{
		Use: "init", Short: "Begin a cluster: this server is its first",
		Long: "Makes this server the first one of a new cluster, while hale is stopped here. The state that is in\n" +
			"its data folder becomes the cluster's; the old one is kept aside.\n\n" +
			"With --force-new-cluster the one server that is left of a cluster becomes the first of a new one,\n" +
			"with its copy of the state. That is for a majority that is lost for good: what only the lost servers\n" +
			"had is gone, and should one of them come back and find a majority, two clusters would look after the\n" +
			"same machines. Nothing of them may ever be started again; the others join anew.",
		Example: "  hale server init --config /etc/hale/hale.yaml",
		Args:    cobra.NoArgs,
		RunE: c.Begin(func(cmd *cobra.Command, _ []string) error {
			h, err := c.here()
			if err != nil {
				return err
			}
			if renew {
				b, err := c.Cluster.Renew(cmd.Context(), h)
				return c.begun(b, err)
			}
			at, err := place(file)
			if err != nil {
				return err
			}
			if name == "" {
				if name, err = os.Hostname(); err != nil {
					return err
				}
			}
			b, err := c.Cluster.Init(cmd.Context(), h, at, name)
			return c.begun(b, err)
		}),
	}
	cmd.Flags().StringVar(&file, "config", "", "the configuration, for state.cluster (default hale.yaml)")
	cmd.Flags().StringVar(&name, "name", "", "what this server is called in the cluster (default: the host name)")
	cmd.Flags().BoolVar(&renew, "force-new-cluster", false,
		"the majority is lost for good: go on with this server's copy of the state")
	return cmd
}

func (c caller) begun(b command.Begun, err error) error {
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s is the first server of a new cluster, at %s.\n", b.Name, b.Address)
	if b.Aside != "" {
		fmt.Fprintf(c.Out, "It has the state that was here; the old copy is in %s.\n", b.Aside)
	}
	fmt.Fprintln(c.Out, "Start hale here, then invite two more servers: hale server invite NAME")
	return nil
}

func (c caller) invite() *cobra.Command {
	var lasts time.Duration
	cmd := &cobra.Command{
		Use: "invite NAME", Short: "Invite a server to the cluster",
		Long: "Prints an invitation, by which one server of that name may join, once, while it is good. It is a\n" +
			"secret: whoever has it gets the whole state." + forMember,
		Example: "  hale server invite hale-2 >hale-2.invitation",
		Args:    cobra.ExactArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			h, err := c.here()
			if err != nil {
				return err
			}
			i, err := c.Cluster.Invite(cmd.Context(), h, args[0], lasts)
			return c.invited(args[0], i, err)
		}),
	}
	cmd.Flags().DurationVar(&lasts, "for", time.Hour, "how long it is good, up to a week")
	return cmd
}

func (c caller) invited(name string, i door.Invited, err error) error {
	if err != nil {
		return err
	}
	fmt.Fprintln(c.Out, i.Text)
	fmt.Fprintf(c.Err, "This is a secret, and lets one server join as %s for %s. On that server: hale server join "+
		"FILE\n",
		name, prose.Span(time.Until(i.Expires).Round(time.Minute)))
	return nil
}

func (c caller) join() *cobra.Command {
	var file string
	var force bool
	cmd := &cobra.Command{
		Use: "join FILE", Short: "Have this server join a cluster, by the invitation in the file",
		Long: "Reads an invitation from a file, or from standard input where that is -, and has this server be let\n" +
			"into the cluster, while hale is stopped here. When hale is started it copies the state, and has a\n" +
			"vote once it has it.",
		Example: "  hale server join hale-2.invitation --config /etc/hale/hale.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			text, err := readInvitation(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			h, err := c.here()
			if err != nil {
				return err
			}
			at, err := place(file)
			if err != nil {
				return err
			}
			b, err := c.Cluster.Join(cmd.Context(), h, at, command.JoinOptions{Invitation: text, Force: force})
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "This server is %s of the cluster, at %s. Start hale here: it copies the state, and "+
				"then has a vote.\n", b.Name, b.Address)
			if b.Aside != "" {
				fmt.Fprintf(c.Out, "The state that was here is in %s.\n", b.Aside)
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&file, "config", "", "the configuration, for state.cluster (default hale.yaml)")
	cmd.Flags().BoolVar(&force, "force", false, "put a state that is here aside")
	return cmd
}

// longestInvitation is far above what one has.
const longestInvitation = 64 << 10

// readInvitation reads the text from the file. Arguments are seen by everybody on the machine, so that a secret is
// none.
func readInvitation(in io.Reader, file string) (string, error) {
	if strings.HasPrefix(file, invitation.Prefix) {
		return "", command.Usage(errors.New("write the invitation to a file, or have it come from standard input " +
			"(-): as an argument everybody on this machine can read it, so make a new one (hale server invite)"))
	}
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, longestInvitation))
	return string(text), err
}

func (c caller) leave() *cobra.Command {
	return &cobra.Command{
		Use: "leave", Short: "Have this server leave the cluster",
		Long: "Has the server that runs here hand the fleets to another one, if it looks after them, leave the\n" +
			"cluster, and end. It is refused where the servers that are left would have no majority. To move a\n" +
			"server to another machine, have the new one join first." + forMember,
		Args: cobra.NoArgs,
		RunE: c.Begin(func(cmd *cobra.Command, _ []string) error {
			h, err := c.here()
			if err != nil {
				return err
			}
			name, err := c.Cluster.Leave(cmd.Context(), h)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Out, "%s has left the cluster, and hale ends here. Its copy of the state is put aside in "+
				"the data folder.\n", name)
			return nil
		}),
	}
}

func (c caller) replace() *cobra.Command {
	var lasts time.Duration
	cmd := &cobra.Command{
		Use: "replace NAME", Short: "Let a lost server go, and invite one in its place",
		Long: "Lets a server go that is lost, which must not answer any more, and prints an invitation for one of\n" +
			"the same name, on another machine or on the same with a new disk. Should the lost one come back, it\n" +
			"is turned away." + forMember,
		Example: "  hale server replace hale-2 >hale-2.invitation",
		Args:    cobra.ExactArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			h, err := c.here()
			if err != nil {
				return err
			}
			i, err := c.Cluster.Replace(cmd.Context(), h, args[0], lasts)
			return c.invited(args[0], i, err)
		}),
	}
	cmd.Flags().DurationVar(&lasts, "for", time.Hour, "how long the invitation is good, up to a week")
	return cmd
}
