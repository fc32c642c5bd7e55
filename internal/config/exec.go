package config

import (
	"slices"
	"time"
)

// Exec is the program of a ProviderExec.
type Exec struct {
	Command []string // the program by an absolute path, and its arguments
	Env     []ExecVariable
	Timeout time.Duration // of calls that no step limits
	// Parallel is how many programs run at once for calls that change something, and how many for those that read.
	Parallel int
}

// ExecVariable is one variable of the program's environment. It says where a secret is kept, so that it can be stored:
// at most one of Value, File and Env is there.
type ExecVariable struct {
	Name, Value string
	File        string `json:",omitempty"` // an absolute path
	Env         string `json:",omitempty"` // a variable of hale's own
}

// sameAddress reports whether the same program speaks for the same hypervisor, as far as one can tell from outside.
func (e Exec) sameAddress(other Exec) bool {
	return slices.Equal(e.Command, other.Command) && slices.Equal(e.Env, other.Env)
}
