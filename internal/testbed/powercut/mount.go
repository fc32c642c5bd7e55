package powercut

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Mounted is a disk in a folder, for other processes: a test that uses the folder itself may wait for itself.
type Mounted struct {
	*Disk
	Dir    string
	server *fuse.Server
}

// timeout is for how long the kernel may believe what it was told: nobody else changes anything.
const timeout = time.Hour

// ErrNot says that no file system of a process's own can be mounted here.
var ErrNot = errors.New("no disk can be mounted whose power can be cut: that needs /dev/fuse, and root")

// Mount mounts an empty disk until the test ends. ErrNot: that cannot be done on this machine.
func Mount(t testing.TB) (*Mounted, error) {
	t.Helper()
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNot, err)
	} else if err := f.Close(); err != nil {
		return nil, err
	}
	m := &Mounted{Disk: New(), Dir: t.TempDir()}
	if err := m.mount(); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			err = fmt.Errorf("%w: %w", ErrNot, err)
		}
		return nil, err
	}
	t.Cleanup(func() {
		m.restore()
		if err := m.unmount(); err != nil {
			t.Error(err)
		}
	})
	return m, nil
}

// Restore brings the power back, and with it what the disk holds. Who used it before the cut must have been told to
// end, and fails now.
func (m *Mounted) Restore() error {
	m.restore()
	return errors.Join(m.unmount(), m.mount())
}

func (m *Mounted) mount() error {
	long := timeout
	var err error
	m.server, err = fs.Mount(m.Dir, &node{disk: m.Disk, is: root}, &fs.Options{
		EntryTimeout: &long, AttrTimeout: &long,
		RootStableAttr: &fs.StableAttr{Mode: fuse.S_IFDIR, Ino: uint64(root)},
		MountOptions: fuse.MountOptions{
			FsName: "powercut", Name: "powercut", DirectMountStrict: true, DisableXAttrs: true, MaxWrite: 1 << 20,
			// It tells of what the kernel asks for and does without.
			Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
		},
	})
	return err
}

// unmount ends the mount, also where a process is not quite gone that used it.
func (m *Mounted) unmount() error {
	if err := unix.Unmount(m.Dir, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", m.Dir, err)
	}
	return nil
}

// node is a file or folder of the disk as the kernel asks for it.
type node struct {
	fs.Inode
	disk *Disk
	is   number
}

var (
	_ fs.NodeLookuper  = (*node)(nil)
	_ fs.NodeReaddirer = (*node)(nil)
	_ fs.NodeCreater   = (*node)(nil)
	_ fs.NodeMkdirer   = (*node)(nil)
	_ fs.NodeUnlinker  = (*node)(nil)
	_ fs.NodeRmdirer   = (*node)(nil)
	_ fs.NodeRenamer   = (*node)(nil)
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeReader    = (*node)(nil)
	_ fs.NodeWriter    = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
	_ fs.NodeStatfser  = (*node)(nil)
)

// attributes says what the kernel wants to know of a thing.
func (n *node) attributes(of number, out *fuse.Attr) syscall.Errno {
	return n.disk.use(of, func(i *item) syscall.Errno {
		out.Ino, out.Mode, out.Nlink, out.Blksize = uint64(of), fuse.S_IFDIR|0o700, 1, page
		out.Uid, out.Gid = uint32(os.Geteuid()), uint32(os.Getegid()) //nolint:gosec // neither is negative on Linux
		if i.content != nil {
			out.Mode, out.Size = fuse.S_IFREG|0o600, uint64(i.size) //nolint:gosec // no size is negative
			out.Blocks = uint64(len(i.pages)) * page / sector
		}
		return 0
	})
}

func (n *node) child(ctx context.Context, is number, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if err := n.attributes(is, &out.Attr); err != 0 {
		return nil, err
	}
	return n.NewInode(ctx, &node{disk: n.disk, is: is}, fs.StableAttr{Mode: out.Mode, Ino: uint64(is)}), 0
}

// Lookup implements fs.NodeLookuper.
func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	var is number
	err := n.disk.use(n.is, func(i *item) syscall.Errno {
		if is = i.names[name]; is == 0 {
			return syscall.ENOENT
		}
		return 0
	})
	if err != 0 {
		return nil, err
	}
	return n.child(ctx, is, out)
}

// Readdir implements fs.NodeReaddirer.
func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	var all []fuse.DirEntry
	err := n.disk.use(n.is, func(i *item) syscall.Errno {
		for _, name := range slices.Sorted(maps.Keys(i.names)) {
			mode := uint32(fuse.S_IFREG)
			if n.disk.items[i.names[name]].content == nil {
				mode = fuse.S_IFDIR
			}
			all = append(all, fuse.DirEntry{Name: name, Ino: uint64(i.names[name]), Mode: mode})
		}
		return 0
	})
	return fs.NewListDirStream(all), err
}

// Create implements fs.NodeCreater.
//
//nolint:revive // four results, as the interface has it
func (n *node) Create(ctx context.Context, name string, _, _ uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle,
	uint32, syscall.Errno) {
	made, err := n.disk.enter(n.is, name, &item{content: newContent()})
	if err != 0 {
		return nil, nil, 0, err
	}
	is, err := n.child(ctx, made, out)
	return is, nil, 0, err
}

// Mkdir implements fs.NodeMkdirer.
func (n *node) Mkdir(ctx context.Context, name string, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	made, err := n.disk.enter(n.is, name, newFolder())
	if err != 0 {
		return nil, err
	}
	return n.child(ctx, made, out)
}

// Unlink implements fs.NodeUnlinker.
func (n *node) Unlink(_ context.Context, name string) syscall.Errno { return n.disk.remove(n.is, name) }

// Rmdir implements fs.NodeRmdirer.
func (n *node) Rmdir(_ context.Context, name string) syscall.Errno { return n.disk.remove(n.is, name) }

// Rename implements fs.NodeRenamer.
func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	target, known := to.EmbeddedInode().Operations().(*node)
	if !known || flags != 0 {
		return syscall.EINVAL
	}
	return n.disk.move(n.is, name, target.is, newName)
}

// Getattr implements fs.NodeGetattrer.
func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return n.attributes(n.is, &out.Attr)
}

// Setattr implements fs.NodeSetattrer.
func (n *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, given := in.GetSize(); given {
		err := n.disk.use(n.is, func(i *item) syscall.Errno {
			i.resize(int64(size)) //nolint:gosec // the kernel's sizes are signed
			return 0
		})
		if err != 0 {
			return err
		}
	}
	return n.attributes(n.is, &out.Attr)
}

// Open implements fs.NodeOpener. What was read stays in the kernel's memory: nobody changes it but by way of the
// kernel.
func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, n.disk.use(n.is, func(i *item) syscall.Errno {
		if flags&unix.O_TRUNC != 0 {
			i.resize(0)
		}
		return 0
	})
}

// Read implements fs.NodeReader.
func (n *node) Read(_ context.Context, _ fs.FileHandle, to []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	err := n.disk.use(n.is, func(i *item) syscall.Errno {
		to = to[:i.read(to, at)]
		return 0
	})
	return fuse.ReadResultData(to), err
}

// Write implements fs.NodeWriter.
func (n *node) Write(_ context.Context, _ fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	err := n.disk.use(n.is, func(i *item) syscall.Errno {
		if n.disk.full && i.needsRoom(at, int64(len(data))) {
			return syscall.ENOSPC
		}
		i.write(data, at)
		return 0
	})
	return uint32(len(data)), err //nolint:gosec // the kernel asks for MaxWrite at most
}

// Fsync implements fs.NodeFsyncer.
func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return n.disk.use(n.is, func(i *item) syscall.Errno {
		i.sync()
		n.disk.syncs++
		return 0
	})
}

// Statfs implements fs.NodeStatfser.
func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	return n.disk.use(root, func(*item) syscall.Errno {
		out.Bsize, out.Frsize, out.NameLen = page, page, 255
		out.Blocks = 16 << 30 / page
		if !n.disk.full {
			out.Bfree, out.Bavail = out.Blocks/2, out.Blocks/2
		}
		return 0
	})
}
