package lab

import (
	"fmt"
	"io"
)

// File types of a cpio entry, as in stat(2).
const (
	modeDir     = 0o040000
	modeRegular = 0o100000
	modeSymlink = 0o120000
	modeChar    = 0o020000
)

// cpioWriter writes the newc format, the one the kernel unpacks as an initramfs.
// The first error sticks and is returned by close.
type cpioWriter struct {
	w     io.Writer
	inode int
	off   int
	err   error
}

// entry writes one file. mode holds type and permissions; data is the content or the symlink's target.
func (c *cpioWriter) entry(name string, mode int, data []byte) {
	c.node(name, mode, 0, 0, data)
}

// node writes one file with a device number.
func (c *cpioWriter) node(name string, mode, major, minor int, data []byte) {
	c.inode++
	links := 1
	if mode&modeDir != 0 && mode&modeRegular == 0 {
		links = 2
	}
	c.print(fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		c.inode, mode, 0, 0, links, 0, len(data), 0, 0, major, minor, len(name)+1, 0))
	c.print(name + "\x00")
	c.pad()
	c.write(data)
	c.pad()
}

// close writes the trailer and returns the first error.
func (c *cpioWriter) close() error {
	c.inode = -1
	c.entry("TRAILER!!!", 0, nil)
	return c.err
}

func (c *cpioWriter) print(s string) { c.write([]byte(s)) }

func (c *cpioWriter) write(p []byte) {
	if c.err != nil {
		return
	}
	var n int
	n, c.err = c.w.Write(p)
	c.off += n
}

// pad fills up to the next multiple of four.
func (c *cpioWriter) pad() {
	c.write(make([]byte, (4-c.off%4)%4))
}
