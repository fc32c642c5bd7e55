package config

import _ "embed"

//go:embed starter.yaml
var starter string

// Starter returns the commented configuration that hale init writes. It is valid as it is, and touches nothing.
func Starter() []byte { return []byte(starter) }
