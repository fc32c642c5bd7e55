package api

import (
	"context"
	"io"
	"time"
)

// Backup says what a backup of the state is of.
type Backup struct {
	File         string        `json:"file"`
	Made         time.Time     `json:"made"`
	From         string        `json:"from,omitempty"` // FromController or FromDataFolder
	Hale         string        `json:"hale"`           // the version that made it
	Server       string        `json:"server"`         // where it was made
	Installation string        `json:"installation"`   // empty: no controller ever ran on that state
	Format       int           `json:"format"`         // of the state
	Fleets       []BackupFleet `json:"fleets"`         // by name
	Entries      int           `json:"entries"`
	Bytes        int64         `json:"bytes"` // of the file
}

// BackupFleet is a fleet in a backup.
type BackupFleet struct {
	Name     string `json:"name"`
	Machines int    `json:"machines"`
}

// Restored says what became of a restore.
type Restored struct {
	Backup
	DataDir string `json:"data_dir"`
	// Done says that it was restored; else it was only checked. Aside is where the state that was there before is now.
	Done  bool   `json:"done"`
	Aside string `json:"aside,omitempty"`
	// InUseBy is the process that uses the data folder, so that nothing can be restored there now. Empty: none does.
	InUseBy string `json:"in_use_by,omitempty"`
}

// Backup returns a backup of the state, as package backup reads it. The caller closes it.
func (c *Client) Backup(ctx context.Context) (io.ReadCloser, error) { return c.open(ctx, "/v1/backup") }
