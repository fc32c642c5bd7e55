package calls

import (
	"context"
	"fmt"
	"strings"

	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/secret"
)

// Introduce fills into the order's user data by which tokens the machine reports heartbeats. The template itself,
// which is stored and compared, keeps the placeholders.
func Introduce(ctx context.Context, order *provider.Blueprint, checks []*policy.Check) error {
	for _, c := range checks {
		placeholder := policy.HeartbeatPlaceholder(c.Name)
		if !c.Heartbeat.PerMachine || !strings.Contains(order.Template.UserData, placeholder) {
			continue
		}
		from, err := secret.Read(ctx, c.Heartbeat.Token)
		if err != nil {
			return fmt.Errorf("the secret of check %s, which the user data needs, cannot be read: %w", c.Name, err)
		}
		machine := order.Mark.Machine
		token := secret.Derived(from, c.Heartbeat.TokenOf(machine.Fleet(), machine, c.Name))
		order.Template.UserData = strings.ReplaceAll(order.Template.UserData, placeholder, token)
	}
	return nil
}
