package fleets

import (
	"maps"
	"slices"

	"hale/internal/core/policy"
	"hale/internal/keys"
)

// notifyDraft names the targets of a fleet's messages: none, a list, or a mapping with more.
type notifyDraft struct {
	none        bool
	to          keys.At[[]keys.At[string]]
	remindEvery keys.At[reminder]
}

// fleetNotifyShape reads the targets of a fleet's messages.
func fleetNotifyShape() keys.Shape[notifyDraft] {
	to := keys.List[string]{Noun: "one target", Each: keys.Name()}
	return recipients{
		list: to,
		long: keys.Object[notifyDraft]{Fields: []keys.Field[notifyDraft]{
			keys.May("to", "The names of targets under notify at the top of the file.", to,
				func(n *notifyDraft) *keys.At[[]keys.At[string]] { return &n.to }).Said("all of them"),
			keys.May("remind_every", "How long an incident that a person was told of may stay open before they are "+
				"told again: a duration, or `10 cycles`, where a cycle is the longest `every` of the fleet's checks.",
				reminderShape(), func(n *notifyDraft) *keys.At[reminder] { return &n.remindEvery }).Said(
				"they are told once"),
		}},
		word: keys.None(),
	}
}

// recipients is a list of targets, a mapping, or the word none.
type recipients struct {
	list keys.List[string]
	long keys.Object[notifyDraft]
	word keys.Scalar[string]
}

func (s recipients) Read(r *keys.Reader, n keys.Node) (notifyDraft, bool) {
	switch n.Form {
	case keys.FormList:
		to, ok := s.list.Read(r, n)
		return notifyDraft{to: keys.At[[]keys.At[string]]{Spot: n.Spot, Value: to, How: keys.Given}}, ok
	case keys.FormMapping:
		return s.long.Read(r, n)
	case keys.FormText:
		if n.Text == keys.NoneWord {
			return notifyDraft{none: true}, true
		}
	default:
	}
	r.Add(n.Spot, "is "+string(n.Form)+"; a list of targets is wanted", "write for example [ops], or none")
	return notifyDraft{}, false
}

func (s recipients) Schema() *keys.Schema {
	return &keys.Schema{AnyOf: []*keys.Schema{s.list.Schema(), s.long.Schema(), s.word.Schema()}}
}

// recipients says who is told of a fleet: those that it names, or all targets.
func (c *compiler) notify() policy.Notify {
	d := c.draft.notify
	out := policy.Notify{RemindEvery: c.remindEvery()}
	if d.Value.none {
		return out
	}
	names := slices.Sorted(maps.Keys(c.Targets))
	if d.Value.to.Written() {
		names = nil
		for _, to := range d.Value.to.Value {
			switch target, known := c.Targets[to.Value]; {
			case !to.Known():
			case known && len(target.Events) == 0:
				c.Add(to.Spot, to.Value+" is sent signs of life only",
					"take it out, or name events in notify."+to.Value)
			case slices.Contains(names, to.Value):
				c.Add(to.Spot, to.Value+" is named twice", "name each target once")
			case known:
				names = append(names, to.Value)
			default:
				hint := keys.DidYouMean(to.Value, slices.Collect(maps.Keys(c.Targets)))
				if hint == "" {
					hint = "add it under notify at the top of the file"
				}
				c.Add(to.Spot, "there is no target "+to.Value, hint)
			}
		}
		slices.Sort(names)
	}
	for _, name := range names {
		if r := c.Targets[name]; len(r.Events) > 0 {
			out.To = append(out.To, r)
		}
	}
	return out
}
