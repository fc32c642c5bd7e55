// Package naming finds what a person means by a name: a machine or a fleet, among those that they may see.
package naming

import (
	"strings"

	"hale/api"
	"hale/internal/api/rest"
	"hale/internal/core/fleet"
	"hale/internal/owner/published"
)

// Meant returns the name of the machine, or fleet, that a person means. An adopted machine also goes by its name at the
// provider, unless another machine has that name. Several of that name are a problem.
func Meant(text string, status []published.Fleet) (string, error) {
	var called []string
	for _, f := range status {
		if string(f.Spec.Name) == text {
			return text, nil
		}
		for i := range f.Machines {
			m := &f.Machines[i].Machine
			if string(m.Name) == text {
				return text, nil
			}
			if m.Alias == text && text != "" {
				called = append(called, string(m.Name))
			}
		}
	}
	switch len(called) {
	case 0:
		return text, nil
	case 1:
		return called[0], nil
	}
	return "", rest.BadRequest(text + " is what several machines are called: say which of " + strings.Join(called, ", "))
}

// Aliases are what the machines of a fleet are called at their provider.
func Aliases(f published.Fleet) []string {
	var out []string
	for i := range f.Machines {
		if a := f.Machines[i].Machine.Alias; a != "" {
			out = append(out, a)
		}
	}
	return out
}

// Machine returns the machine that a person means. A problem: there is none.
func Machine(text string, status []published.Fleet) (fleet.MachineName, error) {
	name, err := Meant(text, status)
	if err != nil {
		return "", err
	}
	var known []string
	for _, f := range status {
		known = append(known, Aliases(f)...)
		for i := range f.Machines {
			if m := f.Machines[i].Machine.Name; string(m) == name {
				return m, nil
			}
			known = append(known, string(f.Machines[i].Machine.Name))
		}
	}
	return "", UnknownMachine(fleet.MachineName(name), known)
}

// UnknownMachine is the problem that there is no machine of the name, with those that there are.
func UnknownMachine(name fleet.MachineName, known []string) api.Problem {
	return api.Unknown(api.CodeUnknownMachine, "machine "+string(name), string(name), known)
}
