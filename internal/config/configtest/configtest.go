// Package configtest makes configurations for tests: one simulated provider, and one fleet on it.
package configtest

import (
	"testing"

	"hale/internal/adapters"
	"hale/internal/config"
)

// Parse returns a configuration with one fleet, web, which has the lines. It ends the test when they are no
// configuration.
func Parse(t testing.TB, lines ...string) *config.Config {
	t.Helper()
	text := "providers: {dream: {type: simulated, boot: 20s, latency: 100ms}}\nfleets:\n  web:\n    provider: dream\n"
	for _, l := range lines {
		text += "    " + l + "\n"
	}
	c, err := config.Parse("hale.yaml", []byte(text), adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	return c
}
