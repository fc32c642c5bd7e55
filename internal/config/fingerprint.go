package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Fingerprint is the same for configurations that say the same of the fleets and of where they are. What differs
// between servers that share them, as where each one listens, is not in it.
func (c *Config) Fingerprint() (string, error) {
	type place struct {
		Name  fleet.ProviderName
		Type  string
		Hosts []fleet.HostName
	}
	said := struct {
		Fleets    []policy.Spec
		Providers []place
	}{Fleets: c.Fleets}
	for _, p := range c.Providers {
		at := place{Name: p.Name, Type: p.Type}
		for _, h := range p.Hosts {
			at.Hosts = append(at.Hosts, h.Name)
		}
		said.Providers = append(said.Providers, at)
	}
	data, err := json.Marshal(said)
	if err != nil {
		return "", fmt.Errorf("fingerprint of the configuration: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}
