package post

import (
	"net/http"
	"slices"
	"strings"

	"hale/internal/keys"
	"hale/internal/secret"
)

// The keys that outlets over HTTP have in common.

// CADoc is what the reference says of ca.
const CADoc = "A PEM file with the authorities to trust, in place of the system's."

// HeadersShape is a mapping of further headers.
func HeadersShape() keys.Mapping[keys.TextDraft] {
	return keys.Mapping[keys.TextDraft]{Key: "HEADER", Each: keys.TextOrSecret("a header's value", "on-call"),
		Names: keys.HeaderNames}
}

// HeadersDoc is what the reference says of them.
const HeadersDoc = "Further headers, by name: a text, or `{file: PATH}` or `{env: NAME}` for what is secret, as a token."

// HeadersOf judges the headers. Those in own are set by hale.
func HeadersOf(f *keys.Finder, d keys.At[[]keys.Named[keys.TextDraft]], own ...string) []secret.Named {
	var out []secret.Named
	for _, n := range d.Value {
		h := f.Named(n)
		h.Name = http.CanonicalHeaderKey(n.Name)
		switch {
		case f.Spelt(n, keys.Hushed):
		case strings.ContainsAny(h.Plain, "\r\n"):
			f.Add(n.Spot, "has more than one line", "write it on one")
		case slices.Contains(own, h.Name), h.Name == "Content-Length", h.Name == "Host":
			f.Add(n.Spot, "is set by hale", "take it out")
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b secret.Named) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(out); i++ {
		if out[i].Name == out[i-1].Name {
			f.Add(d.Spot, out[i].Name+" is there twice", "keep one of the two")
		}
	}
	return out
}

// Address judges a web address.
func Address(f *keys.Finder, at keys.At[string]) {
	if !at.Known() || at.Value == "" {
		return
	}
	if bad := keys.WebAddressFlaw(at.Value, "https://collector.example.org:4318",
		"headers: {Authorization: {file: PATH}}"); bad != nil {
		f.Add(at.Spot, bad.Message, bad.Hint)
	}
}
