package openstack

import (
	"context"
	"net/http"

	"hale/internal/core/fault"
	"hale/internal/provider"
)

// lineLength is what a line of a console has at least, for the question: Nova counts lines, and the caller bytes.
const lineLength = 8

// Console returns the end of what Nova keeps of the server's console.
func (p *Provider) Console(ctx context.Context, ref provider.Ref, limit int) ([]byte, error) {
	c, err := p.open(ctx, "openstack.console", string(ref.ID))
	if err != nil {
		return nil, err
	}
	defer c.end()
	c.lane = consoleLane
	nova, err := c.novaOf(ref)
	if err != nil {
		return nil, err
	}
	var got struct {
		Output string `json:"output"`
	}
	_, err = c.send(c.compute, request{
		method: http.MethodPost,
		url:    c.compute.ServiceURL("servers", nova, "action"),
		into:   &got,
		ok:     []int{http.StatusOK},
		body:   map[string]any{"os-getConsoleOutput": map[string]any{"length": max(limit/lineLength, 1)}},
	})
	if fault.Is(err, fault.UnknownOutcome) { // it is asked for with a POST, and changes nothing
		return nil, c.fault(fault.Transient, err)
	}
	if err != nil {
		return nil, err
	}
	return []byte(got.Output[max(len(got.Output)-limit, 0):]), nil
}
