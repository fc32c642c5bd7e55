package command

import (
	"context"
	"io"
	"log/slog"
	"time"

	"hale/api"
	"hale/internal/config"
	"hale/internal/core/policy"
)

// Program is what the command line speaks for. All fields are needed.
type Program struct {
	Version string
	Out     io.Writer
	Err     io.Writer
	Getenv  func(string) string
	// Run is the controller, until ctx ends.
	Run func(ctx context.Context, o RunOptions) error
	// Probe is a satellite, until ctx ends.
	Probe func(ctx context.Context, o ProbeOptions) error
	// Plan says what a controller would do.
	Plan func(ctx context.Context, o PlanOptions) (api.Plan, error)
	// Preview says what a fleet would adopt.
	Preview func(ctx context.Context, o PreviewOptions) (api.Preview, error)
	// Backup writes all that is stored into a file, and Restore brings it back.
	Backup  func(ctx context.Context, o BackupOptions) (api.Backup, error)
	Restore func(ctx context.Context, o RestoreOptions) (api.Restored, error)
}

// RunOptions are what a controller is started with.
type RunOptions struct {
	Config  *config.Config
	Load    func() (*config.Config, error) // reads it again
	DataDir string
	Socket  string
	Readers string // the members of this group may read on the socket
	Server  string // what this server is called among those on one store; empty: as the machine
	// ThisFile lets it become the active one although its file differs from that of the last one.
	ThisFile bool
	Logger   *slog.Logger
}

// ProbeOptions are what a satellite is started with.
type ProbeOptions struct {
	Join      []string // the servers of one installation
	TokenFile string
	CA        string // who signs their certificates; empty: as the system has it
	Name      string // empty: the token says it
	Version   string
	Logger    *slog.Logger
}

// PlanOptions are what a plan is made from.
type PlanOptions struct {
	Config  *config.Config
	DataDir string
	Client  *api.Client
	Deep    bool
	Logger  *slog.Logger
}

// PreviewOptions are what a preview of an adoption is made from.
type PreviewOptions struct {
	Config  *config.Config
	Fleet   policy.Spec
	Waiting func(atMost time.Duration) // is told before the machines are looked at
	Logger  *slog.Logger
}

// BackupOptions are what a backup is made from.
type BackupOptions struct {
	File    string
	Force   bool
	DataDir string
	Client  *api.Client
	Version string
	Logger  *slog.Logger
}

// RestoreOptions say what is restored where.
type RestoreOptions struct {
	File    string
	DataDir string
	Force   bool
	Check   bool
	Config  *config.Config // its etcd servers get the state; nil: the data folder does
	Version string
	Logger  *slog.Logger
}
