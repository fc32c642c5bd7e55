package server

import (
	"strings"

	"hale/internal/api/rest"
	"hale/internal/owner/published"
)

// meant returns the name of the machine, or fleet, that a person means. An adopted machine also goes by its name at the
// provider, unless another machine has that name. Several of that name are a problem.
func meant(text string, status []published.Fleet) (string, error) {
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

// aliases are what the machines of a fleet are called at their provider.
func aliases(f published.Fleet) []string {
	var out []string
	for i := range f.Machines {
		if a := f.Machines[i].Machine.Alias; a != "" {
			out = append(out, a)
		}
	}
	return out
}
