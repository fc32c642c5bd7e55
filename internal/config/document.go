package config

import (
	"bytes"
	"encoding/json"

	"hale/internal/config/fleets"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// Schema returns the JSON Schema of the configuration, for editors, with the keys of all the kinds. It describes the
// form; what only the whole can tell (unknown providers, intervals, ladders) is for Parse.
func Schema(all kinds.All) ([]byte, error) {
	s := documentShape(all).Schema()
	s.Dialect = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "hale configuration"
	s.Defs = map[string]*keys.Schema{"condition": fleets.Condition().Schema()}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
