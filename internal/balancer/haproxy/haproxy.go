// Package haproxy keeps the servers of an HAProxy's backend by its runtime API.
//
// A machine is the server of its own name: with slots declared beforehand (server-template web- 20) the machine web-3
// is the third of them. It promises that what it says was done is what HAProxy shows afterwards, and that an answer
// which cannot be read is none. HAProxy forgets at a reload what it was told: then it is told again by the caller, who
// looks.
package haproxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/balancer"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// Options are what a Pool is made of.
type Options struct {
	Name string // the balancer's, for errors
	// Socket is where HAProxy takes commands: the path of a socket, or host:port.
	Socket  string
	Backend string
	// Add is what a server is made with that the backend does not have, as "check inter 2s"; nil: none is made.
	Add *string
}

// Pool is one backend.
type Pool struct{ o Options }

var _ balancer.Pool = (*Pool)(nil)

// New makes a pool. It connects to nothing yet.
func New(o Options) *Pool { return &Pool{o} }

// Close implements balancer.Pool: each command has a connection of its own.
func (p *Pool) Close() {}

// Members implements balancer.Pool.
func (p *Pool) Members(ctx context.Context) ([]balancer.Member, error) {
	const op = "haproxy.members"
	now := time.Now()
	servers, err := p.table(ctx, op, "show servers state "+p.o.Backend)
	if err != nil {
		return nil, err
	}
	connections, err := p.connections(ctx, op)
	if err != nil {
		return nil, err
	}
	var out []balancer.Member
	for _, row := range servers {
		m, err := member(row, now)
		if err != nil {
			return nil, p.fail(fault.Transient, op, "", err.Error())
		}
		m.Connections = balancer.UnknownConnections
		if n, known := connections[string(m.Name)]; known {
			m.Connections = n
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b balancer.Member) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Set implements balancer.Pool. What HAProxy says to a command proves nothing: it is asked afterwards.
func (p *Pool) Set(ctx context.Context, name fleet.MachineName, w balancer.Want) error {
	const op = "haproxy.set"
	if err := w.Check(op, name); err != nil {
		return err
	}
	m, there, err := p.find(ctx, name)
	switch {
	case err != nil:
		return err
	case !there && w.State != balancer.Serving, there && w.Met(m):
		return nil
	case !there && p.o.Add == nil:
		return p.fail(fault.NotFound, op, name,
			fmt.Sprintf("backend %s has no server %s: declare as many as the fleet "+
				"may have (server-template)", p.o.Backend, name))
	}
	said, err := p.order(ctx, op, name, p.commands(name, m, there, w))
	if err != nil {
		return err
	}
	switch m, there, err := p.find(ctx, name); {
	case err != nil:
		return p.fail(fault.UnknownOutcome, op, name, "it was told, and then "+fault.Plain(err))
	case there && w.Met(m):
		return nil
	case strings.HasPrefix(said, "Permission denied"):
		return p.fail(fault.Unauthorised, op, name, "its socket takes no orders: give it level admin")
	case !there:
		return p.fail(fault.NotFound, op, name, cmp.Or(said, "it has no such server afterwards"))
	}
	return p.fail(fault.Transient, op, name, cmp.Or(said, "it did not do as told"))
}

// words are those for a state.
var words = map[balancer.State]string{
	balancer.Serving: "ready", balancer.Draining: "drain", balancer.Out: "maint",
}

// commands are what makes the member be as wanted, in their order: it has its address before it serves.
func (p *Pool) commands(name fleet.MachineName, m balancer.Member, there bool, w balancer.Want) []string {
	server := p.o.Backend + "/" + string(name)
	if !there {
		return []string{
			strings.TrimSpace(fmt.Sprintf("add server %s %s %s", server, w.At, *p.o.Add)), "enable health " + server,
			"set server " + server + " state ready",
		}
	}
	var out []string
	if w.State == balancer.Serving && m.At != w.At {
		out = append(out, fmt.Sprintf("set server %s addr %s port %d", server, w.At.Addr(), w.At.Port()))
	}
	return append(out, "set server "+server+" state "+words[w.State])
}

// order gives the commands, and returns what was said to the first that was answered with more than nothing.
func (p *Pool) order(ctx context.Context, op string, name fleet.MachineName, commands []string) (string, error) {
	first := ""
	for _, c := range commands {
		said, err := p.ask(ctx, op, c)
		switch {
		case err == nil:
			first = cmp.Or(first, short(said))
		case fault.Is(err, fault.UnknownOutcome) || first != "":
			return "", p.fail(fault.UnknownOutcome, op, name, fault.Plain(err))
		default:
			return "", err
		}
	}
	return first, nil
}

func (p *Pool) find(ctx context.Context, name fleet.MachineName) (balancer.Member, bool, error) {
	all, err := p.Members(ctx)
	i := slices.IndexFunc(all, func(m balancer.Member) bool { return m.Name == name })
	if err != nil || i < 0 {
		return balancer.Member{}, false, err
	}
	return all[i], true, nil
}

func (p *Pool) fail(kind fault.Kind, op string, name fleet.MachineName, why string) error {
	return fault.New(kind, op, cmp.Or(string(name), p.o.Name), errors.New(why))
}

// longestAnswer bounds what is read of an answer, in bytes: some ten thousand servers.
const longestAnswer = 4 << 20

// ask gives one command, and returns the answer. UnknownOutcome: it may have been heard.
func (p *Pool) ask(ctx context.Context, op, command string) (string, error) {
	network := "tcp"
	if strings.HasPrefix(p.o.Socket, "/") {
		network = "unix"
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, p.o.Socket)
	if err != nil {
		kind := fault.Transient
		if errors.Is(err, fs.ErrPermission) {
			kind = fault.Unauthorised
		}
		return "", p.fail(kind, op, "", err.Error())
	}
	defer func() { _ = c.Close() }() // the answer is there, or lost
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if _, err := io.WriteString(c, command+"\n"); err != nil {
		return "", p.fail(fault.UnknownOutcome, op, "", p.why(ctx, err))
	}
	said, err := io.ReadAll(io.LimitReader(c, longestAnswer+1))
	switch {
	case err != nil:
		return "", p.fail(fault.UnknownOutcome, op, "", p.why(ctx, err))
	case len(said) > longestAnswer:
		return "", p.fail(fault.UnknownOutcome, op, "", "its answer is too long")
	}
	return strings.TrimSpace(string(said)), nil
}

func (p *Pool) why(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "it did not answer in time"
	}
	return err.Error()
}

// question is ask for what changes nothing.
func (p *Pool) question(ctx context.Context, op, command string) (string, error) {
	said, err := p.ask(ctx, op, command)
	if fault.Is(err, fault.UnknownOutcome) {
		return "", p.fail(fault.Transient, op, "", fault.Plain(err))
	}
	return said, err
}

// noBackend is what HAProxy says of one that it does not have.
const noBackend = "Can't find backend."

// table asks for the state of the servers, and returns their rows by the names of the columns.
func (p *Pool) table(ctx context.Context, op, command string) ([]map[string]string, error) {
	said, err := p.question(ctx, op, command)
	if err != nil {
		return nil, err
	}
	if said == noBackend {
		return nil, p.fail(fault.NotFound, op, "", "it has no backend "+p.o.Backend)
	}
	lines := strings.Split(said, "\n")
	if len(lines) < 2 || lines[0] != "1" || !strings.HasPrefix(lines[1], "# ") {
		return nil, p.fail(fault.Transient, op, "", "its answer cannot be read: "+short(said))
	}
	return rows(lines[1:], strings.Fields)
}

// rows are the lines below the first, which names the columns.
func rows(lines []string, split func(string) []string) ([]map[string]string, error) {
	names := split(strings.TrimPrefix(lines[0], "# "))
	var out []map[string]string
	for _, line := range lines[1:] {
		values := split(line)
		if len(values) != len(names) {
			return nil, fault.New(fault.Transient, "haproxy.members", "", errors.New("its answer cannot be read: "+
				short(line)))
		}
		row := map[string]string{}
		for i, name := range names {
			row[name] = values[i]
		}
		out = append(out, row)
	}
	return out, nil
}

// connections returns how many each server has now.
func (p *Pool) connections(ctx context.Context, op string) (map[string]int, error) {
	const servers = "4"
	said, err := p.question(ctx, op, "show stat "+p.o.Backend+" "+servers+" -1")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(said, "\n")
	if !strings.HasPrefix(lines[0], "# ") {
		return nil, p.fail(fault.Transient, op, "", "its answer cannot be read: "+short(said))
	}
	all, err := rows(lines, func(line string) []string { return strings.Split(line, ",") })
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for _, row := range all {
		if n, err := strconv.Atoi(row["scur"]); err == nil && row["pxname"] == p.o.Backend {
			out[row["svname"]] = n
		}
	}
	return out, nil
}

// The bits and numbers of HAProxy's table of states.
const (
	adminMaintenance = 0x01 | 0x02 | 0x20 | 0x40 // by order, by a tracked server, by the resolver, by a host name
	adminDrain       = 0x08 | 0x10               // by order, by a tracked server
	checkEnabled     = 0x04
	checkPaused      = 0x08
	checkStarted     = 2 // a status of checks below: none has ended yet
	stateStopped     = 0
)

// member reads one row of the table.
func member(row map[string]string, now time.Time) (balancer.Member, error) {
	var bad error
	number := func(key string) int {
		n, err := strconv.Atoi(row[key])
		if err != nil {
			bad = fmt.Errorf("its answer cannot be read: %s is %q", key, short(row[key]))
		}
		return n
	}
	admin, state := number("srv_admin_state"), number("srv_op_state")
	check, checked := number("srv_check_state"), number("srv_check_status")
	age := number("srv_time_since_last_change")
	if bad != nil || row["srv_name"] == "" {
		return balancer.Member{}, cmp.Or(bad, errors.New("its answer cannot be read"))
	}
	m := balancer.Member{Name: fleet.MachineName(row["srv_name"]), State: balancer.Serving, Verdict: balancer.Unknown}
	switch {
	case admin&adminMaintenance != 0:
		m.State = balancer.Out
	case admin&adminDrain != 0:
		m.State = balancer.Draining
	}
	if a, err := netip.ParseAddr(row["srv_addr"]); err == nil {
		if port, err := strconv.ParseUint(row["srv_port"], 10, 16); err == nil {
			m.At = netip.AddrPortFrom(a, uint16(port))
		}
	}
	if check&checkEnabled == 0 || check&checkPaused != 0 || checked < checkStarted {
		return m, nil
	}
	m.Verdict, m.Since = balancer.Up, now.Add(-time.Duration(age)*time.Second)
	if state == stateStopped {
		m.Verdict = balancer.Down
	}
	return m, nil
}

// short is the first line of what was said, as far as it can be shown.
func short(said string) string {
	const longest = 200
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	line = strings.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, ""))
	return line[:min(len(line), longest)]
}
