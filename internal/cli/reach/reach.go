// Package reach has the commands about who may steer hale from where: tokens, sign-in, contexts, the audit, and what
// waits for a second person.
package reach

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hale/api"
	"hale/internal/cli/command"
	"hale/internal/cli/paper"
	"hale/internal/core/fleet"

	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
func Commands(c *command.Call) []*cobra.Command {
	r := reacher{c}
	return []*cobra.Command{r.token(), r.login(), r.context(), r.audit(), r.secondPerson()}
}

type reacher struct{ *command.Call }

// group is a command that only has others below it.
func (r reacher) group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: r.Begin(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(below...)
	return cmd
}

// asking is a command that asks the controller, and prints what it answers.
func asking[T any](r reacher, cmd *cobra.Command, ask func(*cobra.Command, *api.Client, []string) (T, error),
	show func(T)) *cobra.Command {
	var asJSON bool
	cmd.RunE = r.Begin(func(cmd *cobra.Command, args []string) error {
		client, err := r.Dial()
		if err != nil {
			return err
		}
		defer client.Close()
		got, err := ask(cmd, client, args)
		switch {
		case err != nil:
			return err
		case asJSON:
			return paper.JSON(r.Out, got)
		}
		show(got)
		return nil
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (r reacher) token() *cobra.Command {
	return r.group("token", "Make, list and revoke the tokens by which programs and other machines reach hale",
		r.makeToken(), r.listTokens(), r.revokeToken())
}

func (r reacher) makeToken() *cobra.Command {
	var q api.TokenRequest
	var lasts string
	cmd := &cobra.Command{
		Use: "create", Short: "Make a token, and print it: it is told this once", Args: cobra.NoArgs,
		Long: "The token alone goes to standard output, so that it can be put into a file:\n\n" +
			"  hale token create --name laptop --role operator --for 90d >laptop.token\n\n" +
			"hale keeps a hash of it only. It may no more than who makes it, and does not outlive a token that made it.",
	}
	cmd.Flags().StringVar(&q.Name, "name", "", "what it is for (must be given)")
	cmd.Flags().StringVar(&q.Role, "role", "", "viewer, holder, operator or admin (must be given)")
	cmd.Flags().StringVar(&lasts, "for", "", "how long it counts, as 90d (must be given)")
	cmd.Flags().StringVar(&q.Person, "person", "", "who is to have it, as an address of mail (default: you)")
	cmd.Flags().StringSliceVar(&q.Fleets, "fleet", nil, "in these fleets only")
	command.Complete(cmd, "fleet", r.CompleteFleets)
	return asking(r, cmd, func(cmd *cobra.Command, client *api.Client, _ []string) (api.NewToken, error) {
		if q.Name == "" || q.Role == "" || lasts == "" {
			return api.NewToken{}, command.Usage(errors.New("write --name, --role and --for, as --for 90d"))
		}
		d, err := fleet.ParseSpan(lasts)
		if err != nil {
			return api.NewToken{}, command.Usage(fmt.Errorf("--for: %w", err))
		}
		q.For = api.Duration(d)
		return client.MakeToken(cmd.Context(), q)
	}, func(t api.NewToken) {
		fmt.Fprintln(r.Out, t.Text)
		fmt.Fprintf(r.Err, "token %s of %s counts until %s; it is not told again\n", t.ID, t.Person, day(t.Expires))
	})
}

func day(at time.Time) string { return at.Local().Format("2006-01-02 15:04") }

func (r reacher) listTokens() *cobra.Command {
	return asking(r, &cobra.Command{Use: "list", Short: "List the tokens that you may revoke", Args: cobra.NoArgs},
		func(cmd *cobra.Command, client *api.Client, _ []string) (api.Tokens, error) {
			return client.Tokens(cmd.Context())
		}, func(all api.Tokens) {
			if len(all.Tokens) == 0 {
				fmt.Fprintln(r.Out, "no tokens")
			}
			for _, t := range all.Tokens {
				used := "never used"
				if !t.Used.IsZero() {
					used = "used last " + day(t.Used)
				}
				fmt.Fprintf(r.Out, "%s  %s  of %s  %s  %s until %s, %s\n",
					t.ID, t.Name, t.Person, grants(t.Grants), t.State, day(t.Expires), used)
			}
		})
}

func grants(all []api.Grant) string {
	var out []string
	for _, g := range all {
		said := g.Role
		if len(g.Fleets) > 0 {
			said += " in " + strings.Join(g.Fleets, ", ")
		}
		out = append(out, said)
	}
	return strings.Join(out, "; ")
}

func (r reacher) revokeToken() *cobra.Command {
	return asking(r, &cobra.Command{
		Use: "revoke ID", Short: "End a token, and all that were made by it, at once", Args: cobra.ExactArgs(1),
	}, func(cmd *cobra.Command, client *api.Client, args []string) (api.Revoked, error) {
		return client.Revoke(cmd.Context(), args[0])
	}, func(gone api.Revoked) { fmt.Fprintln(r.Out, "revoked: "+strings.Join(gone.Revoked, ", ")) })
}

func (r reacher) audit() *cobra.Command {
	var q api.AuditQuery
	var since string
	cmd := &cobra.Command{
		Use: "audit", Short: "Who did, or tried, what by the API", Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&since, "since", "", "only what happened in this time, as 24h or 7d")
	cmd.Flags().StringVar(&q.Who, "who", "", "only callers with this in their name, or this id")
	cmd.Flags().StringVar(&q.Only, "only", "", "acts or refusals")
	cmd.Flags().IntVar(&q.Limit, "limit", 100, "the newest so many")
	return asking(r, cmd, func(cmd *cobra.Command, client *api.Client, _ []string) (api.Audit, error) {
		if since != "" {
			d, err := fleet.ParseSpan(since)
			if err != nil {
				return api.Audit{}, command.Usage(fmt.Errorf("--since: %w", err))
			}
			q.Since = time.Now().Add(-d)
		}
		return client.Audit(cmd.Context(), q)
	}, func(all api.Audit) {
		for _, a := range all.Records {
			said := fmt.Sprintf("%s  %-8s %s %s", a.At.Local().Format(time.DateTime), a.Result, a.Operation,
				strings.Join(a.About, " "))
			said = strings.TrimRight(said, " ") + "  by " + cmp.Or(a.Name, "an unknown caller")
			if a.From != "" {
				said += " from " + a.From
			}
			if a.Count > 1 {
				said += fmt.Sprintf(", %d times", a.Count)
			}
			if a.Why != "" {
				said += ": " + a.Why
			}
			fmt.Fprintln(r.Out, said)
		}
	})
}

func (r reacher) secondPerson() *cobra.Command {
	show := func(a api.Act) {
		fmt.Fprintf(r.Out, "%s  %s of %s  %s\n    asked by %s, %s, until %s\n    %s\n    %s\n", a.ID, a.Risk,
			strings.Join(a.About, ", "), a.Standing, a.By.Name, day(a.At), day(a.Expires), a.Request, a.Body)
		if a.Second != nil {
			fmt.Fprintf(r.Out, "    %s: %s, answered %d\n", a.Standing, a.Second.Name, a.Status)
		}
	}
	list := asking(r, &cobra.Command{Use: "list", Short: "List what waits, and what did in the last week",
		Args: cobra.NoArgs},
		func(cmd *cobra.Command, client *api.Client, _ []string) (api.Acts, error) {
			return client.Acts(cmd.Context())
		},
		func(all api.Acts) {
			if len(all.Acts) == 0 {
				fmt.Fprintln(r.Out, "nothing waits for a second person")
			}
			for _, a := range all.Acts {
				show(a)
			}
		})
	agree := asking(r, &cobra.Command{
		Use: "agree ID", Short: "Agree to an act: exactly what was asked for is carried out", Args: cobra.ExactArgs(1),
	}, func(cmd *cobra.Command, client *api.Client, args []string) (api.Act, error) {
		return client.Agree(cmd.Context(), args[0])
	}, show)
	withdraw := &cobra.Command{
		Use: "withdraw ID", Short: "End an act that waits", Args: cobra.ExactArgs(1),
		RunE: r.Begin(func(cmd *cobra.Command, args []string) error {
			client, err := r.Dial()
			if err != nil {
				return err
			}
			defer client.Close()
			return client.Withdraw(cmd.Context(), args[0])
		}),
	}
	return r.group("second-person", "See what waits for a second person, and agree to it", list, agree, withdraw)
}

func (r reacher) login() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "login", Short: "Sign in at a hale on another machine, by its OpenID provider", Args: cobra.NoArgs,
		Long: "Prints an address and a code, to be opened on any device, and waits until you have signed in there.\n" +
			"The token that you get counts for 12 hours and is kept in a context; sign in again when it is over.",
	}
	cmd.Flags().StringVar(&name, "name", "", "the context to keep it in (default: the server's name)")
	cmd.RunE = r.Begin(func(cmd *cobra.Command, _ []string) error {
		at, err := r.Server()
		if err != nil {
			return err
		}
		if at.Server == "" {
			return command.Usage(errors.New("name the server: --server https://hale.example.org:7117"))
		}
		at.Token, at.TokenFile = "", ""
		client, err := at.Reach()
		if err != nil {
			return err
		}
		defer client.Close()
		ticket, err := r.signIn(cmd, client)
		if err != nil {
			return err
		}
		at.Token = ticket.Token
		if at.CA != "" { // it is read from wherever the next command is given
			if at.CA, err = filepath.Abs(at.CA); err != nil {
				return err
			}
		}
		if err := r.keep(cmp.Or(name, hostOf(at.Server)), at); err != nil {
			return err
		}
		fmt.Fprintf(r.Out, "signed in as %s until %s\n", ticket.Person, day(ticket.Expires))
		return nil
	})
	return cmd
}

// signIn shows the code, and waits for the person.
func (r reacher) signIn(cmd *cobra.Command, client *api.Client) (api.Ticket, error) {
	d, err := client.BeginSignIn(cmd.Context())
	if err != nil {
		return api.Ticket{}, err
	}
	fmt.Fprintf(r.Err, "open %s and type in the code %s, until %s\n", d.Address, d.Code, day(d.Expires))
	for {
		ticket, err := client.AwaitSignIn(cmd.Context(), d.Handle)
		if err != nil || !ticket.Waits {
			return ticket, err
		}
	}
}

func hostOf(server string) string {
	if u, err := url.Parse(server); err == nil {
		return u.Hostname()
	}
	return server
}

// keep writes a context, and makes it the current one.
func (r reacher) keep(name string, at command.Context) error {
	all, err := r.Contexts()
	if err != nil {
		return err
	}
	all.Known[name], all.Current = at, name
	return r.KeepContexts(all)
}

func (r reacher) context() *cobra.Command {
	return r.group("context", "Name the hales on other machines that you steer from here",
		r.addContext(), r.useContext(), r.listContexts(), r.removeContext())
}

func (r reacher) addContext() *cobra.Command {
	var at command.Context
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a hale, and use it from now on", Args: cobra.ExactArgs(1),
		Long: "It is written to contexts.yaml in hale's folder of your configuration, which nobody else may read:\n\n" +
			"  hale context add prod --server https://hale.example.org:7117 --token-file laptop.token\n\n" +
			"The token is copied out of its file.",
		RunE: r.Begin(func(_ *cobra.Command, args []string) error {
			named, err := r.Server()
			if err != nil {
				return err
			}
			if named.Server == "" {
				return command.Usage(errors.New("name the server: --server https://hale.example.org:7117"))
			}
			at.Server, at.Token = named.Server, named.Token
			if named.TokenFile != "" {
				if at.Token, err = command.ReadToken(named.TokenFile); err != nil {
					return err
				}
			}
			for of, path := range map[string]*string{named.CA: &at.CA, at.Certificate: &at.Certificate,
				at.Key: &at.Key} {
				if of == "" {
					continue
				}
				if *path, err = filepath.Abs(of); err != nil {
					return err
				}
				if _, err := os.Stat(*path); err != nil {
					return err
				}
			}
			client, err := at.Reach() // what is wrong with it is said now
			if err != nil {
				return err
			}
			client.Close()
			return r.keep(args[0], at)
		}),
	}
	cmd.Flags().StringVar(&at.Certificate, "certificate", "", "the file with a client certificate to show")
	cmd.Flags().StringVar(&at.Key, "key", "", "the file with its key")
	return cmd
}

func (r reacher) useContext() *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Use a hale that was added; - is the one on this machine", Args: cobra.ExactArgs(1),
		RunE: r.Begin(func(_ *cobra.Command, args []string) error {
			all, err := r.Contexts()
			if err != nil {
				return err
			}
			if _, known := all.Known[args[0]]; !known && args[0] != "-" {
				return command.Usage(fmt.Errorf("there is no context %s: see hale context list", args[0]))
			}
			all.Current = strings.TrimPrefix(args[0], "-")
			return r.KeepContexts(all)
		}),
	}
}

func (r reacher) listContexts() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the hales that were added", Args: cobra.NoArgs,
		RunE: r.Begin(func(*cobra.Command, []string) error {
			all, err := r.Contexts()
			if err != nil {
				return err
			}
			for _, name := range slices.Sorted(maps.Keys(all.Known)) {
				mark := "  "
				if name == all.Current {
					mark = "* "
				}
				fmt.Fprintln(r.Out, mark+name+"  "+all.Known[name].Server)
			}
			return nil
		}),
	}
}

func (r reacher) removeContext() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Forget a hale, and its token", Args: cobra.ExactArgs(1),
		RunE: r.Begin(func(_ *cobra.Command, args []string) error {
			all, err := r.Contexts()
			if err != nil {
				return err
			}
			if _, known := all.Known[args[0]]; !known {
				return command.Usage(fmt.Errorf("there is no context %s: see hale context list", args[0]))
			}
			delete(all.Known, args[0])
			if all.Current == args[0] {
				all.Current = ""
			}
			return r.KeepContexts(all)
		}),
	}
}
