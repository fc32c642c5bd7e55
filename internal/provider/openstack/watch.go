package openstack

import (
	"context"
	"sync"

	"hale/internal/provider"
	"hale/internal/provider/openstack/notification"
)

var _ provider.Watcher = (*Provider)(nil)

// Hears reports whether the adapter was told of a message bus to listen to. Without one Watch never says anything.
func (p *Provider) Hears() bool { return p.ears != nil }

// Watch listens to the cloud's message bus until ctx ends, or Close.
func (p *Provider) Watch(ctx context.Context, changed func(provider.Event)) error {
	ctx, cancel := context.WithCancel(ctx)
	var ending sync.WaitGroup
	defer ending.Wait()
	defer cancel() // before it is waited for
	ending.Go(func() {
		select {
		case <-p.closed:
			cancel()
		case <-ctx.Done():
		}
	})
	if p.ears == nil {
		<-ctx.Done()
		return nil
	}
	return p.ears.Listen(ctx, func(n notification.Notice) {
		if event, ours := p.hint(n); ours {
			changed(event)
		}
	})
}

// hint translates a notice. What happens to the servers of other projects, which the same bus tells of, is none of
// hale's business.
func (p *Provider) hint(n notification.Notice) (event provider.Event, ours bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.session != nil && n.Project != "" && n.Project != p.session.project {
		return provider.Event{}, false
	}
	for id, nova := range p.ids {
		if nova == string(n.Instance) {
			return provider.Event{Instance: id}, true
		}
	}
	// about a host, about everything, or about a server that hale has not seen yet: look at everything
	return provider.Event{}, true
}

// heard lets Watch listen as the options say.
func (o *Options) heard() (*notification.Listener, error) {
	if o.Events == nil {
		return nil, nil //nolint:nilnil // to listen to nothing is no error
	}
	e := *o.Events
	e.Logger, e.Panics = o.Logger, o.Panics
	return notification.New(e)
}
