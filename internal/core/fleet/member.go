package fleet

// BalancerName names a load balancer's pool in the configuration.
type BalancerName string

// MemberState is what a pool was told of a member.
type MemberState string

// The states.
const (
	MemberServes MemberState = "serving"  // it gets connections, as long as the pool finds it up
	MemberDrains MemberState = "draining" // it gets no new ones, and those that it has go on
	MemberOut    MemberState = "out"      // it gets none, or the pool has no such member
)

// MemberVerdict is what a pool itself finds of a member.
type MemberVerdict string

// The verdicts.
const (
	MemberUp      MemberVerdict = "up"
	MemberDown    MemberVerdict = "down"
	MemberUnknown MemberVerdict = "unknown"
)

// ConnectionsUnknown stands for a number of connections that the pool does not tell.
const ConnectionsUnknown = -1

// Membership is a machine in a pool, as the pool said when it was asked last. A pool that does not answer has the one
// of its last answer, and one that never did has none: it is for the reader to look at Asked.
type Membership struct {
	Balancer    BalancerName
	State       MemberState
	Verdict     MemberVerdict
	Connections int // or ConnectionsUnknown
	// Asked is when the pool was asked.
	Asked Instant
	// Last says that it serves although it should not, since nothing else in the pool does.
	Last bool
	// Failed says that the pool was told of that state, and could not do it: it may send to it as before.
	Failed bool
}

// PoolWord is what one pool said last of all its members.
type PoolWord struct {
	Balancer BalancerName
	// Rev rises with each answer.
	Rev uint64
	// Asked is when it was asked.
	Asked Instant
	// Members are those that it has, by machine.
	Members map[MachineName]Membership
}

// Of is what the pool says of the machine. One that it does not have is out.
func (w *PoolWord) Of(m MachineName) Membership {
	is, there := w.Members[m]
	if !there {
		is = Membership{State: MemberOut, Verdict: MemberUnknown, Connections: ConnectionsUnknown}
	}
	is.Balancer, is.Asked = w.Balancer, w.Asked
	return is
}

// Same reports whether the two say the same, whenever they were asked for.
func (m Membership) Same(o Membership) bool {
	m.Asked, o.Asked = 0, 0
	return m == o
}
