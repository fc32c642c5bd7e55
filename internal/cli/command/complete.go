package command

import (
	"context"
	"time"

	"hale/api"

	"github.com/spf13/cobra"
)

// completeWithin is how long a shell waits for names.
const completeWithin = time.Second

// names asks the running controller for names that a shell can complete; none when it does not answer.
func (c *Call) names(cmd *cobra.Command, of func(api.Status) []string) ([]string, cobra.ShellCompDirective) {
	client, err := c.Dial()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	s, err := client.Status(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return of(s), cobra.ShellCompDirectiveNoFileComp
}

// Complete has a shell complete the values of the flag. It panics when the command has no such flag, which is a slip in
// the source that no caller can mend.
func Complete(cmd *cobra.Command, flag string, names cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, names); err != nil {
		panic(err)
	}
}

func fleetNames(s api.Status) []string {
	names := make([]string, 0, len(s.Fleets))
	for _, f := range s.Fleets {
		names = append(names, f.Name)
	}
	return names
}

func machineNames(s api.Status) []string {
	var names []string
	for _, f := range s.Fleets {
		for _, m := range f.Machines {
			names = append(names, m.Name)
		}
	}
	return names
}

// CompleteFleets completes the name of a fleet.
func (c *Call) CompleteFleets(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.names(cmd, fleetNames)
}

// CompleteMachines completes the name of a machine.
func (c *Call) CompleteMachines(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.names(cmd, machineNames)
}

// CompleteSubjects completes the name of a fleet or a machine.
func (c *Call) CompleteSubjects(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.names(cmd, func(s api.Status) []string { return append(fleetNames(s), machineNames(s)...) })
}
