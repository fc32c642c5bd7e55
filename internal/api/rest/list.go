package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"hale/api"

	"github.com/danielgtaylor/huma/v2"
)

// Watch sends what changes in a list, until its reader has gone.
type Watch func(ctx context.Context, out *Stream)

// RegisterList makes a call that answers with a page, or, where do returns a watch, with what changes from then on.
func RegisterList[I, T any](r *Router, c Call, do func(context.Context, *I) (*Listed[T], Watch, error)) {
	op := c.operation()
	op.Responses = map[string]*huma.Response{
		"200": {
			Description: "A page, or with watch, server-sent events: each names by event what its data is, and by id where " +
				"to go on.",
			Headers: map[string]*huma.Param{"ETag": {Schema: &huma.Schema{Type: huma.TypeString}}},
			Content: map[string]*huma.MediaType{
				"application/json": {Schema: SchemaOf[api.List[T]](r)}, MediaSSE: {Schema: &huma.Schema{Type: huma.TypeString}},
			},
		},
		"304": {Description: "Nothing changed since the ETag that was sent."},
	}
	huma.Register(r.api, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		list, watch, err := do(ctx, in)
		if err != nil {
			return nil, r.Problem(ctx, err)
		}
		if watch != nil {
			return &huma.StreamResponse{Body: func(c huma.Context) { watch(c.Context(), NewStream(c, ServerSent)) }}, nil
		}
		return &huma.StreamResponse{Body: func(c huma.Context) { r.answer(c, list.ETag, list.Status, list.Body) }}, nil
	})
}

// answer sends a list, or that it is known already.
func (r *Router) answer(c huma.Context, tag string, status int, list any) {
	c.SetHeader("ETag", tag)
	c.SetHeader("Vary", "Authorization")
	if status == http.StatusNotModified {
		c.SetStatus(status)
		return
	}
	c.SetHeader("Content-Type", "application/json")
	if err := json.NewEncoder(c.BodyWriter()).Encode(list); err != nil {
		r.log.Debug("an answer did not reach its reader", "err", err)
	}
}
