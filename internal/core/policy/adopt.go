package policy

import (
	"slices"
	"strings"
	"unicode/utf8"

	"hale/internal/core/fleet"
)

// Adoption says which machines that existed before hale the fleet takes into its care. The zero value: none.
type Adoption struct {
	Select Selector
	// Replaceable permits that an adopted instance is destroyed, to be built anew from the template (L2).
	Replaceable bool
	// Expected is how many machines there shall be; 0: as many as there are.
	Expected int
	// Rivals are the other fleets on the same provider that select, sorted by name: what both select, neither adopts.
	Rivals []Rival
	// Left are instances that people want out of hale's care; Whole.LetGo sets them.
	Left []fleet.InstanceID
}

// Rival is another fleet that selects.
type Rival struct {
	Fleet  fleet.Name
	Select Selector
}

// Selector says which instances are meant, by their names and ids at the provider and by what they bear there. Whatever
// is said must hold. The zero value: none.
type Selector struct {
	// Name is a pattern: * stands for any characters, also none, and ? for any one.
	Name string
	// Except are patterns of names that are not meant all the same, sorted.
	Except []string
	// IDs are those of the only instances that are meant, sorted. None: whichever id it has.
	IDs []fleet.InstanceID `json:",omitempty"`
	// Metadata are texts that an instance must bear under these keys, and Tags those that it must be tagged with,
	// sorted.
	Metadata fleet.Metadata `json:",omitempty"`
	Tags     []string       `json:",omitempty"`
}

// None reports whether nothing is meant.
func (s *Selector) None() bool { return s.Name == "" }

// Equal reports whether the two mean the same instances.
func (s *Selector) Equal(o *Selector) bool {
	return s.Name == o.Name && slices.Equal(s.Except, o.Except) && s.Metadata == o.Metadata &&
		slices.Equal(s.Tags, o.Tags) && slices.Equal(s.IDs, o.IDs)
}

// Matches reports whether the instance is meant.
func (s *Selector) Matches(i *fleet.Instance) bool { return s.Means(i.Name) && s.Finds(i) }

// Means reports whether the name is one that is meant.
func (s *Selector) Means(name string) bool {
	if s.None() || !like(name, s.Name) {
		return false
	}
	return !slices.ContainsFunc(s.Except, func(not string) bool { return like(name, not) })
}

// Finds reports whether the instance is one that is meant by its id, and bears all that it must beside its name.
func (s *Selector) Finds(i *fleet.Instance) bool {
	return (len(s.IDs) == 0 || slices.Contains(s.IDs, i.ID)) && s.bears(i)
}

func (s *Selector) bears(i *fleet.Instance) bool {
	for key, want := range s.Metadata.All() {
		if is, there := i.Metadata.Value(key); !there || is != want {
			return false
		}
	}
	return !slices.ContainsFunc(s.Tags, func(tag string) bool { return !i.Tags.Has(tag) })
}

// Within reports whether whatever the one means the other surely means, too. False: perhaps not.
func (s *Selector) Within(o *Selector) bool {
	names := s.Name == o.Name && slices.Equal(s.Except, o.Except)
	if single := !strings.ContainsAny(s.Name, "*?"); single && s.Means(s.Name) {
		names = o.Means(s.Name)
	}
	ids := len(o.IDs) == 0 || len(s.IDs) > 0 &&
		!slices.ContainsFunc(s.IDs, func(id fleet.InstanceID) bool { return !slices.Contains(o.IDs, id) })
	return names && ids && o.bears(&fleet.Instance{Metadata: s.Metadata, Tags: fleet.TagsOf(s.Tags)})
}

// like reports whether the name fits the pattern.
func like(name, pattern string) bool {
	at, k := 0, 0
	star, retry := -1, 0 // the last * and where its match may go on
	for at < len(name) {
		is, size := utf8.DecodeRuneInString(name[at:])
		wants, width := utf8.DecodeRuneInString(pattern[k:])
		switch {
		case wants == '*':
			star, retry = k, at
			k += width
		case width > 0 && (wants == '?' || wants == is):
			at += size
			k += width
		case star >= 0: // let the last * take one more
			_, size := utf8.DecodeRuneInString(name[retry:])
			retry += size
			at, k = retry, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[k:], "*") == ""
}

// Begins is what every name begins with that is meant: the pattern up to its first wildcard.
func (s *Selector) Begins() string {
	if at := strings.IndexAny(s.Name, "*?"); at >= 0 {
		return s.Name[:at]
	}
	return s.Name
}

// Apart reports whether the names that the two mean begin otherwise, so that nothing is meant by both.
func (s *Selector) Apart(o *Selector) bool {
	a, b := s.Begins(), o.Begins()
	return !strings.HasPrefix(a, b) && !strings.HasPrefix(b, a)
}

// Selects reports whether the fleet takes machines that existed before.
func (a *Adoption) Selects() bool { return !a.Select.None() }

// Contested returns the first other fleet that selects the instance, too; empty: none does.
func (a *Adoption) Contested(of *fleet.Instance) fleet.Name {
	for i := range a.Rivals {
		if a.Rivals[i].Select.Matches(of) {
			return a.Rivals[i].Fleet
		}
	}
	return ""
}

// Eligible reports whether the fleet may adopt the instance: it is selected by this fleet alone, and no one, hale least
// of all, ever marked it.
func (a *Adoption) Eligible(i *fleet.Instance) bool {
	return i.Mark == (fleet.Mark{}) && a.Select.Matches(i) && a.Contested(i) == "" && !a.Let(i.ID)
}

// Let reports whether a person wants the instance out of hale's care.
func (a *Adoption) Let(id fleet.InstanceID) bool { return slices.Contains(a.Left, id) }

// Rolled reports whether this start of hale is noted before something is built or destroyed in the fleet: not where the
// machines existed before hale and must not be replaced. Such a fleet is still told of the notes that there are.
func (s *Spec) Rolled() bool { return !s.Adopt.Selects() || s.Adopt.Replaceable }
