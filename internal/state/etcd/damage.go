package etcd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/schema"

	"hale/internal/core/fault"
)

// damage says what is wrong with the store, and the way out.
func damage(what error) error {
	return fmt.Errorf("the store is damaged: %w; hale restore BACKUP --force puts a backup in its place, and this "+
		"one aside", what)
}

// checkFiles reads what etcd is about to read, and says what of it is damaged. etcd meets most damage in goroutines of
// its own, and ends the process there.
func checkFiles(dir string) error {
	applied, err := checkDatabase(filepath.Join(dir, dataName, "member", "snap", "db"))
	if err == nil && applied > 0 {
		var logs []string
		if logs, err = filepath.Glob(filepath.Join(dir, dataName, "member", "wal", "*.wal")); err == nil &&
			len(logs) == 0 {
			err = errors.New("its log is missing (etcd/member/wal/*.wal)")
		}
	}
	if err != nil {
		return fault.New(fault.Permanent, "state.open", dir, damage(err))
	}
	return nil
}

// checkDatabase reads each entry of the database, in this goroutine, so that what a damaged page or a missing end
// makes of it is an error. It returns how far into the log the database has it; 0: nothing, or there is no database:
// then it follows from the log.
func checkDatabase(file string) (applied uint64, err error) {
	if info, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return 0, nil
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the file is read as memory, and may be too short
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its database cannot be read: %v", p)
		}
	}()
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return 0, fmt.Errorf("its database cannot be read: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.View(func(tx *bbolt.Tx) error {
		if meta := tx.Bucket(schema.Meta.Name()); meta != nil {
			if v := meta.Get(schema.MetaConsistentIndexKeyName); len(v) == 8 {
				applied = binary.BigEndian.Uint64(v)
			}
		}
		return tx.ForEach(func(_ []byte, bucket *bbolt.Bucket) error {
			return bucket.ForEach(func(_, _ []byte) error { return nil })
		})
	})
	return applied, err
}
