package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"hale/api"
)

// controller is hale, as a process.
type controller struct {
	dir    string   // its folder: data, socket, configuration, log
	inside []string // the command that starts another one where hale is to run; empty: here
	flags  []string // of hale run
	client *api.Client
	cmd    *exec.Cmd     // the last one that was started
	ended  chan struct{} // closed when it has ended
	began  time.Time
}

// newController keeps its files in a folder with a short name: a socket's path is limited.
func newController() (*controller, error) {
	dir, err := os.MkdirTemp("", "hale-e2e-")
	if err != nil {
		return nil, err
	}
	return &controller{dir: dir, client: api.Dial(filepath.Join(dir, "sock"))}, nil
}

func (c *controller) path(name string) string { return filepath.Join(c.dir, name) }

func (c *controller) arguments(args ...string) []string {
	return append(args, "--data-dir", c.path("data"), "--socket", c.path("sock"))
}

// start starts hale on its configuration file. It says nothing about how far hale has come.
func (c *controller) start() error {
	log, err := os.OpenFile(c.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	words := append(append([]string{}, c.inside...), os.Getenv(envHale))
	words = append(words, c.arguments(append([]string{"run", c.path("hale.yaml")}, c.flags...)...)...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what is sent to the tests' group is not for it
	c.began = time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { // ends with the process
		_ = cmd.Wait() // how it ended is in cmd.ProcessState
		close(ended)
	}()
	c.cmd, c.ended = cmd, ended
	return nil
}

// kill is kill -9. It returns when the process is gone.
func (c *controller) kill() {
	if c.cmd == nil {
		return
	}
	_ = c.cmd.Process.Kill() // an error says that it has ended
	<-c.ended
}

// stop asks hale to end, as an operator does.
func (c *controller) stop(ctx context.Context) error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("hale has ended by itself: %s: %w", c.cmd.ProcessState, err)
	}
	select {
	case <-c.ended:
	case <-ctx.Done():
		return errors.Join(errors.New("hale does not end when it is told to"), ctx.Err())
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("hale ended with %d when it was told to stop", code)
	}
	return nil
}

// close ends hale and removes its files.
func (c *controller) close() error {
	c.kill()
	c.client.Close()
	return os.RemoveAll(c.dir)
}

// command runs a command of hale's and returns what it prints.
func (c *controller) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, os.Getenv(envHale), c.arguments(args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("hale %s: %w: %s", args[0], err, errs.String())
	}
	return out.String(), nil
}

// printedStatus is what hale status --json prints.
func (c *controller) printedStatus(ctx context.Context) (api.Status, error) {
	var s api.Status
	out, err := c.command(ctx, "status", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	return s, err
}
