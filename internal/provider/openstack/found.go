package openstack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"

	"hale/internal/fault"
)

// made is what every service tells of what it made.
type made struct {
	ID      string `json:"id"`
	Created string `json:"created_at"` // in words that sort by time
}

func (m made) born() made { return m }

// older compares two of a kind by when they were made, and where that is the same, by their ids: whoever looks finds the same one first.
func older[T interface{ born() made }](a, b T) int {
	x, y := a.born(), b.born()
	return cmp.Or(cmp.Compare(x.Created, y.Created), cmp.Compare(x.ID, y.ID))
}

// listOf reads one page of a list, which stands in the answer under its name. An answer without it is no list, and no empty one either.
// What stands beside it, links and counts, is returned with it.
func listOf[T any](c *call, service *gophercloud.ServiceClient, url, name string) (all []T, answer map[string]json.RawMessage, header http.Header, err error) {
	header, err = c.send(service, request{method: http.MethodGet, url: url, into: &answer, ok: []int{http.StatusOK}})
	if err != nil {
		return nil, nil, nil, err
	}
	if err := json.Unmarshal(answer[name], &all); err != nil || all == nil {
		return nil, nil, nil, c.fault(fault.Transient, fmt.Errorf("the answer is no list of %s", name))
	}
	return all, answer, header, nil
}
