package bmc

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	controller "github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/hal"
	"github.com/bougou/go-ipmi/pkg/hal/mock"
	"github.com/bougou/go-ipmi/pkg/server"
)

// silence is how long IPMI stays silent when it loses the answer to an order. It does not answer repeated requests
// either.
const silence = 3 * time.Second

// ServeIPMI answers IPMI 2.0 over the connection, about the same machine and with the same faults, until ctx ends; then
// the connection is closed. One user may do all: User, with Password.
func (c *Controller) ServeIPMI(ctx context.Context, conn net.PacketConn) error {
	side := &lan{PacketConn: conn, c: c}
	made := mock.New()
	b := controller.New(controller.DeviceInfo{DeviceID: 32, IPMIVersion: 0x20, FirmwareMajor: 1}, [16]byte{0xa1, 0x23},
		&board{made, &chassis{made.Chassis(), c, side}})
	user, err := b.Users.Add(2, User)
	if err != nil {
		return err
	}
	user.SetPassword([]byte(Password))
	user.Enabled = true
	user.ChannelAccess[1] = controller.UserChannelAccess{
		MaxPrivilege: controller.PrivilegeLevelAdministrator,
		Enabled:      true,
	}
	s := server.NewServer(b, side)
	stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // which ends Serve
	defer stop()
	return s.Serve(context.WithoutCancel(ctx))
}

// lan is the connection, on which the faults are.
type lan struct {
	net.PacketConn
	c      *Controller
	silent atomic.Int64 // until then, in nanoseconds since 1970
}

// WriteTo says nothing where the controller is dead, or its answer is lost.
func (l *lan) WriteTo(b []byte, to net.Addr) (int, error) {
	if l.c.now().Dead || time.Now().UnixNano() < l.silent.Load() {
		return len(b), nil
	}
	return l.PacketConn.WriteTo(b, to)
}

// board is a server's hardware. Only its power is real.
type board struct {
	*mock.HAL
	power *chassis
}

func (b *board) Chassis() hal.ChassisHAL { return b.power }

// chassis switches the controller's machine.
type chassis struct {
	hal.ChassisHAL
	c    *Controller
	side *lan
}

func (p *chassis) PowerState(context.Context) (bool, error) {
	f := p.c.now()
	<-time.After(f.Slow)
	on, err := p.c.machine.On()
	return on && !f.Lies, err
}

func (p *chassis) SetPower(_ context.Context, on bool) error {
	f := p.c.now()
	<-time.After(f.Slow)
	wanted := Off
	if on {
		wanted = On
	}
	was, err := p.c.machine.On()
	if err != nil || was == on {
		return err
	}
	if f.AnswerLost {
		p.side.silent.Store(time.Now().Add(silence).UnixNano())
	}
	return p.c.order(f, wanted)
}
