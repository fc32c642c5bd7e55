package config

import (
	"encoding/json"

	"hale/internal/kinds"
)

// members are those of a provider in the store, beside which its settings lie.
type members Provider

// MarshalJSON implements json.Marshaler: the settings' members lie among the provider's own.
func (p Provider) MarshalJSON() ([]byte, error) {
	own, err := json.Marshal(members(p))
	if err != nil || p.Settings == nil {
		return own, err
	}
	more, err := json.Marshal(p.Settings)
	if err != nil || len(more) <= len("{}") {
		return own, err
	}
	return append(append(own[:len(own)-1], ','), more[1:]...), nil
}

// Stored reads a provider as MarshalJSON wrote it, or a hale before.
func Stored(data []byte, all kinds.All) (Provider, error) {
	var p Provider
	if err := json.Unmarshal(data, (*members)(&p)); err != nil {
		return Provider{}, err
	}
	kind := all.Provider(p.Type)
	if kind == nil {
		return p, nil
	}
	var err error
	p.Settings, err = kind.Stored(data)
	return p, err
}
