package openstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/provider"
)

// listing is what the adapter knows of all servers, so that between two full lists it asks for changes only. One call
// at a time uses it.
type listing struct {
	servers map[string]*server // by Nova's id; nil: not known
	full    time.Time          // when the last full list was asked for
	since   time.Time          // by Nova's clock: what changed later is not in servers yet
	who     string             // the project and user of these servers: a session's who
	// addresses are the hypervisors' own.
	addresses addresses
}

const (
	pageSize = 200 // servers; each may have all the user data that Nova takes, see limits
	// overlap is asked for again, since a change shows when it is committed, later than its time.
	overlap = 30 * time.Second
	// mostPages ends a list that does not end by itself.
	mostPages = 500
)

// Identity returns the id of the project and the region, after Keystone said that the token is still for that project.
// Credentials that stand in clouds.yaml by now are those that count. Who asks at the same time shares an answer.
func (p *Provider) Identity(ctx context.Context) (map[fleet.HostName]string, error) {
	c, err := p.open(ctx, "openstack.identity", "")
	if err != nil {
		return nil, err
	}
	defer c.end()
	c.lane = openLane
	if err := c.renew(); err != nil {
		return nil, err
	}
	project, err := p.projects.Ask(c, struct{}{}, c.askProject)
	if err != nil {
		return nil, c.shared(err)
	}
	return map[fleet.HostName]string{"": project + "@" + c.where.Region}, nil
}

func (c *call) askProject() (string, error) {
	var got struct {
		Token struct {
			Project struct {
				ID string `json:"id"`
			} `json:"project"`
		} `json:"token"`
	}
	_, err := c.send(c.keys, request{
		method: http.MethodGet,
		url:    c.keys.ServiceURL("auth", "tokens") + "?nocatalog",
		into:   &got,
		ok:     []int{http.StatusOK},
		header: map[string]string{"X-Subject-Token": c.auth.Token()},
	})
	switch {
	case fault.Is(err, fault.NotFound): // Keystone's word for a token that has expired; the next call gets another
		c.p.forget(c.session)
		return "", c.fault(fault.Transient, err)
	case err == nil && got.Token.Project.ID == "":
		return "", c.fault(fault.Transient, errors.New("keystone names no project"))
	}
	return got.Token.Project.ID, err
}

// shared translates an error of asking together: that the time is over, of this call or of the one that asked for it.
func (c *call) shared(err error) error {
	if known := (*fault.Error)(nil); errors.As(err, &known) {
		return err
	}
	return c.fault(fault.Transient, err)
}

// List asks for what changed since the last time, and now and then for everything: see DESIGN.md. Who asks at the same
// time shares an answer.
func (p *Provider) List(ctx context.Context) (provider.Listing, error) {
	c, err := p.open(ctx, "openstack.list", "")
	if err != nil {
		return provider.Listing{}, err
	}
	defer c.end()
	c.lane = openLane
	out, err := p.lists.Ask(c, struct{}{}, c.listNow)
	if err != nil {
		return provider.Listing{}, c.shared(err)
	}
	out.Instances = slices.Clone(out.Instances)
	return out, nil
}

func (c *call) listNow() (provider.Listing, error) {
	l := &c.p.list
	sound := false
	defer func() {
		if !sound {
			l.full = time.Time{} // whatever happened, the next one is full
		}
	}()
	if err := c.refresh(l); err != nil {
		return provider.Listing{}, err
	}
	sound = true
	hosts, err := c.hypervisors()
	if err != nil {
		return provider.Listing{}, err
	}
	var at map[string]netip.Addr
	if len(hosts) > 0 {
		at = c.addresses()
	}
	return c.listed(l, hosts, at), nil
}

// refresh brings what is known up to date.
func (c *call) refresh(l *listing) error {
	if was := l.who; was != c.who() { // nothing of what was known counts
		l.servers, l.who = nil, c.who()
		if was != "" { // the caller must check the identity before it believes a list
			return c.elsewhere(was, l.who)
		}
	}
	began := time.Now()
	if l.servers != nil && began.Sub(l.full) < c.p.options.FullEvery {
		changed, asked, err := c.servers(url.Values{
			"changes-since": {l.since.Add(-overlap).UTC().Format(time.RFC3339)},
		})
		if err != nil {
			return err
		}
		l.apply(changed)
		l.since = asked
		return nil
	}
	all, asked, err := c.servers(url.Values{})
	if err != nil {
		return err
	}
	whole := map[string]*server{}
	for _, s := range all {
		whole[s.ID] = s
	}
	if err := c.credible(l, whole); err != nil {
		return err
	}
	l.servers, l.full, l.since = whole, began, asked
	return nil
}

// apply takes in what changed; servers that were deleted are among it.
func (l *listing) apply(changed []*server) {
	for _, s := range changed {
		if s.gone() {
			delete(l.servers, s.ID)
			continue
		}
		l.servers[s.ID] = s
	}
}

// credible judges a full list by what it does not show any more. A list of changes has the deleted servers, too. If it
// has none and most of the known servers are missing, another project or an empty database answers. What is only set
// aside is in no full list either, and is kept, since it can be restored.
func (c *call) credible(l *listing, whole map[string]*server) error {
	missing := map[string]bool{}
	for id := range l.servers {
		if whole[id] == nil {
			missing[id] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	changed, _, err := c.servers(url.Values{"changes-since": {l.since.Add(-overlap).UTC().Format(time.RFC3339)}})
	if err != nil {
		return err
	}
	for _, s := range changed {
		switch {
		case s.gone():
			delete(missing, s.ID)
		case missing[s.ID]:
			l.servers[s.ID] = s
		}
	}
	for id := range missing {
		if s := l.servers[id]; s.Status == statusSoftDeleted {
			whole[id] = s
			delete(missing, id)
		}
	}
	if 2*len(missing) > len(l.servers) {
		return c.fault(fault.Transient,
			fmt.Errorf("%w: %d of %d servers are missing from the list, and none of these was deleted",
				provider.ErrDoubtful, len(missing), len(l.servers)))
	}
	return nil
}

// servers reads a list of servers in detail, page after page, and the time of the question by Nova's clock.
func (c *call) servers(query url.Values) ([]*server, time.Time, error) {
	query.Set("limit", fmt.Sprint(pageSize))
	var all []*server
	var asked time.Time
	var turned Turning
	for {
		var page struct {
			Servers *rows[*server] `json:"servers"`
			Links   []struct {
				Rel string `json:"rel"`
			} `json:"servers_links"`
		}
		header, err := c.send(c.compute, request{
			method: http.MethodGet,
			url:    c.compute.ServiceURL("servers", "detail") + "?" + query.Encode(),
			into:   &page,
			ok:     []int{http.StatusOK},
		})
		if err != nil {
			return nil, asked, c.listFault(err)
		}
		if page.Servers == nil {
			return nil, asked, c.fault(fault.Transient, errors.New("the answer is no list of servers"))
		}
		if asked.IsZero() {
			asked = dateOf(header)
		}
		for _, s := range *page.Servers {
			if s.Project != "" && s.Project != c.project {
				return nil, asked, c.fault(fault.Transient,
					fmt.Errorf("%w: it lists servers of project %s, and the token is for %s",
						provider.ErrDoubtful, s.Project, c.project))
			}
			all = append(all, s)
		}
		more := slices.ContainsFunc(page.Links, func(l struct {
			Rel string `json:"rel"`
		}) bool {
			return l.Rel == "next"
		})
		if !more || len(*page.Servers) == 0 {
			return all, asked, nil
		}
		marker := (*page.Servers)[len(*page.Servers)-1].ID
		if err := turned.Over(marker); err != nil {
			return nil, asked, c.fault(fault.Transient, err)
		}
		query.Set("marker", marker)
	}
}

// Turning is the pages of a list that were turned.
type Turning struct {
	to map[string]bool // their markers
}

// Over turns to the page after the marker. Pages that lead in a circle, or never to an end, are no list.
func (t *Turning) Over(marker string) error {
	switch {
	case t.to[marker]:
		return errors.New("the list leads in a circle: a page came twice")
	case len(t.to) >= mostPages:
		return fmt.Errorf("the list does not end within %d pages", mostPages)
	case t.to == nil:
		t.to = map[string]bool{}
	}
	t.to[marker] = true
	return nil
}

// listFault: "not found" for a whole list says nothing about any server.
func (c *call) listFault(err error) error {
	if fault.Is(err, fault.NotFound) {
		return c.fault(fault.Transient, err)
	}
	return err
}

// dateOf returns the server's time of an answer, which is as old as its question at least; ours where it says none.
func dateOf(h http.Header) time.Time {
	t, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return time.Now()
	}
	return t
}

// asksAtOnce is how many servers Nova is asked about at the same time, within one listing.
const asksAtOnce = 8

// listed translates what is known. It leaves out servers on a hypervisor that does not answer: Nova repeats what it
// knew last. Where Nova does not say who stopped a server, that server's state is unknown, and the others' is not
// affected.
func (c *call) listed(l *listing, hosts map[string]hypervisor, at map[string]netip.Addr) provider.Listing {
	var known []*server
	for _, id := range slices.Sorted(maps.Keys(l.servers)) {
		s := l.servers[id]
		if h, somewhere := hosts[s.Host]; !s.gone() && (!somewhere || h.trouble() == nil) {
			known = append(known, s)
		}
	}
	out := provider.Listing{Hosts: c.p.answers(hosts, at), Instances: make([]fleet.Instance, len(known))}
	ids := make(map[fleet.InstanceID]string, len(known))
	var asking sync.WaitGroup
	gate := make(chan struct{}, asksAtOnce)
	for n, s := range known {
		ids[s.id()] = s.ID
		i := &out.Instances[n]
		if *i = c.sketch(s); !stoppable(s, i.Power) {
			continue
		}
		gate <- struct{}{}
		asking.Go(func() {
			defer func() { <-gate }()
			defer c.p.options.Panics.Catch("", "list", func(*defect.Panic) { i.Power = fleet.PowerUnknown })
			var err error
			if i.Stop, err = c.stopOf(s, i.Power); err != nil {
				i.Power = fleet.PowerUnknown
				c.p.log.Debug("nova does not say who stopped a server", "server", s.ID, "err", err)
			}
		})
	}
	asking.Wait()
	c.p.learn(ids)
	resting := map[fleet.InstanceID]bool{}
	for i := range out.Instances {
		if out.Instances[i].Power != fleet.PowerRunning {
			resting[out.Instances[i].ID] = true
		}
	}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.resting = resting
	return out
}

// learn keeps which of Nova's ids stands behind an instance's. What was learnt from creates stays until it is found to
// be gone.
func (p *Provider) learn(ids map[fleet.InstanceID]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(p.ids, ids)
}

// rests reports whether the last list showed that the instance does not run.
func (p *Provider) rests(id fleet.InstanceID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resting[id]
}

// Get returns the instance as it is now.
func (p *Provider) Get(ctx context.Context, ref provider.Ref) (fleet.Instance, error) {
	c, err := p.open(ctx, "openstack.get", string(ref.ID))
	if err != nil {
		return fleet.Instance{}, err
	}
	defer c.end()
	s, err := c.find(ref)
	if err == nil {
		err = c.heard(s)
	}
	if err != nil {
		return fleet.Instance{}, err
	}
	return c.describe(s)
}

// find looks the server up by the id under which hale knows it, as it is now. fault.NotFound is Nova's own word.
func (c *call) find(ref provider.Ref) (*server, error) {
	if err := c.p.refersTo(c.op, ref); err != nil {
		return nil, err
	}
	if err := c.parseID(ref.ID); err != nil {
		return nil, err
	}
	c.p.mu.Lock()
	nova, known := c.p.ids[ref.ID]
	c.p.mu.Unlock()
	if !known {
		var err error
		if nova, err = c.byTag(ref.ID); err != nil {
			return nil, err
		}
	}
	s, err := c.server(nova)
	switch {
	case fault.Is(err, fault.NotFound):
		c.p.mu.Lock()
		delete(c.p.ids, ref.ID)
		c.p.mu.Unlock()
		return nil, err
	case err != nil:
		return nil, err
	case s.id() != ref.ID:
		return nil, c.fault(fault.NotFound, fmt.Errorf("that is Nova's id of instance %s", s.id()))
	}
	c.p.learn(map[fleet.InstanceID]string{ref.ID: s.ID})
	return s, nil
}

// novaOf returns Nova's id of the server. One that is known already is not looked at: that is for what changes nothing,
// and is asked of many at once.
func (c *call) novaOf(ref provider.Ref) (string, error) {
	c.p.mu.Lock()
	nova, known := c.p.ids[ref.ID]
	c.p.mu.Unlock()
	if known && c.p.refersTo(c.op, ref) == nil {
		return nova, nil
	}
	s, err := c.find(ref)
	if err != nil {
		return "", err
	}
	return s.ID, nil
}

// byTag returns Nova's id of the server that hale made under the id. Without such a server it returns the id itself,
// which may be Nova's.
func (c *call) byTag(id fleet.InstanceID) (string, error) {
	found, _, err := c.servers(url.Values{"tags": {tagPrefix + string(id)}})
	if err != nil {
		return "", err
	}
	for _, s := range found {
		if s.id() == id && !s.gone() {
			return s.ID, nil
		}
	}
	return string(id), nil
}

// server reads one by Nova's id. One that is being deleted is gone.
func (c *call) server(nova string) (*server, error) {
	var got struct {
		Server *server `json:"server"`
	}
	if err := c.get(c.compute, c.compute.ServiceURL("servers", nova), &got); err != nil {
		return nil, err
	}
	switch {
	case got.Server == nil || got.Server.ID != nova:
		return nil, c.fault(fault.Transient, errors.New("the answer is not the server that was asked for"))
	case got.Server.gone():
		return nil, c.fault(fault.NotFound, errors.New("nova has deleted it"))
	}
	return got.Server, nil
}

// named returns the servers of exactly this name. Nova takes the name for a pattern.
func (c *call) named(name string) ([]*server, error) {
	found, _, err := c.servers(url.Values{"name": {"^" + escaped(name) + "$"}})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(s *server) bool { return s.Name != name || s.gone() }), nil
}

// escaped leaves nothing of the name to be a pattern, in any database's dialect.
func escaped(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`\^$.|?*+()[]{}`, r) {
			return '.'
		}
		return r
	}, name)
}
