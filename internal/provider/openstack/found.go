package openstack

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"

	"hale/internal/core/fault"
)

// made is what every service tells of what it made.
type made struct {
	ID      string `json:"id"`
	Created string `json:"created_at"` // in words that sort by time
}

func (m made) born() made { return m }

// older compares two of a kind by when they were made, then by their ids: every process finds the same one first.
func older[T interface{ born() made }](a, b T) int {
	x, y := a.born(), b.born()
	return cmp.Or(cmp.Compare(x.Created, y.Created), cmp.Compare(x.ID, y.ID))
}

// listOf reads one page of a list, which stands in the answer under its name. An answer without it is no list, and no
// empty one either.
func listOf[T any](c *call, service *gophercloud.ServiceClient, url, name string) (page[T], error) {
	var p page[T]
	var err error
	if p.header, err = c.send(service, request{
		method: http.MethodGet,
		url:    url,
		into:   &p.beside,
		ok:     []int{http.StatusOK},
	}); err != nil {
		return page[T]{}, err
	}
	if err := json.Unmarshal(p.beside[name], &p.all); err != nil || p.all == nil {
		return page[T]{}, c.fault(fault.Transient, fmt.Errorf("the answer is no list of %s", name))
	}
	return p, nil
}

// page is one page of a list.
type page[T any] struct {
	all    rows[T]
	beside map[string]json.RawMessage // the whole answer, with links and counts
	header http.Header
}

// mostRows bounds the rows of one answer. What a row becomes takes far more memory than the few bytes that a liar
// writes for it.
const mostRows = 10_000

// rows are the elements of a list. None is null or empty.
type rows[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (r *rows[T]) UnmarshalJSON(data []byte) error {
	*r = nil
	if string(data) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return errors.New("it is no list")
	}
	all := rows[T]{}
	for d.More() {
		var raw json.RawMessage
		var row T
		err := d.Decode(&raw)
		switch {
		case err != nil:
		case len(all) >= mostRows:
			err = fmt.Errorf("it has more than %d rows", mostRows)
		case string(raw) == "null":
			err = errors.New("a row says nothing")
		default:
			err = json.Unmarshal(raw, &row)
		}
		if err != nil {
			return err
		}
		all = append(all, row)
	}
	*r = all
	return nil
}
