package command

import (
	"context"
	"io"
	"log/slog"
	"time"

	"hale/api"
	"hale/internal/cluster/door"
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
	// Cluster is what the commands about hale's own cluster do.
	Cluster Cluster
}

// Cluster is what is done to hale's own cluster of servers, from one of them. All fields are needed.
type Cluster struct {
	// Is reports whether the data folder is of a server of a cluster.
	Is func(dataDir string) bool
	// Init makes this server the first one. Renew makes the one that is left the first one of a new cluster.
	Init  func(ctx context.Context, h Here, c config.Cluster, name string) (Begun, error)
	Renew func(ctx context.Context, h Here) (Begun, error)
	// Join has this server be let in by the text of an invitation; force puts a state that is here aside.
	Join    func(ctx context.Context, h Here, c config.Cluster, o JoinOptions) (Begun, error)
	Invite  func(ctx context.Context, h Here, name string, lasts time.Duration) (door.Invited, error)
	Replace func(ctx context.Context, h Here, name string, lasts time.Duration) (door.Invited, error)
	Leave   func(ctx context.Context, h Here) (string, error)
	List    func(ctx context.Context, h Here) (door.Servers, error)
}

// Here says where a command runs.
type Here struct {
	DataDir string
	Version string
	Logger  *slog.Logger
}

// JoinOptions are what a server joins by.
type JoinOptions struct {
	Invitation string // its text
	Force      bool   // a state that is here is put aside
}

// Begun is what became of a data folder.
type Begun struct {
	Name, Address string
	Aside         string // where the state is that was there; empty: there was none
	Left          string // where the papers are that were there
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
