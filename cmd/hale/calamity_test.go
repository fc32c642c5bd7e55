package main

import (
	"context"
	"slices"
	"syscall"
	"time"

	"hale/internal/testbed/etcdtest"
	"hale/internal/testbed/powercut"
)

// faults are all that can happen. One member at most is out at a time, but where all lose power.
func (s *storm) faults() []calamity {
	all := []calamity{
		{"a server is killed", s.killServer},
		{"a server stands still", s.pauseServer},
		{"a server is heard by no member", func(ctx context.Context) { s.cutServer(ctx, true, false) }},
		{"a server hears no member", func(ctx context.Context) { s.cutServer(ctx, false, true) }},
		{"a server and the members hear nothing of each other",
			func(ctx context.Context) { s.cutServer(ctx, true, true) }},
		{"a member is killed", s.killMember},
		{"a member stands still", s.pauseMember},
		{"a member is not heard by the others", s.cutMember},
		{"the provider's answers are lost", s.loseAnswers},
	}
	if s.disks != nil {
		all = append(all, []calamity{
			{"a member loses power", func(ctx context.Context) { s.powerOff(ctx, s.someMember()) }},
			{"all members lose power", func(ctx context.Context) { s.powerOff(ctx, 0, 1, 2) }},
			{"a member's disk is full", s.fillDisk},
		}...)
	}
	return slices.DeleteFunc(all, func(c calamity) bool { return s.only != nil && !s.only.MatchString(c.name) })
}

// lasting is how long a fault lasts.
func (s *storm) lasting() time.Duration {
	if s.short {
		return time.Second / 2
	}
	return time.Duration(s.dice.Int64N(int64(s.longest)))
}

// longLasting is how long one lasts that does little at first.
func (s *storm) longLasting() time.Duration {
	if s.short {
		return s.lasting()
	}
	return s.longest
}

// someServer is the active one, or any.
func (s *storm) someServer() *ending {
	if s.dice.IntN(2) == 0 || s.short {
		return s.all[s.names[s.dice.IntN(len(s.names))]]
	}
	all := (&wrecker{together: s.together, names: s.names, first: s.first}).offices()
	return s.all[all[len(all)-1].server]
}

func (s *storm) someMember() int { return s.dice.IntN(len(s.members)) }

func (s *storm) nameOf(e *ending) string {
	for name, other := range s.all {
		if other == e {
			return name
		}
	}
	return ""
}

func (s *storm) killServer(ctx context.Context) {
	e := s.someServer()
	e.must(e.hale.Process.Kill())
	<-e.ended
	pause(ctx, s.lasting())
	s.begin(s.nameOf(e))
}

func (s *storm) pauseServer(ctx context.Context) {
	e := s.someServer()
	e.must(e.hale.Process.Signal(syscall.SIGSTOP))
	pause(ctx, s.longLasting())
	e.must(e.hale.Process.Signal(syscall.SIGCONT))
}

// cutServer cuts a server off from all members, in one direction or in both.
func (s *storm) cutServer(ctx context.Context, there, back bool) {
	wires := s.wires[s.nameOf(s.someServer())]
	for _, w := range wires {
		if there {
			w.there.shut()
		}
		if back {
			w.way.shut()
		}
	}
	pause(ctx, s.lasting())
	for _, w := range wires {
		w.there.open()
		w.way.open()
	}
}

func (s *storm) killMember(ctx context.Context) {
	m := s.members[s.someMember()]
	m.Signal(syscall.SIGKILL)
	<-m.Ended()
	pause(ctx, s.lasting())
	s.back(m)
}

// back starts a member again, and waits until it is one of the cluster.
func (s *storm) back(all ...*etcdtest.Member) {
	for _, m := range all {
		m.Begin(s.log)
	}
	for _, m := range all {
		m.Ready()
	}
}

// loseAnswers has the provider do what it is asked for, and answer nothing.
func (s *storm) loseAnswers(ctx context.Context) {
	s.first.feel("lost")
	pause(ctx, s.longLasting())
	s.first.feel("late")
}

func (s *storm) pauseMember(ctx context.Context) {
	m := s.members[s.someMember()]
	m.Signal(syscall.SIGSTOP)
	pause(ctx, s.lasting())
	m.Signal(syscall.SIGCONT)
	m.Ready()
}

func (s *storm) cutMember(ctx context.Context) {
	i := s.someMember()
	s.peers[i].there.shut()
	pause(ctx, s.lasting())
	s.peers[i].there.open()
	s.members[i].Ready()
}

// powerOff cuts the power of members at once.
func (s *storm) powerOff(ctx context.Context, which ...int) {
	var all []*etcdtest.Member
	for _, i := range which {
		s.disks[i].Cut(powercut.Loss(s.dice.IntN(3)), s.dice)
		s.members[i].Signal(syscall.SIGKILL)
	}
	for _, i := range which {
		s.first.must(s.disks[i].Restore())
		<-s.members[i].Ended()
		all = append(all, s.members[i])
	}
	pause(ctx, s.lasting())
	s.back(all...)
}

// fillDisk fills a member's disk. It may end by that, and is started again when there is room.
func (s *storm) fillDisk(ctx context.Context) {
	i := s.someMember()
	s.disks[i].Fill()
	pause(ctx, s.lasting())
	s.disks[i].Empty()
	select {
	case <-s.members[i].Ended():
		s.back(s.members[i])
	default:
		s.members[i].Ready()
	}
}
