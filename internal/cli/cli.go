// Package cli is hale's command line: it turns arguments into options, and what the other packages return into text for
// people (or JSON for programs) and an exit code.
//
// It promises that what is asked for goes to standard output and everything else to standard error; that colour and
// redrawing happen on a terminal only (and never with NO_COLOR set); and these exit codes:
//
//	0  done
//	1  it failed
//	2  it was called wrongly, or the configuration is invalid
//	3  no controller listens on the socket, or it is stopping
//	4  the order is stored, and the fleet's owner did not take it up yet
//
// It starts nothing by itself: what runs a controller and makes a plan is handed in (Program), and a running controller
// is asked through package api.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hale/internal/adapters"
	"hale/internal/api"
	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	ExitDone       = 0
	ExitFailure    = 1
	ExitUsage      = 2
	ExitNotRunning = 3
	ExitPending    = 4
)

// Program is what the command line speaks for. All fields are needed.
type Program struct {
	Version string
	Out     io.Writer
	Err     io.Writer
	Getenv  func(string) string
	// Run is the controller, until ctx ends.
	Run func(ctx context.Context, o RunOptions) error
	// Plan says what a controller would do.
	Plan func(ctx context.Context, o PlanOptions) (api.Plan, error)
	// Preview says what a fleet would adopt.
	Preview func(ctx context.Context, o PreviewOptions) (api.Preview, error)
	// Backup writes all that is stored into a file, and Restore brings it back.
	Backup  func(ctx context.Context, o BackupOptions) (api.Backup, error)
	Restore func(ctx context.Context, o RestoreOptions) (api.Restored, error)
}

// RunOptions are what a controller is started with.
type RunOptions struct {
	Config  *config.Config
	Load    func() (*config.Config, error) // reads it again
	DataDir string
	Socket  string
	Readers string // the members of this group may read on the socket
	Logger  *slog.Logger
}

// PlanOptions are what a plan is made from.
type PlanOptions struct {
	Config  *config.Config
	DataDir string
	Socket  string
	Deep    bool
	Logger  *slog.Logger
}

// PreviewOptions are what a preview of an adoption is made from.
type PreviewOptions struct {
	Config  *config.Config
	Fleet   fleet.Spec
	Waiting func(atMost time.Duration) // is told before the machines are looked at
	Logger  *slog.Logger
}

// usageError is a mistake in how hale was called or configured.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

// Execute runs one command and returns its exit code. What went wrong is said on p.Err.
func Execute(ctx context.Context, p Program, args []string) int {
	p.Out, p.Err = tame{p.Out}, tame{p.Err}
	c := &commander{Program: p, args: args}
	root := c.root()
	root.SetArgs(args)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitDone
	}
	if !c.began { // cobra did not get as far as a command
		err = usageError{err}
	}
	if ended := checkEnded(0); errors.As(err, &ended) {
		return int(ended)
	}
	fmt.Fprintln(p.Err, "hale: "+message(err))
	if slices.Contains(args, "--"+checkFlag) && slices.Contains(args, "status") {
		// a wrong call says nothing about hale
		return checkUnknown
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var usage usageError
	var absent api.NotRunning
	var refused api.Problem
	switch {
	case errors.As(err, &usage), errors.As(err, &refused) && refused.Code == api.CodeConfiguration:
		return ExitUsage
	case errors.As(err, &absent), errors.Is(err, errStopping):
		return ExitNotRunning
	case errors.As(err, new(pendingError)):
		return ExitPending
	}
	return ExitFailure
}

// message says what to do about the errors that people meet, and leaves the others as they are.
func message(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) || f.Err == nil {
		return err.Error()
	}
	switch {
	case f.Op == "state.open" && f.Kind == fault.Conflict:
		return fmt.Sprintf("data folder %s: %v; stop the hale that runs there, or name another folder with --data-dir",
			f.Subject, f.Err)
	case f.Op == "state.copy" && f.Kind == fault.Conflict:
		return fmt.Sprintf("a controller uses data folder %s, but does not listen on the socket: name its socket "+
			"with --socket", f.Subject)
	case f.Op == "state.replace" && f.Kind == fault.Conflict:
		return fmt.Sprintf("data folder %s: %v; put it aside with --force, or name another folder with --data-dir",
			f.Subject, f.Err)
	case f.Op == "state.moved":
		return f.Err.Error()
	case f.Op == "format.open", f.Op == "backup.read", f.Op == "app.backup", f.Op == "app.restore":
		return fmt.Sprintf("%s: %v", f.Subject, f.Err)
	case f.Op == "api.listen":
		return fmt.Sprintf("socket %s: %v", f.Subject, f.Err)
	}
	return err.Error()
}

// commander holds what the commands share.
type commander struct {
	Program
	args    []string // as they were given
	dataDir string
	socket  string
	began   bool
}

func (c *commander) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "hale",
		Short: "Keeps fleets of virtual machines in good health",
		Long: "hale watches fleets of virtual machines without an agent inside, repairs them in ordered steps,\n" +
			"and shows why it acted and why it did not.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 called wrongly or invalid configuration, 3 no controller listens\n" +
			"on the socket, or it is stopping, 4 the order is stored, and the fleet's owner did not take it up\n" +
			"yet.",
		SilenceErrors: true, SilenceUsage: true,
		Args: knownCommand,
		RunE: c.command(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().StringVar(&c.dataDir, "data-dir", "",
		"folder of the state (default /var/lib/hale for root, else $XDG_STATE_HOME/hale)")
	root.PersistentFlags().StringVar(&c.socket, "socket", "",
		"the controller's socket (default $HALE_SOCKET, or hale.sock in the data folder)")
	root.AddCommand(c.initCommand(), c.validateCommand(), c.runCommand(), c.planCommand(), c.adoptCommand(),
		c.simulateCommand(), c.replayCommand(), c.testCommand(),
		c.statusCommand(), c.whyCommand(), c.evidenceCommand(), c.eventsCommand(), c.reloadCommand(), c.applyCommand(),
		c.holdCommand(), c.releaseCommand(), c.holdsCommand(), c.retryCommand(), c.healCommand(), c.undoCommand(),
		c.recoverCommand(), c.takeOverCommand(), c.brakeCommand(), c.scaleCommand(), c.deleteCommand(),
		c.ordersCommand(),
		c.backupCommand(), c.restoreCommand(), c.notifyCommand(), c.fenceCommand(), c.providerCommand(),
		c.importCommand(), c.simCommand(), c.versionCommand())
	spell(root.Commands())
	return root
}

// commandsMeant are words of other programs for what a command of hale does.
var commandsMeant = map[string]string{
	"restart": "heal", "reboot": "heal", "repair": "heal", "fix": "heal", "start": "run", "serve": "run",
	"daemon": "run", "log": "events", "logs": "events", "journal": "events", "check": "validate", "lint": "validate",
	"list": "status", "ls": "status", "ps": "status", "show": "status", "explain": "why", "pause": "hold",
	"unpause": "release", "resume": "release", "rollback": "undo", "remove": "delete", "rm": "delete",
	"confirm": "apply", "diff": "plan",
}

// knownCommand refuses what is no command, and says which one may be meant.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	said := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	meant := cmd.SuggestionsFor(args[0])
	if known, ok := commandsMeant[args[0]]; ok && !slices.Contains(meant, known) {
		meant = append([]string{known}, meant...)
	}
	if len(meant) > 0 {
		said += "; did you mean " + strings.Join(meant, " or ") + "?"
	}
	return errors.New(said)
}

// spell has each command say how it is written when it got too few arguments or too many.
func spell(commands []*cobra.Command) {
	for _, cmd := range commands {
		spell(cmd.Commands())
		fit := cmd.Args
		if fit == nil || cmd.HasSubCommands() { // of these it is said which command is unknown
			continue
		}
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if fit(cmd, args) == nil {
				return nil
			}
			said := fmt.Sprintf("write %s; %s --help says more", cmd.UseLine(), cmd.CommandPath())
			if strings.Contains(cmd.Use, "FILE|DIR") && len(args) > 1 {
				said += "; several files are one configuration when they lie in a folder: name that"
			}
			return errors.New(said)
		}
	}
}

// command notes that the arguments were understood before it does its work.
func (c *commander) command(do func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c.began = true
		return do(cmd, args)
	}
}

func (c *commander) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: c.command(func(*cobra.Command, []string) error {
			fmt.Fprintln(c.Out, "hale "+c.Version)
			return nil
		}),
	}
}

// folder returns the data folder that was named, or the user's own.
func (c *commander) folder() (string, error) {
	if c.dataDir != "" {
		return c.dataDir, nil
	}
	if os.Geteuid() == 0 {
		return "/var/lib/hale", nil
	}
	if dir := c.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hale"), nil
	}
	if home := c.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "hale"), nil
	}
	return "", usageError{errors.New("there is no home folder for the state: name a data folder with --data-dir")}
}

// places returns the data folder and the socket.
func (c *commander) places() (dataDir, socket string, err error) {
	dataDir, err = c.folder()
	switch {
	case c.socket != "":
		return dataDir, c.socket, err
	case c.dataDir == "" && c.Getenv("HALE_SOCKET") != "":
		return dataDir, c.Getenv("HALE_SOCKET"), err
	}
	return dataDir, filepath.Join(dataDir, "hale.sock"), err
}

// dial returns a client of the running controller.
func (c *commander) dial() (*api.Client, error) {
	_, socket, err := c.places()
	if err != nil && c.socket == "" && c.Getenv("HALE_SOCKET") == "" {
		return nil, err
	}
	return api.Dial(socket), nil
}

// load reads a configuration; all that is wrong with it is a usage error.
func load(path string) (*config.Config, error) {
	loaded, err := read(path)
	if err != nil {
		return nil, usageError{err}
	}
	return loaded, nil
}

// read reads the configuration that a person named.
func read(path string) (*config.Config, error) {
	if err := present(path); err != nil {
		return nil, err
	}
	return config.Load(path, adapters.All())
}

// present says of a configuration that is not there how to get a first one.
func present(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return usageError{fmt.Errorf(`no file %s; "hale init" writes a first one`, path)}
	}
	return nil
}
