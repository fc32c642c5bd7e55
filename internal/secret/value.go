package secret

import "context"

// Value is a text, or a secret where Secret is not None, which is read when it is used.
type Value struct {
	Plain  string
	Secret Secret
}

// Named is a header, a variable or an option with its value.
type Named struct {
	Name   string
	Plain  string
	Secret Secret
}

// In returns the secrets among the values.
func In(all []Named) []Secret {
	var out []Secret
	for _, v := range all {
		if !v.Secret.None() {
			out = append(out, v.Secret)
		}
	}
	return out
}

// Resolve returns the text, and the same again if it is a secret.
func (v Value) Resolve(ctx context.Context) (text string, secrets []string, err error) {
	if v.Secret.None() {
		return v.Plain, nil, nil
	}
	text, err = v.Secret.Resolve(ctx)
	return text, []string{text}, err
}

// Environment returns the values as the environment of a program has them, and those that are secret.
func Environment(ctx context.Context, all []Named) (env, secrets []string, err error) {
	for _, n := range all {
		text, kept, err := Value{n.Plain, n.Secret}.Resolve(ctx)
		if err != nil {
			return nil, nil, err
		}
		env, secrets = append(env, n.Name+"="+text), append(secrets, kept...)
	}
	return env, secrets, nil
}
