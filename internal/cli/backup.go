package cli

import (
	"fmt"
	"path/filepath"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/config"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

func (c commander) backupCommand() *cobra.Command {
	var force, asJSON bool
	var log command.LogFlags
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write all that hale knows into a file",
		Long: "Writes the state of the running controller, as it is at one moment, into a file: what is believed\n" +
			"of all machines, holds and orders, the journal, evidence, messages. Where no controller runs, it\n" +
			"takes the state of the data folder. The file appears when it is whole and was read back; only you\n" +
			"may read it. The configuration, the secrets that it names, and the machines themselves are not in\n" +
			"it.\n\n" +
			"A backup is old when it is made: what hale does afterwards is not in it. See 'hale restore --help'\n" +
			"before you need it.",
		Example: "  hale backup /var/backups/hale-$(date +%F).backup",
		Args:    cobra.ExactArgs(1),
		RunE: c.Asks(func(cmd *cobra.Command, args []string, client *api.Client) error {
			logger, err := log.Logger(c.Err)
			if err != nil {
				return err
			}
			dataDir, _, err := c.Places()
			if err != nil {
				return err
			}
			b, err := c.Backup(cmd.Context(), command.BackupOptions{
				File: args[0], Force: force, DataDir: dataDir, Client: client, Version: c.Version, Logger: logger,
			})
			return c.Print(err, command.Answer{What: b, JSON: asJSON, Lines: func() []string {
				return backupLines(b, time.Now())
			}})
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace the file if it is there")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	log.Register(cmd, "error")
	return cmd
}

func (c commander) restoreCommand() *cobra.Command {
	var force, check, asJSON bool
	var into string
	var log command.LogFlags
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Bring back what a backup has, while hale is stopped",
		Long: "Reads a backup to its end, says what it is of, and makes it the state of the data folder. The\n" +
			"controller there must be stopped. With --force a state that is there is put aside, in the same\n" +
			"folder. When anything is wrong, the folder is left as it was. With --etcd it becomes the state in\n" +
			"the etcd servers of a configuration, which hold none yet; all servers must be stopped.\n\n" +
			"A restored state is older than the machines. hale looks at all of them before it does anything,\n" +
			"but what it did since the backup was made, it does not know: orders, holds, sizes and new machines\n" +
			"of that time. Read 'After a restore' in docs/runbook.md before you start it.",
		Example: "  hale restore /var/backups/hale-2026-11-21.backup --check\n" +
			"  hale restore /var/backups/hale-2026-11-21.backup --force\n" +
			"  hale restore /var/backups/hale-2026-11-21.backup --etcd /etc/hale/hale.yaml",
		Args: cobra.ExactArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			logger, err := log.Logger(c.Err)
			if err != nil {
				return err
			}
			dataDir, _, err := c.Places()
			if err != nil {
				return err
			}
			shared, err := configured(into)
			if err != nil {
				return err
			}
			r, err := c.Restore(cmd.Context(), command.RestoreOptions{File: args[0], DataDir: dataDir, Force: force,
				Check: check, Config: shared, Version: c.Version, Logger: logger})
			return c.Print(err, command.Answer{What: r, JSON: asJSON, Lines: func() []string {
				return restoreLines(r, time.Now())
			}})
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "put the state that is there aside")
	cmd.Flags().StringVar(&into, "etcd", "",
		"a configuration: restore into the etcd servers that it names (state.etcd)")
	cmd.Flags().BoolVar(&check, "check", false, "only read the backup, and say what it is of")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	log.Register(cmd, "error")
	return cmd
}

// configured reads the configuration that is named, if one is.
func configured(path string) (*config.Config, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // none is named
	}
	return command.Load(path)
}

// contentLines say what a backup is of.
func contentLines(b api.Backup, now time.Time) []string {
	installation := "no controller ever ran on it"
	if b.Installation != "" {
		installation = "installation " + b.Installation
	}
	lines := []string{
		fmt.Sprintf("  made %s (%s before now) by hale %s on %s",
			paper.Moment(b.Made, now), prose.Span(now.Sub(b.Made)), b.Hale, b.Server),
		fmt.Sprintf("  %s, format %d, %d entries, %s",
			installation, b.Format, b.Entries, prose.Volume(uint64(max(0, b.Bytes)))),
	}
	for _, f := range b.Fleets {
		lines = append(lines, fmt.Sprintf("  fleet %s: %d machines", f.Name, f.Machines))
	}
	return lines
}

func backupLines(b api.Backup, now time.Time) []string {
	from := "the running controller's state"
	if b.From == api.FromDataFolder {
		from = "the data folder's state (no controller runs)"
	}
	return append([]string{fmt.Sprintf("%s is a backup of %s:", b.File, from)}, contentLines(b, now)...)
}

func restoreLines(r api.Restored, now time.Time) []string {
	if !r.Done {
		lines := []string{r.File + " is whole, and can be restored. It is a backup:"}
		lines = append(lines, contentLines(r.Backup, now)...)
		if r.InUseBy != "" {
			lines = append(lines, fmt.Sprintf(
				"Data folder %s is in use by process %s: stop the hale that runs there before you restore.",
				r.DataDir, r.InUseBy))
		}
		return lines
	}
	lines := append([]string{fmt.Sprintf("Restored into %s from %s:", r.DataDir, r.File)},
		contentLines(r.Backup, now)...)
	if r.Aside != "" {
		lines = append(lines,
			fmt.Sprintf("What was there is in %s; remove it when you do not need it any more.", filepath.Base(r.Aside)))
	}
	return append(lines,
		"What happened since the backup was made is not in it. Before you start hale: docs/runbook.md, 'After a "+
			"restore'.")
}
