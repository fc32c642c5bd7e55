package keys

import (
	"slices"
	"strings"

	"hale/internal/near"
)

// synonyms are words that other systems have for what is meant.
var synonyms = map[string][]string{
	"restart": {"reboot"}, "reset": {"reboot"}, "poweron": {"start"}, "boot": {"start"}, "unpause": {"resume"},
	"replace":     {"recreate"},
	"reprovision": {"recreate"}, "reinstall": {"rebuild"}, "notify": {"page"}, "alert": {"page"},
	"interval": {"every"}, "replicas": {"size"},
	"count": {"size"}, "scaling": {"size"}, "autoscaling": {"size"}, "autoscale": {"size"}, "exec": {"run"},
	"command": {"run"}, "script": {"run"}, "livemigrate": {"migrate"},
}

// Nearest returns the candidate that was probably meant, and whether there is one. Case, hyphens and underscores do
// not count as differences: downAfter means down_after.
func Nearest(word string, candidates []string) (string, bool) {
	for _, meant := range synonyms[plain(word)] {
		if slices.Contains(candidates, meant) {
			return meant, true
		}
	}
	best, least := "", 1+max(1, min(3, len(word)/3))
	for _, c := range candidates {
		if d := near.Distance(plain(word), plain(c)); d < least {
			best, least = c, d
		}
	}
	return best, best != ""
}

func plain(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// DidYouMean is a hint: the nearest of the known words, or all of them.
func DidYouMean(word string, known []string) string {
	if k, ok := Nearest(word, known); ok {
		return "did you mean " + k + "?"
	}
	if len(known) == 0 {
		return ""
	}
	sorted := slices.Clone(known)
	slices.Sort(sorted)
	return "known here: " + strings.Join(sorted, ", ")
}
