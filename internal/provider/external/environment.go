package external

import (
	"context"
)

// environment returns what the program finds in its environment, and the secrets that are in it.
func (p *Provider) environment(ctx context.Context) (env, secrets []string, err error) {
	for _, v := range p.o.Env {
		value := v.Plain
		if !v.Secret.None() {
			if value, err = v.Secret.Resolve(ctx); err != nil {
				return nil, nil, err
			}
			secrets = append(secrets, value)
		}
		env = append(env, v.Name+"="+value)
	}
	return env, secrets, nil
}
