package etcd

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// Replacement says how a folder gets another store.
type Replacement struct {
	Dir    string // made if it does not exist
	Logger *slog.Logger
	// Aside lets a store that is there be put aside. Without it, there may be none.
	Aside bool
	// Fill puts into the new store what it is to hold.
	Fill func(ctx context.Context, s state.Store) error

	as *Membership // the new store is of this server; nil: of a lone one
}

// errOccupied is why a folder is left as it is.
var errOccupied = errors.New("there is a store already")

// Replace makes a store in the folder, in the place of the one that may be there, which is kept aside: it returns
// where. The new store takes its place only when it is whole and on disk; until then, after any error and after a
// crash, the folder's store is as it was. A crash in the very moment of the change leaves a folder that Open refuses
// until Replace was done again: never an empty one.
//
// fault.Conflict: a process uses the folder, or it has a store and Aside is not set. fault.NoSpace: there is no room.
// fault.Permanent: the folder cannot be changed. Other errors are those of Fill.
func Replace(ctx context.Context, r Replacement) (aside string, err error) {
	const op = "state.replace"
	lock, err := lockFolder(r.Dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	data, draft := filepath.Join(r.Dir, dataName), filepath.Join(r.Dir, draftName)
	_, err = os.Stat(data)
	occupied := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fault.New(fault.Permanent, op, r.Dir, err)
	}
	if occupied && !r.Aside {
		return "", fault.New(fault.Conflict, op, r.Dir, errOccupied)
	}
	if err := os.RemoveAll(draft); err != nil { // of one that did not come to its end
		return "", fault.New(fault.Permanent, op, r.Dir, err)
	}
	if err := draw(ctx, draft, r); err != nil {
		if !occupied {
			return "", err // the draft stays: the folder is not an empty one
		}
		return "", errors.Join(err, os.RemoveAll(draft))
	}
	if occupied {
		aside = asideName(data)
		if err := os.Rename(data, aside); err != nil {
			return "", fault.New(fault.Permanent, op, r.Dir, err)
		}
	}
	if err := os.Rename(filepath.Join(draft, dataName), data); err != nil {
		return aside, fault.New(fault.Permanent, op, r.Dir, err)
	}
	if err := errors.Join(syncFolder(r.Dir), os.RemoveAll(draft)); err != nil {
		return aside, fault.New(fault.Permanent, op, r.Dir, err)
	}
	return aside, nil
}

// syncFolder makes sure that the names in a folder are on disk.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncNames makes sure that the names in a folder, and in all below it, are on disk. etcd syncs what it writes, and not
// everywhere the folder that it writes it in: most file systems keep a file's name when the file is synced, but none
// has to.
func syncNames(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncFolder(path)
	})
}
