// Package lossless reads a JSON document that a newer hale may have written, and writes it back with all that this hale
// does not know of it.
//
// It promises that a member which the Go type does not have survives, at any depth, as long as the thing that it
// belongs to is there: an incident's as long as that incident is open, a list element's wherever the list has it. What
// a newer hale said of a thing never becomes what it said of another. The members tell which thing it is: see identity.
// A document without unknown members costs nothing more than with encoding/json.
//
// It does not know what the members mean. So a newer version may add a member only if it can live with an older one
// that carries it along unread, while it changes what it knows. Anything else is another format of the store (package
// format).
package lossless

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
)

// Rest is what is unknown of a document. nil: nothing. It is never changed, so that copies share it.
type Rest struct {
	of      string                     // identity of the thing
	unknown map[string]json.RawMessage // members of an object
	members map[string]*Rest           // of known members
	items   []*Rest                    // of a list's elements
}

// Unmarshal is json.Unmarshal for a value that is zero, and returns what the value's type does not know.
func Unmarshal(data []byte, value any) (*Rest, error) {
	if strict(data, value) == nil {
		return nil, nil //nolint:nilnil // nothing is unknown
	}
	reflect.ValueOf(value).Elem().SetZero()
	if err := json.Unmarshal(data, value); err != nil {
		return nil, err
	}
	known, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return beyond(data, known, place{}), nil
}

// strict fails if anything of the document is unknown, or wrong.
func strict(data []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(value); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value")
	}
	return nil
}

// Marshal is json.Marshal of the value with the rest of what it was read from. It returns what of the rest is in it.
func (r *Rest) Marshal(value any) ([]byte, *Rest, error) {
	known, err := json.Marshal(value)
	if err != nil || r == nil {
		return known, nil, err
	}
	data, kept := r.onto(known, place{})
	return data, kept, nil
}

// place is where in a document a value stands.
type place struct {
	member string // by this name; empty: the document itself, or an element
	inList bool
}

type object = map[string]json.RawMessage

// beyond returns what the document has, and what is known of it has not.
func beyond(has, known json.RawMessage, at place) *Rest {
	if h, k := listOf(has), listOf(known); h != nil && len(h) == len(k) {
		r := &Rest{}
		for i := range h {
			if below := beyond(h[i], k[i], place{inList: true}); below != nil {
				r.items = append(r.items, below)
			}
		}
		return r.orNone()
	}
	h, k := objectOf(has), objectOf(known)
	if h == nil || k == nil {
		return nil
	}
	r := &Rest{of: identity(known, k, at)}
	for name, value := range h {
		if _, knows := k[name]; !knows {
			r.add(name, value)
		} else if below := beyond(value, k[name], place{member: name}); below != nil {
			r.addBelow(name, below)
		}
	}
	return r.orNone()
}

// onto returns what is known with the rest of it, and what of the rest that was.
func (r *Rest) onto(known json.RawMessage, at place) (json.RawMessage, *Rest) {
	if list := listOf(known); list != nil {
		return r.ontoList(known, list)
	}
	k := objectOf(known)
	if k == nil || identity(known, k, at) != r.of {
		return known, nil
	}
	kept := &Rest{of: r.of}
	for name, value := range r.unknown {
		if _, knows := k[name]; !knows {
			k[name] = value
			kept.add(name, value)
		}
	}
	for name, below := range r.members {
		value, is := k[name]
		if !is {
			continue
		}
		var with *Rest
		if k[name], with = below.onto(value, place{member: name}); with != nil {
			kept.addBelow(name, with)
		}
	}
	return kept.with(k, known)
}

func (r *Rest) ontoList(known json.RawMessage, list []json.RawMessage) (json.RawMessage, *Rest) {
	kept, done := &Rest{}, make([]bool, len(list))
	for _, item := range r.items {
		for i := range list {
			if done[i] {
				continue
			}
			value, with := item.onto(list[i], place{inList: true})
			if with != nil {
				list[i], done[i] = value, true
				kept.items = append(kept.items, with)
				break
			}
		}
	}
	return kept.with(list, known)
}

// with puts together what was taken apart, the same way every time: members are sorted. Where that is not possible,
// there is what is known.
func (r *Rest) with(parts any, known json.RawMessage) (json.RawMessage, *Rest) {
	data, err := json.Marshal(parts)
	if err != nil || r.orNone() == nil {
		return known, nil
	}
	return data, r
}

func (r *Rest) add(name string, value json.RawMessage) {
	if r.unknown == nil {
		r.unknown = make(map[string]json.RawMessage)
	}
	r.unknown[name] = value
}

func (r *Rest) addBelow(name string, below *Rest) {
	if r.members == nil {
		r.members = make(map[string]*Rest)
	}
	r.members[name] = below
}

func (r *Rest) orNone() *Rest {
	if len(r.unknown)+len(r.members)+len(r.items) == 0 {
		return nil
	}
	return r
}

// naming are the members that together tell one element of a list from another, if it has no ID.
var naming = []string{"Order", "Repair", "Machine", "Instance", "Name", "Target"}

// template is the member that is replaced as a whole: nothing that was said of one template holds for another.
const template = "Template"

// identity tells a thing from another that stands in its place: by the ID; else, of a member, by the order that it came
// from, and of a list's element by all that names it; a template, and an element without any of these, by all that is
// known of it. A thing that has none of them is always the same.
func identity(known json.RawMessage, members object, at place) string {
	if id, has := members["ID"]; has {
		return string(id)
	}
	if at.member == template {
		return string(known)
	}
	if !at.inList {
		return string(members["Order"])
	}
	var b strings.Builder
	for _, name := range naming {
		if value, has := members[name]; has {
			b.WriteString(name)
			b.Write(value)
		}
	}
	if b.Len() == 0 {
		return string(known)
	}
	return b.String()
}

// objectOf returns the members of an object; nil: it is none.
func objectOf(data json.RawMessage) object {
	var o object
	if json.Unmarshal(data, &o) != nil {
		return nil
	}
	return o
}

// listOf returns the elements of a list that has any; nil: it is none.
func listOf(data json.RawMessage) []json.RawMessage {
	var l []json.RawMessage
	if json.Unmarshal(data, &l) != nil || len(l) == 0 {
		return nil
	}
	return l
}
