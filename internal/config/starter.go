package config

import _ "embed"

//go:embed starter.yaml
var starter string

//go:embed simulated.yaml
var simulatedStarter string

// Starter returns the commented configuration that hale init writes. It is valid as it is, and touches nothing.
func Starter() []byte { return []byte(starter) }

// SimulatedStarter returns the configuration that hale init --simulated writes: its machines exist only inside hale.
func SimulatedStarter() []byte { return []byte(simulatedStarter) }
