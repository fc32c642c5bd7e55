package ways

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/outlet/post"
	"hale/internal/program"
	"hale/internal/secret"
)

// request is what a hook is posted as.
type request struct {
	Hook     fleet.HookName    `json:"hook"`
	Moment   fleet.Moment      `json:"moment"`
	Fleet    fleet.Name        `json:"fleet"`
	Machine  fleet.MachineName `json:"machine"`
	Instance fleet.InstanceID  `json:"instance"`
	Host     fleet.HostName    `json:"host,omitempty"`
	Address  string            `json:"address,omitempty"`
	Repair   string            `json:"repair"`
	Incident string            `json:"incident,omitempty"`
	Kind     string            `json:"kind"`
	Step     string            `json:"step,omitempty"`
}

// post sends the hook. Only a 2xx is a yes.
func (w Ways) post(ctx context.Context, e *situation.Errand) (program.Result, error) {
	r := e.Hook.Request
	to, err := valueOf(ctx, "url", r.URL.Value, r.URL.Secret)
	if err != nil {
		return program.Result{}, err
	}
	var headers []secret.Named
	for _, h := range r.Headers {
		v, err := valueOf(ctx, h.Name, h.Value, h.Secret)
		if err != nil {
			return program.Result{}, err
		}
		headers = append(headers, secret.Named{Name: h.Name, Plain: v.Plain, Secret: v.Secret})
	}
	q := request{Hook: e.Hook.Name, Moment: e.Moment, Fleet: e.Facts.Machine.Fleet(), Machine: e.Facts.Machine,
		Instance: e.Facts.Instance, Host: e.Facts.Host, Repair: e.Repair, Incident: e.Incident, Kind: string(e.Kind),
		Step: string(e.Step)}
	if e.Facts.Address.IsValid() {
		q.Address = e.Facts.Address.String()
	}
	body, err := json.Marshal(q)
	if err != nil {
		return program.Result{}, fault.New(fault.Invalid, "hook.http", string(e.Hook.Name), err)
	}
	within := e.Hook.Within
	if end, ends := ctx.Deadline(); ends {
		within = min(within, time.Until(end))
	}
	p := post.New(post.Options{Op: "hook.http", URL: to, CA: r.CA, Headers: headers, Once: true,
		Identity: post.Identity{Name: string(e.Hook.Name), Timeout: within, Version: w.Version}})
	defer p.Close()
	said, err := p.Send(ctx, "", http.Header{"Content-Type": {"application/json"}}, body)
	d := program.Digest{}
	_, _ = d.Write(said.Body)
	return program.Result{Output: d.String()}, err
}

// valueOf is a value, or where it is kept, once that can be read: what lacks a secret is not begun.
func valueOf(ctx context.Context, name, plain string, kept fleet.Secret) (secret.Value, error) {
	if kept.None() {
		return secret.Value{Plain: plain}, nil
	}
	if _, err := secret.Read(ctx, kept); err != nil {
		return secret.Value{}, program.NoSecret{Variable: name, Err: err}
	}
	s, err := secret.Of(kept)
	return secret.Value{Secret: s}, err
}
