package world

import (
	"maps"
	"slices"
	"strings"
)

// adjust gives the instance what the call says of its size, its texts and its tags. What it bears besides stays.
func (w *World) adjust(vm *VM, call *Call) (bool, End) {
	is := vm.Status
	is.Size = is.Size.with(call.Size)
	is.Metadata, is.Tags = merged(is.Metadata, call.Metadata), merged(is.Tags, call.Tags)
	switch {
	case vm.Mark.Kept, is.Size != vm.Size && vm.Power != Off:
		return false, Conflict
	case is == vm.Status:
		return false, Done
	}
	vm.Status = is
	w.refresh(vm)
	return true, Done
}

// merged joins two lists of words, or lines key=value, in order: of several with the same key the last one counts.
func merged(a, b string) string {
	lines := map[string]string{}
	for line := range strings.Lines(a + b) {
		key, _, _ := strings.Cut(line, "=")
		lines[key] = line
	}
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(lines)) {
		out.WriteString(lines[k])
	}
	return out.String()
}
