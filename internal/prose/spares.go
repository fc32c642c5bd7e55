package prose

import (
	"fmt"
	"strings"

	"hale/internal/core/fleet"
)

// Spares says which machines do not serve, and why there are any.
func Spares(names []fleet.MachineName) string {
	said := make([]string, len(names))
	for i, n := range names {
		said[i] = string(n)
	}
	if len(said) == 1 {
		return said[0] + " is a spare: it takes the place of a machine that cannot serve"
	}
	return strings.Join(said, ", ") + " are spares: they take the places of machines that cannot serve"
}

// SparesOf counts spares: "1 spare", "2 spares".
func SparesOf(n int) string {
	if n == 1 {
		return "1 spare"
	}
	return fmt.Sprintf("%d spares", n)
}
