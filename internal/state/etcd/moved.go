package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrMoved is the cause of the store's end when its folder is not at its path any more. etcd itself would go on writing
// into the folder where it is now, while another hale could begin an empty one at the path.
var ErrMoved = errors.New("the data folder is not there any more")

// movedError says what became of the folder, and what to do.
type movedError string

func (e movedError) Error() string { return string(e) }

// Is has it be ErrMoved.
func (movedError) Is(target error) bool { return target == ErrMoved }

// movedEvery is the time between two looks at whether the folder is still the one that was opened.
const movedEvery = time.Second

// place is a path, and what was there when the store was opened.
type place struct {
	path string
	was  os.FileInfo
}

// placesOf are the folder and what etcd has in it.
func placesOf(dir string) ([]place, error) {
	var all []place
	for _, path := range []string{dir, filepath.Join(dir, dataName)} {
		was, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		all = append(all, place{path, was})
	}
	return all, nil
}

// moved is ErrMoved with what happened; nil: everything is in its place, or it cannot be told.
func moved(dir string, places []place) error {
	for _, p := range places {
		is, err := os.Stat(p.path)
		var how string
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
			how = "was moved away or removed"
		case err == nil && !os.SameFile(p.was, is):
			how = "is another one than the one that hale opened"
		default:
			continue // an error of the disk ends the store by itself, where it must
		}
		return movedError(
			fmt.Sprintf("the data folder %s is lost: %s %s while hale ran, so hale ends and touches no machine; "+
				"put the folder back and start hale, or bring the state back with hale restore", dir, p.path, how),
		)
	}
	return nil
}

// keepPlace fails the store as a whole when its folder is not in its place any more.
func (s *Store) keepPlace(places []place) {
	beat := time.NewTicker(movedEvery)
	defer beat.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-beat.C:
		}
		if err := moved(s.space.dir, places); err != nil {
			s.member.failed.set(err)
			return
		}
	}
}
