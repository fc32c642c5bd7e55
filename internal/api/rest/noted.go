package rest

import (
	"net/http"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/audit"

	"github.com/danielgtaylor/huma/v2"
)

// noted has the book say of each call that changes something, and of each that is refused, who made it. What cannot be
// noted is not done, unless the caller sits at the machine: there nothing stands between a person and the brake.
func (r *Router) noted(c huma.Context, next func(huma.Context)) {
	if r.book == nil {
		next(c)
		return
	}
	ctx, note := audit.WithNote(c.Context())
	c = huma.WithContext(c, ctx)
	record := audit.Of(access.Of(ctx), c.Operation().OperationID)
	record.Request = RequestOf(ctx)
	n, _ := c.Operation().Metadata[roleField].(Need)
	if safe(c.Method()) || !n.satisfied(access.Of(ctx)) {
		next(c)
		if status := c.Status(); status == http.StatusForbidden || status == http.StatusUnauthorized {
			record.Status, record.About, record.Why = status, note.About(), note.Why()
			r.book.Refuse(ctx, record)
		}
		return
	}
	r.act(c, next, record, note)
}

// noteRefusal has the book say of a call that is not in the document, and is refused, who made it.
func (r *Router) noteRefusal(q *http.Request, operation string, p api.Problem) {
	if r.book == nil {
		return
	}
	record := audit.Of(access.Of(q.Context()), operation)
	record.Request, record.Status, record.Why = RequestOf(q.Context()), p.Status, p.Detail
	r.book.Refuse(q.Context(), record)
}

// act makes a call that changes something, between two words in the book.
func (r *Router) act(c huma.Context, next func(huma.Context), record audit.Record, note *audit.Note) {
	ctx := c.Context()
	entry, err := r.book.Begin(ctx, record)
	if err != nil && record.Kind != access.BySocket {
		r.write(c, api.NewProblem(api.CodeStore, "it cannot be noted who does this, so it is not done: "+err.Error()))
		return
	}
	if err != nil {
		r.log.Error("an act is not in the audit", "who", record.Name, "operation", record.Operation, "err", err)
	}
	status := http.StatusInternalServerError // as long as it is not known: it may panic
	defer func() {
		r.book.End(ctx, entry, note.About(), resultOf(note, status), status, note.Why())
	}()
	next(c)
	status = c.Status()
}

// resultOf is what the status means.
func resultOf(note *audit.Note, status int) audit.Result {
	switch {
	case status < http.StatusBadRequest:
		return audit.Done
	case note.Held():
		return audit.Waits
	case status < http.StatusInternalServerError:
		return audit.Refused
	}
	return audit.Failed
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// write answers with a problem in the place of an operation.
func (r *Router) write(c huma.Context, p api.Problem) {
	audit.Why(c.Context(), p.Detail)
	if err := huma.WriteErr(r.api, c, p.Status, p.Detail); err != nil {
		r.log.Debug("an answer did not reach its reader", "err", err)
	}
}
