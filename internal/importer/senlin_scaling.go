package importer

import (
	"cmp"
	"fmt"
	"strings"

	"hale/internal/core/fleet"

	"github.com/goccy/go-yaml"
)

// What Senlin takes where a policy of scaling or deletion says nothing.
const (
	senlinStep     = 1
	senlinCriteria = "RANDOM"
)

// scaling is where a scaling policy belongs, by the event that it is for.
func (s *senlin) scaling(v *value) **value {
	if v.get("properties", "event").str() == "CLUSTER_SCALE_IN" {
		return &s.scaleIn
	}
	return &s.scaleOut
}

// size is the number of machines, or the bounds between which it moves.
func (s *senlin) size(name string) any {
	desired, least, most := s.cluster.get("desired_capacity"), s.cluster.get("min_size"), s.cluster.get("max_size")
	if desired == nil {
		s.note(Missing, nil, "fleets.%s.size: there is no desired_capacity, so it is 1", name)
	}
	size := max(s.number(desired, 1), 1)
	if least == nil && most == nil && s.scaleIn == nil && s.scaleOut == nil {
		s.leave(nil)
		return size
	}
	low := max(s.number(least, 1), 1)
	if least != nil && low > s.number(least, 1) {
		s.note(Differs, least, "a fleet has at least 1 machine; Senlin allowed none")
	}
	high := fleet.LargestSize
	if most != nil && most.str() != "-1" { // that is Senlin's word for any number
		high = min(max(s.number(most, high), low), fleet.LargestSize)
	}
	out := mapOf("min", low, "max", high, "desired", min(max(size, low), high))
	strict := false
	up := s.adjustment(name, s.scaleOut, "+", &strict)
	down := s.adjustment(name, s.scaleIn, "-", &strict)
	if strict {
		out = append(out, mapOf("strict", true)...)
	}
	if up > 0 {
		out = append(out, mapOf("up", mapOf("cooldown", seconds(up)))...)
	}
	grace := s.number(s.deletion.get("properties", "grace_period"), 0)
	if pace := s.downPace(down, grace); len(pace) > 0 {
		out = append(out, mapOf("down", pace)...)
	}
	if s.scaleIn != nil || s.scaleOut != nil {
		s.note(Differs, nil,
			"an order of another size outlives hale and its servers, and what opinions want is said in "+
				"size.opinions: with a metric of your monitoring there, fleet %s needs no alarm and no receiver", name)
	}
	return s.leave(out)
}

func (s *senlin) downPace(cooldown, grace int) yaml.MapSlice {
	var pace yaml.MapSlice
	if cooldown > 0 {
		pace = append(pace, mapOf("cooldown", seconds(cooldown))...)
	}
	if grace > 0 {
		pace = append(pace, mapOf("grace", seconds(min(grace, 3600)))...)
	}
	return pace
}

// adjustment says by which call the alarm that triggered a scaling policy does the same, and returns the policy's
// cooldown.
func (s *senlin) adjustment(name string, policy *value, sign string, strict *bool) int {
	if policy == nil {
		return 0
	}
	a := policy.get("properties", "adjustment")
	number, kind := s.number(a.get("number"), senlinStep), a.get("type")
	step, effort := s.number(a.get("min_step"), senlinStep), a.get("best_effort")
	change := fmt.Sprintf("%s%d", sign, max(number, 1))
	switch kind.str() {
	case "EXACT_CAPACITY":
		change = fmt.Sprintf("%d", max(number, 1))
	case "CHANGE_IN_PERCENTAGE":
		change = fmt.Sprintf("%s%d%%", sign, max(number, 1))
		if step > 1 {
			change += fmt.Sprintf(" --at-least %d", step)
		}
	case "", "CHANGE_IN_CAPACITY":
	default:
		s.note(Lost, kind, "the adjustment %s: it is taken for CHANGE_IN_CAPACITY", kind.str())
	}
	*strict = *strict || !effort.isTrue()
	s.note(Missing, policy, "what triggered the %s policy is to call: hale scale %s %s --signal (or POST /v1/orders, "+
		"with signal: true)", strings.ToLower(strings.TrimPrefix(policy.get("properties", "event").str(), "CLUSTER_")),
		name, change)
	return s.number(a.get("cooldown"), 0)
}

// leave adds who goes first, by a deletion policy.
func (s *senlin) leave(size yaml.MapSlice) any {
	if s.deletion == nil {
		return size
	}
	criteria := s.deletion.get("properties", "criteria")
	word := criteria.str()
	if word == "" {
		word = senlinCriteria
	}
	rule, known := map[string]string{"OLDEST_FIRST": "oldest", "OLDEST_PROFILE_FIRST": "oldest-template",
		"YOUNGEST_FIRST": "newest", "RANDOM": "random"}[word]
	switch {
	case !known:
		s.note(Lost, criteria, "the criteria %s: hale takes the oldest", word)
		rule = "oldest"
	case size == nil:
		s.note(Lost, criteria, "who goes first is said of a size with bounds: there is no min_size and no max_size")
		return nil
	}
	s.note(Differs, criteria, "never the last healthy machine of a zone goes while another zone has more, and no "+
		"machine that is protected or held")
	return append(size, mapOf("leave", []string{"unhealthy", rule})...)
}

// unsized names what is said of a size that hale cannot change: of machines that it takes as they are.
func (s *senlin) unsized() {
	for _, v := range []*value{s.cluster.get("min_size"), s.cluster.get("max_size"), s.scaleOut, s.scaleIn,
		s.deletion} {
		if v == nil {
			continue
		}
		v.all()
		s.note(Lost, v, "%s: without a profile hale builds and removes no machines, so that nothing moves the size",
			cmp.Or(v.path, "the policy"))
	}
}
