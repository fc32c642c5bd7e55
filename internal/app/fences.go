package app

import (
	"context"
	"time"

	"hale/internal/config"
	"hale/internal/defect"
	"hale/internal/fault"
	"hale/internal/fence"
	"hale/internal/fence/agent"
	"hale/internal/fence/command"
	"hale/internal/fence/ipmi"
	"hale/internal/fence/redfish"
	"hale/internal/fleet"
)

// armed is a method as it serves one host.
type armed struct {
	fence.Method
	config config.Fence
	every  time.Duration // from one test to the next
	check  func(ctx context.Context) error
	// uncut gives the host the access back that the method cut; nil: it cuts power.
	uncut func(ctx context.Context) error
}

// armedFor is the list of methods: what each entry of the configuration stands for, for one host. It connects to
// nothing yet.
func armedFor(f config.Fence, host fleet.HostName) armed {
	a := armed{config: f, every: f.Test, check: func(context.Context) error { return nil }, Method: fence.Method{
		Name: f.Name, Kind: f.Kind(), Yields: fleet.ProofHostOff, Attempts: f.Attempts, Timeout: f.Timeout,
		Settle: f.Settle, Poll: fence.DefaultPoll,
	}}
	switch {
	case f.Redfish != nil:
		r := f.Redfish
		a.Unverified = r.Insecure
		a.Controller = redfish.New(redfish.Options{
			Name: f.Name, URL: config.ForHost(r.URL, host), User: r.User, Password: r.Password,
			System: config.ForHost(r.System, host), CA: r.CA, Insecure: r.Insecure,
		})
	case f.IPMI != nil:
		i := f.IPMI
		a.Controller = ipmi.New(ipmi.Options{
			Name: f.Name, Program: "ipmitool", Host: config.ForHost(i.Host, host), Port: i.Port, User: i.User,
			Password: i.Password, Cipher: i.Cipher, Privilege: i.Privilege,
		})
	case f.Agent != nil:
		o := agent.Options{Name: f.Name, Program: f.Agent.Program}
		for _, v := range f.Agent.Options {
			o.Values = append(o.Values, agent.Value{
				Name:   v.Name,
				Plain:  config.ForHost(v.Plain, host),
				Secret: v.Secret,
			})
		}
		c := agent.New(o)
		a.Controller, a.check, a.Unverified = c, c.Check, c.Unverified()
	case f.Command != nil:
		a.Controller = command.New(programFor(f.Name, *f.Command, host))
	case f.Cut != nil:
		o := programFor(f.Name, f.Cut.Command, host)
		o.Cut = true
		c := command.New(o)
		a.Controller, a.uncut, a.Yields = c, c.Uncut, fleet.ProofAccessCut
	}
	return a
}

// guarded returns the method with a guard around each call of what is behind it.
func (a armed) guarded(told defect.Witness) armed {
	check, uncut, failed := a.check, a.uncut, func(op string, kind fault.Kind, err *error) func(*defect.Panic) {
		return func(p *defect.Panic) { *err = fault.New(kind, "app."+op, a.Name, p) }
	}
	a.Controller = fence.Guarded(a.Controller, a.Name, told)
	a.check = func(ctx context.Context) (err error) {
		defer told.Catch(a.Name, "check", failed("check", fault.Transient, &err))
		return check(ctx)
	}
	if uncut != nil {
		a.uncut = func(ctx context.Context) (err error) {
			defer told.Catch(a.Name, "uncut", failed("uncut", fault.UnknownOutcome, &err))
			return uncut(ctx)
		}
	}
	return a
}

// programFor says how the program is run for the host.
func programFor(name string, c config.Command, host fleet.HostName) command.Options {
	o := command.Options{Name: name, Host: string(host)}
	for _, word := range c.Command {
		o.Command = append(o.Command, config.ForHost(word, host))
	}
	for _, v := range c.Env {
		o.Env = append(o.Env, command.Variable{Name: v.Name, Plain: v.Plain, Secret: v.Secret})
	}
	return o
}
