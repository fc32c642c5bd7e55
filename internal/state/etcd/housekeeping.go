package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"hale/internal/core/fault"
)

const (
	housekeepingEvery = time.Minute
	pauseAfterHelp    = 100 * time.Millisecond
	pauseInVain       = 10 * time.Second // what fills the store is alive
	wasteWorthwhile   = 64 << 20         // bytes of free pages below which a defragmentation is not worth its pause
)

// keepHouse makes room once a minute, and soon when the quota is near. It also syncs the names of the files that etcd
// made or replaced since, as its snapshots.
func (s *Store) keepHouse() {
	regular := time.NewTicker(housekeepingEvery)
	defer regular.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-regular.C:
		case <-s.space.relief:
		}
		_, err := await(s.ctx, s.calls, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, errors.Join(s.makeRoom(ctx), syncNames(s.space.dir))
		})
		if err != nil && s.ctx.Err() == nil {
			s.log.Warn("state engine: making room failed", "error", err)
		}
		pause := pauseAfterHelp
		if s.space.isTight() {
			pause = pauseInVain
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// makeRoom forgets history when data fills four fifths of the quota, gives pages back to the
// file system when half of them are free, and ends etcd's quota alarm once there is room.
func (s *Store) makeRoom(ctx context.Context) error {
	backend := s.member.etcd.Server.Backend()
	alarmed := s.space.alarmed.Load()
	if s.space.isTight() {
		if err := s.compact(ctx); err != nil {
			return err
		}
	}
	size, used := backend.Size(), backend.SizeInUse()
	if waste := size - used; alarmed || waste > max(wasteWorthwhile, size/2) {
		if err := s.member.etcd.Server.Defragment(); err != nil {
			return fmt.Errorf("defragment: %w", err)
		}
		s.log.Info("state engine: defragmented", "before_bytes", size, "after_bytes", backend.Size())
	}
	if alarmed && backend.Size() < s.space.quota {
		if err := s.disarm(ctx); err != nil {
			return fmt.Errorf("end the quota alarm: %w", err)
		}
		s.space.alarmed.Store(false)
	}
	return nil
}

// compact forgets all history up to now and waits until its pages are free.
func (s *Store) compact(ctx context.Context) error {
	now, err := s.client.Get(ctx, "\x00", clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("read the revision: %w", err)
	}
	_, err = s.client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
	if err != nil && kindOf(err, reading) != fault.NotFound {
		return fmt.Errorf("compact: %w", err)
	}
	s.member.etcd.Server.Backend().ForceCommit()
	return nil
}

func (s *Store) disarm(ctx context.Context) error {
	active, err := s.client.AlarmList(ctx)
	if err != nil {
		return err
	}
	for _, alarm := range active.Alarms {
		if alarm.Alarm == pb.AlarmType_NOSPACE {
			if _, err := s.client.AlarmDisarm(ctx, (*clientv3.AlarmMember)(alarm)); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteAlarm learns whether etcd's alarm is still on from an earlier run.
func (s *Store) noteAlarm(ctx context.Context) error {
	active, err := s.client.AlarmList(ctx)
	if err != nil {
		return err
	}
	for _, alarm := range active.Alarms {
		if alarm.Alarm == pb.AlarmType_NOSPACE {
			s.space.alarmed.Store(true)
			s.space.askForRelief()
		}
	}
	return nil
}

// revokeAll ends all leases. A lone member that holds the folder's lock knows that their
// holder is dead: waiting for them to expire would only prolong the blindness.
func (s *Store) revokeAll(ctx context.Context) error {
	held, err := s.client.Leases(ctx)
	if err != nil {
		return err
	}
	for _, lease := range held.Leases {
		if _, err := s.client.Revoke(ctx, lease.ID); err != nil && kindOf(err, renewing) != fault.NotFound {
			return err
		}
	}
	return nil
}
