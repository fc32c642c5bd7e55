package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/api"
	"hale/internal/adapters"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/cli/show"
	"hale/internal/config"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/prose"

	"github.com/spf13/cobra"
)

// adoptFlags say what is to be adopted.
type adoptFlags struct {
	provider, uri, name, fleet, write string
	except, ids, tags, checks         []string
	metadata                          map[string]string
	json                              bool
}

// adoptHelp is what hale adopt --help says.
const adoptHelp = "" +
	"Looks at a provider of the configuration (hale.yaml, unless another is named), or at any libvirt\n" +
	"daemon with --uri, and lists the machines with such a name: how they are, and whether hale would\n" +
	"adopt them. Then it prints the configuration that protects them. It touches nothing. With --write\n" +
	"the configuration is written into a new file; where hale runs on a folder, write it there and say\n" +
	"hale reload."

func (c commander) adoptCommand() *cobra.Command {
	var f adoptFlags
	var log command.LogFlags
	cmd := &cobra.Command{
		Use:   "adopt [FILE|DIR] --name PATTERN | --id ID…",
		Short: "Say which existing machines hale would look after, and write the configuration that does it",
		Long:  adoptHelp,
		Example: "  hale adopt --provider lab --name 'db-*'\n" +
			"  hale adopt --uri qemu:///system --name 'db-*' --check tcp:5432 --write hale.yaml",
		Args: cobra.MaximumNArgs(1),
		RunE: c.Begin(func(cmd *cobra.Command, args []string) error {
			logger, err := log.Logger(c.Err)
			if err != nil {
				return err
			}
			loaded, text, err := c.adopting(args, &f)
			if err != nil {
				return err
			}
			spec := loaded.Fleets[slices.IndexFunc(loaded.Fleets, func(s policy.Spec) bool {
				return string(s.Name) == f.fleet
			})]
			options := command.PreviewOptions{Config: loaded, Fleet: spec, Waiting: c.waiting, Logger: logger}
			found, err := c.Preview(cmd.Context(), options)
			if err != nil {
				return err
			}
			if f.json {
				err = paper.JSON(c.Out, found)
			} else {
				fmt.Fprintln(c.Out, strings.Join(c.sheet().preview(found, f.name), "\n"))
			}
			if err != nil || !adoptable(found) {
				return errors.Join(err, nothingToAdopt(found, f.meant()))
			}
			return c.handOver(text, f)
		}),
	}
	cmd.Flags().StringVar(&f.provider, "provider", "",
		"the provider, where the configuration has several; the name of a new one with --uri")
	cmd.Flags().StringVar(&f.uri, "uri", "", "a libvirt daemon instead of a configuration, as qemu:///system")
	cmd.Flags().StringVar(&f.name, "name", "",
		"the machines' name, or a pattern: * for any characters, ? for one (default: any, where --id, --metadata or "+
			"--tag says which)")
	cmd.Flags().StringSliceVar(&f.except, "except", nil, "names or patterns that are not meant all the same")
	cmd.Flags().StringSliceVar(&f.ids, "id", nil, "the machines' ids at their provider, and no others")
	cmd.Flags().StringToStringVar(&f.metadata, "metadata", nil,
		"texts that the machines bear at their provider, as role=db; all of them")
	cmd.Flags().StringSliceVar(&f.tags, "tag", nil, "words that the machines are tagged with; all of them (OpenStack)")
	cmd.Flags().StringSliceVar(&f.checks, "check", []string{"ping"},
		"how they are asked: ping, tcp:PORT, http or http:PORT; several are allowed")
	cmd.Flags().StringVar(&f.fleet, "fleet", "", "the fleet's name (default: the beginning of the pattern)")
	cmd.Flags().StringVar(&f.write, "write", "", "write the configuration into this new file")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	log.Register(cmd, "error")
	return cmd
}

// waiting says what a command waits for.
func (c commander) waiting(atMost time.Duration) {
	fmt.Fprintf(c.Err, "waiting for hale to see the machines (up to %s)\n", prose.Span(atMost))
}

// adopting returns the configuration with the new fleet, and what is to be added to the file for it.
func (c commander) adopting(args []string, f *adoptFlags) (*config.Config, string, error) {
	if f.name == "" && len(f.ids)+len(f.metadata)+len(f.tags) > 0 {
		f.name = "*"
	}
	if f.name == "" {
		return nil, "", command.Usage(errors.New("say which machines, as --name 'db-*'"))
	}
	base := &config.Config{}
	if f.uri == "" {
		path := command.StarterName
		if len(args) == 1 {
			path = args[0]
		}
		if _, err := os.Stat(path); err != nil && len(args) == 0 {
			return nil, "", command.Usage(
				fmt.Errorf("there is no %s here: name a configuration, or a libvirt daemon as --uri qemu:///system",
					command.StarterName),
			)
		}
		var err error
		if base, err = c.Sound(path); err != nil {
			return nil, "", command.Usage(err)
		}
	} else if len(args) > 0 {
		return nil, "", command.Usage(errors.New("--uri stands for a configuration: give one of the two"))
	}
	if err := f.complete(base); err != nil {
		return nil, "", command.Usage(err)
	}
	text, err := f.yaml()
	if err != nil {
		return nil, "", command.Usage(err)
	}
	whole, err := f.join(base, text)
	if err != nil {
		return nil, "", command.Usage(err)
	}
	return whole, text, nil
}

// Complete fills in what can be told from the rest.
func (f *adoptFlags) complete(base *config.Config) error {
	names := make([]string, len(base.Providers))
	for i, p := range base.Providers {
		names[i] = string(p.Name)
	}
	switch {
	case f.uri != "" && f.provider == "":
		f.provider = "lab"
	case f.uri == "" && f.provider == "" && len(names) == 1:
		f.provider = names[0]
	case f.uri == "" && f.provider == "":
		return fmt.Errorf("say which provider, as --provider %s: the configuration has %s",
			names[0], strings.Join(names, ", "))
	case f.uri == "" && !slices.Contains(names, f.provider):
		return fmt.Errorf("there is no provider %s: the configuration has %s", f.provider, strings.Join(names, ", "))
	}
	if i := slices.Index(names, f.provider); len(f.tags) > 0 && (i < 0 ||
		!adapters.All().Provider(base.Providers[i].Type).Tags) {
		return errors.New("--tag: hale sees no tags at this provider; select by --metadata, or by --name")
	}
	if f.fleet == "" {
		f.fleet = fleetNameOf(f.name)
	}
	if slices.ContainsFunc(base.Fleets, func(s policy.Spec) bool { return string(s.Name) == f.fleet }) {
		return fmt.Errorf("there is a fleet %s already: choose another name with --fleet", f.fleet)
	}
	return nil
}

// fleetNameOf makes a fleet's name of a pattern: "db-*" gives db.
func fleetNameOf(pattern string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(pattern) {
		switch {
		case r >= 'a' && r <= 'z', b.Len() > 0 && (r >= '0' && r <= '9' || r == '-'):
			b.WriteRune(r)
		}
	}
	name, err := fleet.ParseName(strings.Trim(b.String(), "-"))
	if err != nil {
		return "adopted"
	}
	return name
}

// yaml is what protects the machines.
func (f *adoptFlags) yaml() (string, error) {
	var b strings.Builder
	if f.uri != "" {
		fmt.Fprintf(&b, "providers:\n  %s: {type: libvirt, uri: %s}\n\n", f.provider, quoted(f.uri))
	}
	fmt.Fprintf(&b, "fleets:\n  %s:\n    provider: %s\n    select: {name: %s", f.fleet, f.provider, quoted(f.name))
	if len(f.except) > 0 {
		fmt.Fprintf(&b, ", except: [%s]", quotedAll(f.except))
	}
	if len(f.ids) > 0 {
		fmt.Fprintf(&b, ", ids: [%s]", quotedAll(f.ids))
	}
	if len(f.metadata) > 0 {
		var texts []string
		for _, key := range slices.Sorted(maps.Keys(f.metadata)) {
			texts = append(texts, quoted(key)+": "+quoted(f.metadata[key]))
		}
		fmt.Fprintf(&b, ", metadata: {%s}", strings.Join(texts, ", "))
	}
	if len(f.tags) > 0 {
		fmt.Fprintf(&b, ", tags: [%s]", quotedAll(f.tags))
	}
	b.WriteString("}\n    checks:\n")
	for _, text := range f.checks {
		check, err := checkOf(text)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "      %s\n", check)
	}
	return b.String(), nil
}

// quoted writes a text so that YAML takes it for one.
func quoted(text string) string { return strconv.Quote(text) }

func quotedAll(texts []string) string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = quoted(t)
	}
	return strings.Join(out, ", ")
}

// checkOf writes a check that was named in short.
func checkOf(text string) (string, error) {
	kind, port, some := strings.Cut(text, ":")
	number, err := strconv.Atoi(port)
	wrong := some && (err != nil || number < 1 || number > 65535)
	switch {
	case wrong:
	case kind == "ping" && !some:
		return "alive: {ping: {}}", nil
	case kind == "tcp" && some:
		return fmt.Sprintf("port-%d: {tcp: {port: %d}}", number, number), nil
	case kind == "http" && some:
		return fmt.Sprintf("page-%d: {http: {port: %d}}", number, number), nil
	case kind == "http":
		return "page: {http: {}}", nil
	}
	return "", fmt.Errorf("--check %s: write ping, tcp:PORT, http or http:PORT", text)
}

// join reads the fleet as it would be read, beside what there is already.
func (f *adoptFlags) join(base *config.Config, text string) (*config.Config, error) {
	if f.uri == "" {
		text = fmt.Sprintf("providers:\n  %s: {type: simulated}\n", f.provider) + text // the real one is known already
	}
	added, err := config.Parse("adopt", []byte(text), adapters.All())
	if err != nil {
		return nil, err
	}
	if f.uri != "" {
		return added, nil
	}
	whole := *base
	spec := added.Fleets[0]
	for _, other := range base.Fleets {
		if other.Adopt.Selects() && other.Provider == spec.Provider {
			spec.Adopt.Rivals = append(spec.Adopt.Rivals, policy.Rival{Fleet: other.Name, Select: other.Adopt.Select})
		}
	}
	whole.Fleets = append(slices.Clone(base.Fleets), spec)
	return &whole, nil
}

func adoptable(p api.Preview) bool {
	return slices.ContainsFunc(p.Machines, func(m api.PreviewedMachine) bool { return m.Left == "" })
}

// meant says which machines were asked for.
func (f *adoptFlags) meant() string {
	out := f.name
	if len(f.ids) > 0 {
		out += ", with the id " + strings.Join(f.ids, " or ")
	}
	for _, key := range slices.Sorted(maps.Keys(f.metadata)) {
		out += fmt.Sprintf(", with %s=%s", key, f.metadata[key])
	}
	for _, tag := range f.tags {
		out += ", tagged " + tag
	}
	return out
}

// nothingToAdopt says why.
func nothingToAdopt(p api.Preview, name string) error {
	if i := slices.IndexFunc(p.Machines, func(m api.PreviewedMachine) bool {
		return m.Left == api.LeftMarked
	}); i >= 0 {
		m := p.Machines[i]
		return fmt.Errorf("nothing to adopt: hale built %s itself, as machine %s of fleet %s; a machine that bears "+
			"its mark is not adopted but taken back: have fleet %s in the configuration and 'hale reload'; where "+
			"hale's state is lost: hale take-over %s; where it is older: hale recover %s --believe-the-world",
			m.Name, m.With, m.Fleet, m.Fleet, m.Installation, m.Fleet)
	}
	if len(p.Machines) > 0 {
		return fmt.Errorf("nothing to adopt: every instance called %s already belongs to a fleet or to another hale",
			name)
	}
	said := fmt.Sprintf("provider %s has no machine called %s", p.Provider, name)
	if len(p.Others) > 0 {
		said += "; it has " + paper.Named(p.Others)
	}
	return errors.New(said)
}

// handOver prints or writes the configuration.
func (c commander) handOver(text string, f adoptFlags) error {
	if f.write == "" {
		if !f.json {
			fmt.Fprintf(c.Out, "\nThis protects them:\n\n%s", text)
		}
		return nil
	}
	if err := writeNew(f.write, []byte(text)); err != nil {
		return err
	}
	if !f.json {
		next := fmt.Sprintf("a hale that runs on %s takes it in by hale reload", filepath.Dir(f.write))
		if f.uri != "" {
			next = fmt.Sprintf("next: hale plan %s, hale run %s, which repairs what fails; "+
				"with mode: observe in the fleet it only watches", f.write, f.write)
		}
		fmt.Fprintf(c.Out, "\n%s is written; %s\n", f.write, next)
	}
	return nil
}

// preview renders what would be adopted.
func (p sheet) preview(v api.Preview, pattern string) []string {
	if len(v.Machines) == 0 {
		return []string{fmt.Sprintf("provider %s: nothing is called %s", v.Provider, pattern)}
	}
	columns := []paper.Column{
		{
			Title: "NAME",
			Keep:  paper.KeepAlways,
		},
		{Title: "POWER", Keep: paper.KeepAlways},
		{Title: "HEALTH", Keep: paper.KeepAlways},
		{Title: "ADOPTION", Keep: 9, Narrowest: 16},
		{Title: "ADDRESS", Keep: 7},
		{Title: "INSTANCE", Keep: 5},
		{Title: "HOST", Keep: 4},
	}
	ready := 0
	for _, m := range v.Machines {
		if m.Left == "" && m.Verdict == string(belief.VerdictHealthy) {
			ready++
		}
		verdict := m.Verdict
		if verdict == "" {
			verdict = "-"
		}
		for i, c := range []paper.Cell{
			{Text: m.Name}, {Text: m.Power}, {Text: verdict, Style: show.VerdictStyle(m.Verdict)}, {Text: prospects(m)},
			{Text: m.Address}, {Text: prose.Instance(fleet.InstanceID(m.Instance))}, {Text: m.Host},
		} {
			columns[i].Cells = append(columns[i].Cells, c)
		}
	}
	lines := []string{
		fmt.Sprintf("provider %s: %s called %s, %d would be adopted at once",
			v.Provider, paper.Count(len(v.Machines), "machine"), pattern, ready),
	}
	if v.Unseen != "" {
		lines = append(lines, p.Paint(paper.Yellow, "There may be more: "+v.Unseen))
	}
	lines = append(lines, p.Table(columns)...)
	for _, said := range v.Warnings {
		lines = append(lines, p.Paint(paper.Yellow, "warning: "+said))
	}
	return lines
}

// prospects says what would become of the machine.
func prospects(m api.PreviewedMachine) string {
	switch {
	case m.Left == api.LeftMarked:
		return "no: it is hale's own, " + m.With
	case m.Left == api.LeftContested:
		return "no: fleet " + m.With + " selects it, too"
	case m.Verdict == string(belief.VerdictHealthy):
		return "yes"
	}
	said := "not before it is healthy"
	if m.Text != "" {
		said += ": " + m.Text
	}
	return said
}
