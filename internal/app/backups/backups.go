// Package backups writes the state of a controller into a file, that of one that runs or else of a data folder, and makes
// a data folder's state, or that in etcd servers, what such a file holds.
//
// It promises that a backup appears when it is whole and was read back, that a data folder is copied and never opened
// where it is, and that what a restore replaces is kept aside. What lies in such a file is package state/backup's.
package backups

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hale/api"
	"hale/internal/api/server"
	"hale/internal/app/members"
	"hale/internal/app/standby"
	"hale/internal/config"
	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/active"
	"hale/internal/state/backup"
	"hale/internal/state/beliefs"
	"hale/internal/state/etcd"
	"hale/internal/state/format"
)

// Options are what a backup is made from.
type Options struct {
	File    string      // to be written
	Force   bool        // one that is there may be replaced
	DataDir string      // of a controller that may have run here; it is copied, never opened
	Client  *api.Client // of a controller that may run now
	Version string
	Logger  *slog.Logger
}

// Make writes a backup of the running controller's state, or else of the data folder's, into a file, which appears
// when it is whole and was read back, and is its owner's only. Errors of kind fault.Conflict say what is in the way.
func Make(ctx context.Context, o Options) (api.Backup, error) {
	if err := vacant(o.File, o.Force); err != nil {
		return api.Backup{}, err
	}
	var from string
	err := writeWhole(o.File, func(w io.Writer) (err error) {
		from, err = pour(ctx, w, o)
		return err
	})
	if err != nil {
		return api.Backup{}, err
	}
	b, err := inspect(o.File)
	b.From = from
	return b, err
}

// vacant says what is in the way of a new file.
func vacant(path string, force bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fault.New(fault.Conflict, "app.backup", path, errors.New("it is there, and is no file"))
	case !force:
		return fault.New(fault.Conflict, "app.backup", path,
			errors.New("it is there already: name another file, or replace it with --force"))
	}
	return nil
}

// pour writes the backup, and returns what it is from.
func pour(ctx context.Context, w io.Writer, o Options) (from string, err error) {
	body, err := o.Client.Backup(ctx)
	if err == nil {
		_, err = io.Copy(w, body)
		return api.FromController, errors.Join(err, body.Close())
	}
	if absent := (api.NotRunning{}); !errors.As(err, &absent) || errors.Is(err, fs.ErrPermission) {
		return "", err
	}
	running := err
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	err = OnCopy(ctx, o.DataDir, o.Logger, func(store state.Store) error {
		h, err := server.BackupHeader(ctx, store, o.Version, host)
		if err != nil {
			return err
		}
		return backup.Write(ctx, w, store, h)
	})
	if fault.Is(err, fault.NotFound) {
		return "", fmt.Errorf("%w, and data folder %s has no state", running, o.DataDir)
	}
	return api.FromDataFolder, err
}

// OnCopy does something with a copy of a data folder that no controller uses. fault.NotFound: there is none.
// fault.Conflict: a controller uses it. fault.Unsupported: its state is of a format that this hale does not read.
func OnCopy(ctx context.Context, folder string, log *slog.Logger, do func(state.Store) error) (err error) {
	dir, err := os.MkdirTemp("", "hale-copy-")
	if err != nil {
		return fault.New(fault.Permanent, "app.copy", folder, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := etcd.CopyFolder(folder, dir); err != nil {
		return err
	}
	store, err := etcd.OpenAlone(ctx, etcd.Options{Dir: dir, Logger: log})
	if err != nil {
		return err
	}
	mark, err := format.Read(ctx, store)
	if err == nil {
		err = Naming(folder, mark.Readable())
	}
	if err == nil {
		err = do(store)
	}
	return errors.Join(err, store.Close())
}

// writeWhole writes a file that appears under its name, with mode 0600, when all of it is on disk and is a backup.
func writeWhole(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if _, err := inspect(f.Name()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// inspect reads a backup from its beginning to its end, and says what it is of.
func inspect(path string) (api.Backup, error) {
	out := api.Backup{File: path, Fleets: []api.BackupFleet{}}
	machines := map[fleet.Name]int{}
	err := reading(path, func(b *backup.Backup) error {
		out.Made, out.Hale, out.Server = b.Made, b.Hale, b.Server
		out.Installation, out.Format = string(b.Installation), b.Format.Format
		for e, err := range b.Entries() {
			if err != nil {
				return err
			}
			out.Entries++
			m, ok := beliefs.MachineOf(e.Key)
			if !ok {
				continue
			}
			var belief belief.Machine
			if err := json.Unmarshal(e.Value, &belief); err != nil {
				return fault.New(fault.Permanent, "app.backup", e.Key, err)
			}
			if !belief.Vacant() { // of one that was removed the number is kept
				machines[m.Fleet()]++
			}
		}
		return nil
	})
	if err != nil {
		return api.Backup{}, err
	}
	for name, n := range machines {
		out.Fleets = append(out.Fleets, api.BackupFleet{Name: string(name), Machines: n})
	}
	slices.SortFunc(out.Fleets, func(a, b api.BackupFleet) int { return strings.Compare(a.Name, b.Name) })
	info, err := os.Stat(path)
	if err == nil {
		out.Bytes = info.Size()
	}
	return out, err
}

// reading opens a backup. Errors name the file.
func reading(path string, do func(*backup.Backup) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := backup.Open(f)
	if err == nil {
		err = do(b)
	}
	return Naming(path, err)
}

// Naming names the file or folder in an error about what is in it.
func Naming(path string, err error) error {
	var said *fault.Error
	if errors.As(err, &said) && said.Err != nil && (said.Op == "backup.read" || said.Op == "format.open") {
		return fault.New(said.Kind, said.Op, path, said.Err)
	}
	return err
}

// RestoreOptions say what is restored where.
type RestoreOptions struct {
	File    string
	DataDir string // made if it does not exist
	Force   bool   // the state that is there is put aside
	Check   bool   // only read the backup
	// Config says into which etcd servers it is restored, in place of the folder; nil: into the folder.
	Config  *config.Config
	Version string
	Logger  *slog.Logger
}

// Restore makes a data folder's state what a backup holds. The backup is read to its end before the folder is touched,
// and what was there is changed for the new state in one moment, when that is whole; it is kept aside. fault.Invalid:
// the backup is damaged. fault.Unsupported: a newer hale made it. fault.Conflict: a controller uses the folder, or
// there is a state already and Force is not set. fault.Unauthorised: the folder is another user's.
func Restore(ctx context.Context, o RestoreOptions) (api.Restored, error) {
	b, err := inspect(o.File)
	out := api.Restored{Backup: b, DataDir: o.DataDir}
	if err != nil || o.Check {
		out.InUseBy = etcd.UserOf(o.DataDir)
		return out, err
	}
	fill := func(ctx context.Context, s state.Store) error {
		err := reading(o.File, func(b *backup.Backup) error { return state.CommitAll(ctx, s, puts(b.Entries())) })
		if err != nil {
			return err
		}
		if err := format.Open(ctx, s, o.Version); err != nil {
			return err
		}
		return beliefs.MarkRestored(ctx, s, b.Made)
	}
	if o.Config != nil {
		out.DataDir, err = restoreShared(ctx, o, fill)
		out.Done = err == nil
		return out, err
	}
	if members.InCluster(o.DataDir) {
		err := restoreCluster(ctx, o, &out, fill)
		return out, err
	}
	out.Aside, err = etcd.Replace(ctx, etcd.Replacement{Dir: o.DataDir, Logger: o.Logger, Aside: o.Force, Fill: fill})
	out.Done = err == nil
	return out, err
}

// restoreCluster makes the server, which is one of a cluster, the first one of a new cluster, with what fill puts in.
func restoreCluster(ctx context.Context, o RestoreOptions, out *api.Restored,
	fill func(context.Context, state.Store) error) error {
	if !o.Force {
		return fault.New(fault.Conflict, "app.restore", o.DataDir, errors.New("it is that of a server of a cluster: "+
			"with "+
			"--force this server becomes the first one of a new cluster, with the backup's state; stop all others "+
			"first, and have them join again afterwards (docs/guide/cluster.md)"))
	}
	begun, err := members.Restore(ctx, members.Here{DataDir: o.DataDir, Version: o.Version, Logger: o.Logger}, fill)
	out.Aside, out.Done = begun.Aside, err == nil
	return err
}

// restoreShared fills the etcd servers of the configuration, which hold no state of hale's yet, and says where they
// are. No server becomes active meanwhile; nor afterwards, when the filling was broken off.
func restoreShared(ctx context.Context, o RestoreOptions,
	fill func(context.Context, state.Store) error) (string, error) {
	const op = "app.restore"
	e := o.Config.Etcd
	if !e.Used() {
		return "", fault.New(fault.Invalid, op, "", errors.New("the configuration names no etcd servers: state.etcd"))
	}
	where := fmt.Sprintf("%s at %s", e.Prefix, strings.Join(e.Endpoints, ", "))
	opts, err := standby.Reach(ctx, e, o.Logger)
	if err != nil {
		return where, err
	}
	store, err := etcd.Connect(ctx, opts)
	if err != nil {
		return where, err
	}
	err = fillEmpty(ctx, store, where, fill)
	return where, errors.Join(err, store.Close())
}

func fillEmpty(ctx context.Context, store *etcd.Elsewhere, where string,
	fill func(context.Context, state.Store) error) error {
	const op = "app.restore"
	for e, err := range store.Scan(ctx, "") {
		if err != nil {
			return err
		}
		return fault.New(fault.Conflict, op, where, fmt.Errorf("there is a state already (%s): stop all servers, make "+
			"a backup of it, delete it (etcdctl del --prefix), and restore then", e.Key))
	}
	office, err := active.Become(ctx, store, active.Server{Name: "hale restore", Process: rand.Text()})
	if err != nil {
		return err
	}
	if err := fill(ctx, office); err != nil {
		return fmt.Errorf("%w; a part of the state may be there, and no server begins with it: delete it (etcdctl del "+
			"--prefix), and restore again", err)
	}
	return office.Vacate(ctx)
}

// puts are the writes that put the entries in.
func puts(entries iter.Seq2[state.Entry, error]) iter.Seq2[state.Write, error] {
	return func(yield func(state.Write, error) bool) {
		for e, err := range entries {
			if !yield(state.Put(e.Key, e.Value), err) {
				return
			}
		}
	}
}
