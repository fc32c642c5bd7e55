package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hale/api"
	"hale/internal/cli/paper"

	"github.com/spf13/cobra"
)

// Call holds what the commands share.
type Call struct {
	Program
	Args    []string // as they were given
	dataDir string
	socket  string
	began   bool

	server, ca, tokenFile, context string
	alone                          bool
}

// New is a call of the program with these arguments.
func New(p Program, args []string) *Call { return &Call{Program: p, Args: args} }

// Flags gives the command, and all below it, the flags that say where hale's state and socket are.
func (c *Call) Flags(root *cobra.Command) {
	root.PersistentFlags().StringVar(&c.dataDir, "data-dir", "",
		"folder of the state (default /var/lib/hale for root, else $XDG_STATE_HOME/hale)")
	root.PersistentFlags().StringVar(&c.socket, "socket", "",
		"the controller's socket (default $HALE_SOCKET, or hale.sock in the data folder)")
	root.PersistentFlags().StringVar(&c.server, "server", "",
		"the address of a controller on another machine, as https://hale.example.org:7117 (default $HALE_SERVER)")
	root.PersistentFlags().StringVar(&c.tokenFile, "token-file", "",
		"the file with the token to show there (default $HALE_TOKEN_FILE; $HALE_TOKEN is the token itself)")
	root.PersistentFlags().StringVar(&c.ca, "ca", "", "the file with who signs its certificate (default: as the system has it)")
	root.PersistentFlags().StringVar(&c.context, "context", "",
		"the context to use, as hale context list names it (default $HALE_CONTEXT, or the current one)")
	root.PersistentFlags().BoolVar(&c.alone, "alone", false,
		"at the machine itself: do not wait for a second person; the audit says so")
}

// Understood reports whether the arguments were, so that what failed is the work.
func (c *Call) Understood() bool { return c.began }

// Begin notes that the arguments were understood before it does its work.
func (c *Call) Begin(do func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c.began = true
		return do(cmd, args)
	}
}

// Asks begins a command that asks a running hale.
func (c *Call) Asks(do func(*cobra.Command, []string, *api.Client) error) func(*cobra.Command, []string) error {
	return c.Begin(func(cmd *cobra.Command, args []string) error {
		client, err := c.Dial()
		if err != nil {
			return err
		}
		defer client.Close()
		return do(cmd, args, client)
	})
}

// Answer is what a running hale answered, for programs and for people.
type Answer struct {
	What  any
	JSON  bool // it is printed for programs
	Lines func() []string
}

// Print prints the answer. An error is handed on, and nothing is printed.
func (c *Call) Print(err error, a Answer) error {
	switch {
	case err != nil:
		return err
	case a.JSON:
		return paper.JSON(c.Out, a.What)
	}
	_, err = fmt.Fprintln(c.Out, strings.Join(a.Lines(), "\n"))
	return err
}

// folder returns the data folder that was named, or the user's own.
func (c *Call) folder() (string, error) {
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
	return "", Usage(errors.New("there is no home folder for the state: name a data folder with --data-dir"))
}

// Places returns the data folder and the socket.
func (c *Call) Places() (dataDir, socket string, err error) {
	dataDir, err = c.folder()
	switch {
	case c.socket != "":
		return dataDir, c.socket, err
	case c.dataDir == "" && c.Getenv("HALE_SOCKET") != "":
		return dataDir, c.Getenv("HALE_SOCKET"), err
	}
	return dataDir, filepath.Join(dataDir, "hale.sock"), err
}

// Dial returns a client of the controller that was named: one on another machine, or the one on the socket.
func (c *Call) Dial() (*api.Client, error) {
	at, err := c.where()
	if err != nil {
		return nil, err
	}
	if at.Server != "" {
		return at.Reach()
	}
	_, socket, err := c.Places()
	if err != nil && c.socket == "" && c.Getenv("HALE_SOCKET") == "" {
		return nil, err
	}
	client := api.Dial(socket)
	if c.alone {
		client.Alone()
	}
	return client, nil
}

// Server returns what was named of a server.
func (c *Call) Server() (Context, error) { return c.where() }
