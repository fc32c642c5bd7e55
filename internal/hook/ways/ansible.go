package ways

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/program"
)

const (
	sshPort = 22
	onlyUs  = 0o600
)

// play runs a playbook on the one machine.
func (w Ways) play(ctx context.Context, e *situation.Errand) (program.Result, error) {
	const op = "hook.ansible"
	p := e.Hook.Playbook
	if _, err := keyOf(ctx, p.Login); p.Key != "" && err != nil {
		return program.Result{}, err
	}
	if err := await(ctx, e, cmp.Or(p.Port, sshPort)); err != nil {
		return program.Result{}, err
	}
	home, err := os.MkdirTemp("", "hale-play-")
	if err != nil {
		return program.Result{}, fault.New(fault.Transient, op, string(e.Facts.Machine), err)
	}
	defer func() { _ = os.RemoveAll(home) }() // what is left there is of no use to anyone
	at := filepath.Join(home, "inventory.json")
	said, err := json.Marshal(inventory(e))
	if err == nil {
		err = os.WriteFile(at, said, onlyUs)
	}
	if err != nil {
		return program.Result{}, fault.New(fault.Transient, op, string(e.Facts.Machine), err)
	}
	_, env := e.Hook.Run.Fill(e.Facts.Filler())
	env = slices.Concat([]policy.Variable{
		{Name: "HOME", Value: home}, {Name: "ANSIBLE_LOCAL_TEMP", Value: filepath.Join(home, "tmp")},
		{Name: "ANSIBLE_STDOUT_CALLBACK", Value: "default"},
		{Name: "ANSIBLE_NOCOLOR", Value: "1"}, {Name: "ANSIBLE_RETRY_FILES_ENABLED", Value: "0"},
		{Name: "ANSIBLE_HOST_KEY_CHECKING", Value: map[bool]string{true: "1", false: "0"}[p.KnownHosts != ""]},
		{Name: "LC_ALL", Value: "C.UTF-8"},
	}, env)
	args := slices.Concat([]string{"ansible-playbook", "-i", at}, p.Args, []string{p.Path})
	result, err := w.Programs.Run(ctx, job(e, args, env))
	if err == nil && result.Code == 0 && !playedOn(string(e.Facts.Machine), result.Output) {
		err = fault.New(fault.Permanent, op, string(e.Facts.Machine), errNotPlayed)
	}
	return result, err
}

var errNotPlayed = errors.New("no play of the playbook is about the machine: have one name its fleet, or all, as hosts")

// playedOn reports whether the recap at the end of the output, if there is one, names the machine: ansible-playbook
// ends well where none of its plays matches any host.
func playedOn(machine, output string) bool {
	at := strings.LastIndex(output, "PLAY RECAP")
	if at < 0 {
		return true // the output was asked for in another form
	}
	for line := range strings.Lines(output[at:]) {
		if name, _, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == machine {
			return true
		}
	}
	return false
}

// inventory is the one machine, as ansible wants it: alone, and in a group that is named after its fleet.
func inventory(e *situation.Errand) map[string]any {
	p := e.Hook.Playbook
	number, _ := e.Facts.Machine.Ordinal()
	vars := map[string]any{
		"ansible_host": e.Facts.Address.String(), "ansible_port": cmp.Or(p.Port, sshPort),
		"hale_fleet": string(e.Facts.Machine.Fleet()), "hale_number": number, "hale_instance": string(e.Facts.Instance),
		"hale_host": string(e.Facts.Host),
	}
	if p.User != "" {
		vars["ansible_user"] = p.User
	}
	if p.Key != "" {
		vars["ansible_ssh_private_key_file"] = p.Key
	}
	known := "/dev/null" // a new machine at an old one's address has another key
	if p.KnownHosts != "" {
		known = p.KnownHosts
	}
	vars["ansible_ssh_common_args"] = "-o UserKnownHostsFile=" + known
	host, of := string(e.Facts.Machine), string(e.Facts.Machine.Fleet())
	all := map[string]any{"hosts": map[string]any{host: vars}}
	if of != "all" && of != "ungrouped" { // which ansible has by itself
		all["children"] = map[string]any{of: map[string]any{"hosts": map[string]any{host: map[string]any{}}}}
	}
	return map[string]any{"all": all}
}
