package steer

import (
	"strings"
	"testing"

	"hale/internal/cli/command"
)

// 'hale rollout' alone says what can follow, and a word that cannot is a mistake: a fleet's name alone begins nothing.
func TestRolloutAloneIsNoOrder(t *testing.T) {
	t.Parallel()
	run := func(args ...string) (string, error) {
		var out strings.Builder
		c := command.New(command.Program{Getenv: func(string) string { return "" }}, args)
		cmd := giver{c}.rolloutCommand()
		cmd.SetArgs(args)
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		err := cmd.Execute()
		return out.String(), err
	}
	if said, err := run([]string{}...); err != nil || !strings.Contains(said, "Begin no further machine") {
		t.Errorf("alone it says %q, %v", said, err)
	}
	if said, err := run("web"); err == nil || !strings.Contains(err.Error(), `unknown command "web"`) {
		t.Errorf("with a fleet's name it says %q, %v", said, err)
	}
}
