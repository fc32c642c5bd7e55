package rest

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"hale/api"
)

// Page is which part of a list is asked for.
type Page struct {
	Limit       int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many."`
	After       string `query:"after" maxLength:"800" pattern:"^[A-Za-z0-9_-]*$" doc:"What next of the page before was."`
	IfNoneMatch string `header:"If-None-Match" maxLength:"100" doc:"The ETag of an answer that is known: 304 when nothing changed."`
}

// Watching is what a list that can be watched takes beside the page.
type Watching struct {
	Watch  bool   `query:"watch" doc:"What changes from now on, or from the place that is named, as server-sent events."`
	From   string `query:"from" maxLength:"64" doc:"Watch from here: the revision of a list, the id of an event, or now."`
	LastID string `header:"Last-Event-ID" maxLength:"64" doc:"As from; it goes before that."`
}

// Place is where the watch begins, as the caller says it.
func (w Watching) Place() string { return cmp.Or(w.LastID, w.From, "now") }

// Listed is a list as it is answered.
type Listed[T any] struct {
	Status int
	ETag   string
	Body   api.List[T]
}

// Keyed is an item with the place that it has in its list.
type Keyed[T any] struct {
	Key  string
	Item T
}

// At gives the item its place.
func At[T any](key string, item T) Keyed[T] { return Keyed[T]{Key: key, Item: item} }

// Paged answers with the part of the items that is asked for, in the order of their keys. Items are made for that part
// only.
func Paged[K, T any](p Page, revision string, all []Keyed[K], item func(K) T) (*Listed[T], error) {
	out := &Listed[T]{Status: http.StatusOK, ETag: `W/"` + revision + `"`}
	if p.IfNoneMatch == out.ETag {
		out.Status = http.StatusNotModified
		return out, nil
	}
	after, err := base64.RawURLEncoding.DecodeString(p.After)
	if err != nil {
		return nil, BadRequest("after: is not the next of a page")
	}
	slices.SortStableFunc(all, func(a, b Keyed[K]) int { return cmp.Compare(a.Key, b.Key) })
	first := 0
	if p.After != "" {
		first, _ = slices.BinarySearchFunc(all, string(after), func(k Keyed[K], after string) int {
			if k.Key <= after {
				return -1
			}
			return 1
		})
	}
	end := min(len(all), first+p.Limit)
	out.Body = api.List[T]{Items: make([]T, 0, end-first), Total: len(all), Revision: revision}
	for _, k := range all[first:end] {
		out.Body.Items = append(out.Body.Items, item(k.Item))
	}
	if end < len(all) {
		out.Body.Next = base64.RawURLEncoding.EncodeToString([]byte(all[end-1].Key))
	}
	return out, nil
}

// Same returns what it gets.
func Same[T any](v T) T { return v }

// Natural is a key by which web-2 comes before web-10.
func Natural(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		n := i
		for n < len(name) && '0' <= name[n] && name[n] <= '9' {
			n++
		}
		if digits := strings.TrimLeft(name[i:n], "0"); n > i {
			b.WriteByte('0' + byte(min(len(digits), 200)))
			b.WriteString(digits)
			i = n
			continue
		}
		b.WriteByte(name[i])
		i++
	}
	return b.String()
}

// NewestFirst is the key of something that began at the time.
func NewestFirst(at time.Time, id string) string {
	if at.IsZero() {
		return "~" + id // behind all that has a time
	}
	return fmt.Sprintf("%019d %s", math.MaxInt64-max(0, at.UnixNano()), id)
}
