package fleets

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// braced is what could be meant as a placeholder.
var braced = regexp.MustCompile(`\{[A-Za-z_-]+\}`)

// placeholders reports what was probably meant as one, and one that could never be filled in. Other braces are the
// program's own.
func (c *compiler) placeholders(s keys.Spot, text string) {
	known := policy.Placeholders()
	for _, word := range braced.FindAllString(text, -1) {
		if meant, near := keys.Nearest(word, known); near && !slices.Contains(known, word) {
			c.Add(s, fmt.Sprintf("%s is not replaced by anything", word), "did you mean "+meant+"?")
		}
	}
	if strings.Contains(text, "{host}") && c.nameless() {
		c.Add(s, fmt.Sprintf("{host} is not replaced by anything: provider %s has no hosts with names",
			c.draft.provider.Value),
			fmt.Sprintf("name its hosts under providers.%s.hosts, or take it out", c.draft.provider.Value))
	}
	c.metaPlaceholders(s, text)
}

// heartbeatPlaceholders reports tokens that the user data would have, and that no check has.
func (c *compiler) heartbeatPlaceholders(text string, checks []policy.Check) {
	for _, found := range heartbeatWord.FindAllStringSubmatch(text, -1) {
		has := slices.ContainsFunc(checks,
			func(k policy.Check) bool { return string(k.Name) == found[1] && k.Heartbeat.PerMachine })
		if !has {
			c.Add(c.draft.template.Value.UserData.Spot, fmt.Sprintf("has %s, which nothing replaces", found[0]),
				fmt.Sprintf("write a heartbeat check %s with a secret", found[1]))
		}
	}
}

// heartbeatWord is a placeholder for a machine's own token.
var heartbeatWord = regexp.MustCompile(`\{heartbeat\.([A-Za-z0-9_-]+)\}`)

// nameless reports whether the fleet's provider is one host, which needs no name.
func (c *compiler) nameless() bool { return c.kind.Single && !c.Hosts.Written() }

// metaPlaceholders reports metadata that the fleet's template does not have. The metadata of machines that existed
// before is not known here.
func (c *compiler) metaPlaceholders(s keys.Spot, text string) {
	t := c.draft.template
	if c.selects() && !t.Written() || t.How == keys.Broken || t.Value.Metadata.How == keys.Broken {
		return
	}
	var has []string
	for _, n := range t.Value.Metadata.Value {
		if n.OK {
			has = append(has, n.Name)
		}
	}
	for _, key := range policy.MetaKeys(text) {
		if slices.Contains(has, key) {
			continue
		}
		hint := keys.DidYouMean(key, has)
		if hint == "" {
			hint = fmt.Sprintf("add template.metadata: {%s: …}", key)
		}
		c.Add(s, fmt.Sprintf("%s is not replaced by anything: the template's metadata have no %s",
			policy.MetaPlaceholder(key), key), hint)
	}
}

// metadataKeys are those that a placeholder can name.
var metadataKeys = keys.KeyForm{Noun: "a key of metadata", Pattern: "^[A-Za-z0-9._:-]+$"}

// metadata returns what the template's instances bear.
func (c *compiler) metadata() fleet.Metadata {
	texts, size := map[string]string{}, 0
	d := c.draft.template.Value.Metadata
	for _, n := range d.Value {
		if !fleet.MetadataValue(n.Value) {
			c.Add(n.Spot, "has more than one line", "write it in one line")
		}
		if keys.Hushed(n.Name) {
			c.Add(n.Spot, "is a secret by its name; what an instance bears everybody can read at its provider",
				"take it out")
		}
		texts[n.Name], size = n.Value, size+len(n.Name)+len(n.Value)+2
	}
	if size > fleet.MetadataLimit {
		c.Add(d.Spot, fmt.Sprintf("has %d bytes", size), fmt.Sprintf("keep it to %d", fleet.MetadataLimit))
	}
	return fleet.MetadataOf(texts)
}
