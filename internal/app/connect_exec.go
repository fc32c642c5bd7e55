package app

import (
	"context"
	"time"

	"hale/internal/config"
	"hale/internal/fault"
	"hale/internal/program"
	"hale/internal/provider/external"
	"hale/internal/secret"
)

// describeLimit is how long a program may take to say what it can do before hale goes on without knowing: it is asked
// again with each call.
const describeLimit = 10 * time.Second

func (s *site) connectExec(p config.Provider) (adapter, error) {
	log := s.log.With("provider", p.Name)
	o := external.Options{Command: p.Exec.Command, Timeout: p.Exec.Timeout, Parallel: p.Exec.Parallel, Logger: log}
	for _, v := range p.Exec.Env {
		x, err := variable(v)
		if err != nil {
			return adapter{}, fault.New(fault.Invalid, "app.connect", string(p.Name), err)
		}
		o.Env = append(o.Env, x)
	}
	e, err := external.New(o)
	if err != nil {
		return adapter{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), describeLimit)
	defer cancel()
	if _, err := e.Describe(ctx); err != nil {
		log.Warn("an exec provider's program does not say what it can do; it is asked again", "err", err)
	}
	return adapter{config: p, provider: e, watcher: e, transport: s.network, runner: program.Here{}}, nil
}

func variable(v config.ExecVariable) (external.Variable, error) {
	x := external.Variable{Name: v.Name, Plain: v.Value}
	var err error
	switch {
	case v.File != "":
		x.Secret, err = secret.File(v.File)
	case v.Env != "":
		x.Secret, err = secret.Env(v.Env)
	}
	return x, err
}
