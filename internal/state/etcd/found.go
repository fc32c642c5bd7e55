package etcd

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// sourceName is where a copy of the old store is read while the new one is made.
const sourceName = "etcd.source"

// Found makes the folder's store that of the first server of a new cluster. What it holds goes into the new one, which
// is another etcd cluster: whoever was of the old one is none of it. The old one is kept aside; it returns where.
//
// fault.Conflict: a process uses the folder. Other errors are those of Replace.
func Found(ctx context.Context, opts Options, m Membership, fill func(context.Context, state.Store) error) (
	aside string, err error) {
	if err := opts.complete(); err != nil {
		return "", fault.New(fault.Invalid, "state.found", opts.Dir, err)
	}
	if fill == nil {
		fill = Refill(opts, nil)
	}
	m.Others = nil
	return Replace(ctx, Replacement{Dir: opts.Dir, Logger: opts.Logger, Aside: true, Fill: fill, as: &m})
}

// lasting are the writes that put entries into another store: what is under a lease has ended by then.
func lasting(entries iter.Seq2[state.Entry, error]) iter.Seq2[state.Write, error] {
	return func(yield func(state.Write, error) bool) {
		for e, err := range entries {
			if err == nil && (e.Lease != 0 || strings.HasPrefix(e.Key, state.ClusterPrefix)) {
				continue
			}
			if !yield(state.Put(e.Key, e.Value), err) {
				return
			}
		}
	}
}

// withCopy does something with a copy of a store that no server has open. Without one, it does nothing.
func withCopy(ctx context.Context, opts Options, data, to string, do func(state.Scanner) error) (err error) {
	if _, err := os.Stat(data); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.RemoveAll(to); err != nil {
		return fault.New(fault.Permanent, "state.copy", to, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(to)) }()
	if err := os.CopyFS(filepath.Join(to, dataName), os.DirFS(data)); err != nil {
		return fault.New(fault.Permanent, "state.copy", data, err)
	}
	opts.Dir = to
	s, err := OpenAlone(ctx, opts)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// OpenAlone opens a folder's store without the other servers of its cluster, if it has any: what a majority was not yet
// known to have is not in it, and the server goes on without the others. It is for copies.
func OpenAlone(ctx context.Context, opts Options) (*Store, error) {
	opts.alone = true
	return Open(ctx, opts)
}

// forced has a server of a cluster go on without the others.
func forced(cfg *embed.Config) { cfg.ForceNewCluster = true }

// draw makes the new store in a folder of its own.
func draw(ctx context.Context, dir string, r Replacement) error {
	opts := Options{Dir: dir, Logger: r.Logger}
	if r.as == nil {
		s, err := Open(ctx, opts)
		if err != nil {
			return err
		}
		if err := errors.Join(r.Fill(ctx, s), s.Close()); err != nil {
			return err
		}
		return syncFolder(dir)
	}
	s, err := Belong(ctx, opts, *r.as)
	if err != nil {
		return err
	}
	err = s.Await(ctx)
	if err == nil {
		err = r.Fill(ctx, s)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	return syncFolder(dir)
}

// lookEvery is how often Await asks.
const lookEvery = 100 * time.Millisecond

// Await returns when the cluster answers, or ctx ends.
func (o *Own) Await(ctx context.Context) error {
	for {
		err := o.Answers(ctx)
		if err == nil || !fault.Is(err, fault.Transient) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lookEvery):
		}
	}
}

// Answers is nil when the cluster does. fault.Transient: not now, as without the majority.
func (o *Own) Answers(ctx context.Context) error {
	if _, err := o.Get(ctx, "any"); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}

// Refill is a fill for Found: what the folder's store has, and what then adds.
func Refill(opts Options, then func(context.Context, state.Store) error) func(context.Context, state.Store) error {
	return func(ctx context.Context, to state.Store) error {
		err := withCopy(ctx, opts, filepath.Join(opts.Dir, dataName), filepath.Join(opts.Dir, sourceName),
			func(from state.Scanner) error { return state.CommitAll(ctx, to, lasting(from.Scan(ctx, ""))) })
		if err != nil || then == nil {
			return err
		}
		return then(ctx, to)
	}
}

// PutAside puts a folder's store aside, and says where it is; empty: there is none.
func PutAside(dir string) (aside string, err error) {
	lock, err := lockFolder(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	data := filepath.Join(dir, dataName)
	if _, err := os.Lstat(data); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	aside = asideName(data)
	if err := errors.Join(os.Rename(data, aside), syncFolder(dir)); err != nil {
		return "", fault.New(fault.Permanent, "state.aside", dir, err)
	}
	return aside, nil
}

func asideName(data string) string {
	return data + ".before-" + time.Now().UTC().Format("20060102T150405.000Z")
}
