// Package ipmi switches a host's power by IPMI 2.0 over the network, with the program ipmitool. It promises that the
// password is in the program's environment only, where hale's own user and root can read it, and never in arguments. It
// believes off only in ipmitool's own words. IPMI 2.0 does not prove the controller's identity, and gives a hash of the
// password to every client that reaches it. Keep controllers on a network of their own.
package ipmi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/fence"
	"hale/internal/secret"
)

// Options are what a Controller is made of.
type Options struct {
	Name     string // the method's, for errors
	Program  string // ipmitool, or its path
	Host     string
	Port     int
	User     string
	Password secret.Secret
	Cipher   int // the cipher suite; 17 and 3 are what controllers have
	// Privilege is the level to ask for; empty: ipmitool's own, administrator.
	Privilege string
}

// Controller runs ipmitool.
type Controller struct{ o Options }

var _ fence.Controller = (*Controller)(nil)

// New makes a controller. It runs nothing yet.
func New(o Options) *Controller { return &Controller{o} }

// Power implements fence.Controller.
func (c *Controller) Power(ctx context.Context) (fence.Power, error) {
	const op = "ipmi.power"
	said, err := c.run(ctx, op, "status")
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.Kind == fault.UnknownOutcome:
		return fence.PowerUnknown, fault.New(fault.Transient, op, c.o.Name, f.Err)
	case err != nil:
		return fence.PowerUnknown, err
	case strings.Contains(said, "Chassis Power is on"):
		return fence.PowerOn, nil
	case strings.Contains(said, "Chassis Power is off"):
		return fence.PowerOff, nil
	}
	return fence.PowerUnknown, nil
}

// Off implements fence.Controller.
func (c *Controller) Off(ctx context.Context) error {
	_, err := c.run(ctx, "ipmi.off", "off")
	return err
}

func (c *Controller) run(ctx context.Context, op, action string) (string, error) {
	password, err := c.o.Password.Resolve(ctx)
	if err != nil {
		return "", err
	}
	args := []string{
		c.o.Program, "-v", "-I", "lanplus", "-H", c.o.Host, "-p", strconv.Itoa(c.o.Port), "-U", c.o.User, "-E", "-C",
		strconv.Itoa(c.o.Cipher), "-N", "1", "-R", "3",
	}
	if c.o.Privilege != "" {
		args = append(args, "-L", c.o.Privilege)
	}
	args = append(args, "chassis", "power", action)
	code, said, err := fence.Program{
		Op:      op,
		Subject: c.o.Name,
		Args:    args,
		Env:     []string{"IPMI_PASSWORD=" + password, "LANG=C"},
		Secrets: []string{password},
	}.Run(ctx)
	if err != nil || code == 0 {
		return said, err
	}
	why := fmt.Errorf("exit code %d: %s", code, strings.TrimPrefix(said, loading))
	if slices.ContainsFunc(refusals, func(words string) bool {
		return strings.Contains(strings.ToLower(said), words)
	}) {
		return said, fence.Denied(op, c.o.Name, why)
	}
	return said, fault.New(fault.Transient, op, c.o.Name, why)
}

// refusals are ipmitool's words, in lower case, for a password, a user or a privilege that the controller does not
// accept. It says them only with -v, and ends with the same exit code as for anything else.
var refusals = []string{
	"rakp 2 hmac is invalid", "unauthorized name", "invalid role", "insufficient privilege", "unauthorized role",
}

// loading is what ipmitool always says with -v.
const loading = "Loading IANA PEN Registry...; "
