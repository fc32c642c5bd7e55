package file

import (
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/outlet"
	"hale/internal/secret"
)

// Kind is the outlet in the configuration.
func Kind() kinds.Outlet {
	return kinds.WayOf("file", "path: …",
		"Append each record to a file, as one line of JSON: what `hale events --json` shows, with the event's id. The "+
			"file may be moved away at any time (logrotate): a new one is begun.", shape(), compileKeys)
}

// Settings are what the keys come to.
type Settings struct{ Path string }

// Secrets implements kinds.Streaming.
func (Settings) Secrets() []secret.Secret { return nil }

// Outlet implements kinds.Streaming.
func (s Settings) Outlet(kinds.OutletOptions) outlet.Outlet { return New(s.Path) }

type draft struct{ path keys.At[string] }

func shape() keys.Object[draft] {
	return keys.Object[draft]{Fields: []keys.Field[draft]{
		keys.Must("path", "/var/log/hale/journal.jsonl", "The file. Its folder must be there; the file is made with the "+
			"rights 0640.", keys.Text("a path", "/var/log/hale/journal.jsonl"),
			func(d *draft) *keys.At[string] { return &d.path }),
	}}
}

func compileKeys(_ *keys.Finder, v keys.At[draft]) kinds.Streaming {
	return Settings{keys.Path(v.Value.path)}
}
