// Command hale keeps fleets of virtual machines in good health. See "hale help".
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"hale/api"
	"hale/internal/app"
	"hale/internal/app/backups"
	"hale/internal/app/members"
	"hale/internal/app/outpost"
	"hale/internal/cli"
	"hale/internal/cli/command"
	"hale/internal/cluster/door"
	"hale/internal/config"
)

// version is set by the build.
var version = ""

func main() { os.Exit(run()) }

// run ends with the command, which SIGINT and SIGTERM tell to stop; a second one ends the process at once.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return cli.Execute(ctx, command.Program{
		Version: versionOf(debug.ReadBuildInfo()), Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Run: control,
		Probe: probe, Plan: plan, Preview: preview, Backup: backup, Restore: restore, Cluster: cluster,
	}, os.Args[1:])
}

func control(ctx context.Context, o command.RunOptions) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	a, err := app.New(app.Options{
		Version: versionOf(debug.ReadBuildInfo()), Config: o.Config, DataDir: o.DataDir, Socket: o.Socket,
		Readers: o.Readers, Server: o.Server, ThisFile: o.ThisFile, Logger: o.Logger, Load: o.Load,
		Hangups: hangups,
	})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

func probe(ctx context.Context, o command.ProbeOptions) error {
	return outpost.Run(ctx, outpost.Options(o))
}

func plan(ctx context.Context, o command.PlanOptions) (api.Plan, error) {
	return app.Plan(ctx, app.PlanOptions(o))
}

func preview(ctx context.Context, o command.PreviewOptions) (api.Preview, error) {
	return app.Preview(ctx, app.PreviewOptions(o))
}

func backup(ctx context.Context, o command.BackupOptions) (api.Backup, error) {
	return backups.Make(ctx, backups.Options(o))
}

func restore(ctx context.Context, o command.RestoreOptions) (api.Restored, error) {
	return backups.Restore(ctx, backups.RestoreOptions(o))
}

var cluster = command.Cluster{
	Is: members.InCluster,
	Init: func(ctx context.Context, h command.Here, c config.Cluster, name string) (command.Begun, error) {
		b, err := members.Init(ctx, members.Here(h), c, name)
		return command.Begun(b), err
	},
	Renew: func(ctx context.Context, h command.Here) (command.Begun, error) {
		b, err := members.Renew(ctx, members.Here(h))
		return command.Begun(b), err
	},
	Join: func(ctx context.Context, h command.Here, c config.Cluster, o command.JoinOptions) (command.Begun, error) {
		b, err := members.Join(ctx, members.Here(h), c, members.JoinOptions(o))
		return command.Begun(b), err
	},
	Invite: func(ctx context.Context, h command.Here, name string, lasts time.Duration) (door.Invited, error) {
		return members.Invite(ctx, members.Here(h), name, lasts)
	},
	Replace: func(ctx context.Context, h command.Here, name string, lasts time.Duration) (door.Invited, error) {
		return members.Replace(ctx, members.Here(h), name, lasts)
	},
	Leave: func(ctx context.Context, h command.Here) (string, error) { return members.Leave(ctx, members.Here(h)) },
	List: func(ctx context.Context, h command.Here) (door.Servers, error) {
		return members.List(ctx, members.Here(h))
	},
}

// versionOf is what the build says, or what the source's revision is.
func versionOf(info *debug.BuildInfo, ok bool) string {
	if version != "" {
		return version
	}
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) > 12 {
			return "dev-" + s.Value[:12]
		}
	}
	return "dev"
}
