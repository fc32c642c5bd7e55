// Package agent switches a host's power by a program of the fence-agents family (Debian's package fence-agents). Such a
// program reads options from standard input, answers with an exit code, and describes its options as metadata.
//
// It promises that secrets are on the program's standard input only, never in its arguments or environment. It believes
// off only when both the exit code and the words say so, since a wrong option has the same exit code. It finds options
// that the program's metadata does not know before they are needed: the programs themselves ignore them. What an agent
// does with a secret, hale cannot see: see Leaks.
package agent

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/fence"
	"hale/internal/secret"
)

// Options are what a Controller is made of.
type Options struct {
	Name    string // the method's, for errors
	Program string // a path, or a name such as fence_apc
	Values  []secret.Named
}

// Controller runs one program.
type Controller struct{ o Options }

var _ fence.Controller = (*Controller)(nil)

// New makes a controller. It runs nothing yet.
func New(o Options) *Controller { return &Controller{o} }

// The exit codes of the family.
const (
	exitOK          = 0
	exitOff         = 2 // of the action status; else: wrong options
	exitDenied      = 3
	exitNoPassword  = 10
	exitNoPrivilege = 11
)

// Power implements fence.Controller.
func (c *Controller) Power(ctx context.Context) (fence.Power, error) {
	const op = "agent.power"
	code, said, err := c.run(ctx, op, "status")
	words := strings.ToUpper(said)
	switch {
	case err != nil:
		return fence.PowerUnknown, quiet(err)
	case code == exitOK && strings.Contains(words, "STATUS: ON"):
		return fence.PowerOn, nil
	case code == exitOff && strings.Contains(words, "STATUS: OFF"):
		return fence.PowerOff, nil
	case code == exitOK:
		return fence.PowerUnknown, nil
	}
	if err = c.refusal(op, code, said); fault.Is(err, fault.Transient) && c.denied(ctx) {
		return fence.PowerUnknown, fence.Denied(op, c.o.Name, fmt.Errorf("exit code %d: %s", code, said))
	}
	return fence.PowerUnknown, err
}

// denied reports whether the agent says that its controller refuses the credentials. It asks with verbose output, since
// hardly any agent says so otherwise. Nothing of that is kept, since a password may be in it in any form.
func (c *Controller) denied(ctx context.Context) bool {
	_, said, err := c.run(ctx, "agent.power", "status", "verbose=1")
	return err == nil && refusal.MatchString(said)
}

// refusal is what agents, and what they call, say of credentials that are not accepted: SSH, HTTP, SNMP, and the
// family's own words.
var refusal = regexp.MustCompile(`(?i)permission denied|authentication fail|unable to authenticate|unauthori[sz]ed|` +
	`access denied|login (failed|incorrect)|(incorrect|invalid) (user|login|password|credentials)|` +
	`not have the correct privileges|invalid response to challenge|` +
	`HTTP/[0-9.]+"? 40[13]\b|\b40[13] (client error|forbidden)`)

// quiet makes what was only asked in vain of a lost outcome: to ask changes nothing.
func quiet(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Kind == fault.UnknownOutcome {
		return fault.New(fault.Transient, f.Op, f.Subject, f.Err)
	}
	return err
}

// Off implements fence.Controller.
func (c *Controller) Off(ctx context.Context) error {
	const op = "agent.off"
	code, said, err := c.run(ctx, op, "off")
	switch {
	case err != nil:
		return err
	case code == exitOK:
		return nil
	}
	return c.refusal(op, code, said)
}

// refusal is the error of an exit code. What the agent said is the better witness: most agents end with 1, whatever is
// wrong.
func (c *Controller) refusal(op string, code int, said string) error {
	why, kind := fmt.Errorf("exit code %d: %s", code, said), fault.Transient
	switch {
	case code == exitDenied || code == exitNoPrivilege || refusal.MatchString(said):
		return fence.Denied(op, c.o.Name, why)
	case code == exitOff || code == exitNoPassword:
		kind = fault.Invalid
	}
	return fault.New(kind, op, c.o.Name, why)
}

// run runs an action with the options on standard input, and more lines of such.
func (c *Controller) run(ctx context.Context, op, action string, more ...string) (code int, said string, err error) {
	options, secrets, err := secret.Environment(ctx, c.o.Values)
	if err != nil {
		return 0, "", err
	}
	var in strings.Builder
	fmt.Fprintf(&in, "action=%s\n", action)
	for _, line := range more {
		fmt.Fprintln(&in, line)
	}
	for _, line := range options {
		fmt.Fprintln(&in, line)
	}
	return fence.Program{
		Op:      op,
		Subject: c.o.Name,
		Args:    []string{Find(c.o.Program)},
		Env:     []string{"LANG=C", "LC_ALL=C"},
		Input:   in.String(),
		Secrets: secrets,
	}.Run(ctx)
}

// Find returns the path of a program that is named without one: the folders of the family come before the PATH.
func Find(program string) string {
	if strings.ContainsRune(program, filepath.Separator) {
		return program
	}
	for _, folder := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(folder, program)); err == nil {
			return path
		}
	}
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	return program
}

// leaking are the agents that hand a password to another program in its arguments, where every user of the server can
// read it.
var leaking = []string{
	"fence_ipmilan", "fence_ilo3", "fence_ilo4", "fence_ilo5", "fence_ipmilanplus", "fence_imm", "fence_idrac",
}

// Leaks reports whether the program is known to show its password to every user of the server.
func Leaks(program string) bool { return slices.Contains(leaking, filepath.Base(program)) }

// Unverified reports whether the options tell the program not to check the controller's identity.
func (c *Controller) Unverified() bool {
	return slices.ContainsFunc(c.o.Values, func(v secret.Named) bool {
		return (v.Name == "ssl_insecure" || v.Name == "ssl-insecure") &&
			!slices.Contains([]string{"", "0", "false", "no", "off"}, strings.ToLower(v.Plain))
	})
}

// Check says what the program's own metadata has against the options. It contacts no controller.
func (c *Controller) Check(ctx context.Context) error {
	d, err := Describe(ctx, c.o.Program)
	if err != nil {
		return err
	}
	given := make([]string, 0, len(c.o.Values))
	for _, v := range c.o.Values {
		given = append(given, v.Name)
	}
	if problems := d.Against(given); len(problems) > 0 {
		return fault.New(fault.Invalid, "agent.check", c.o.Name, errors.New(strings.Join(problems, "; ")))
	}
	return nil
}
