// Command lab holds a private hypervisor for the demo: libvirtd, a DHCP network and a guest image, in
// namespaces of their own.
//
//	lab up DIR                     build the guest, start everything, return (DIR/lab.json says where it is)
//	lab exec DIR -- CMD…           run a command inside the lab's network
//	lab break DIR DOMAIN FAULT     make a domain sick, or well again; no FAULT lists them
//	lab list DIR                   domains: name, state, QEMU processes, addresses
//	lab down [--wipe] DIR          end everything and remove the lab's files; --wipe removes the cached guest too
//
// It needs root and the packages of scripts/install-deps.sh.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"hale/internal/testbed/lab"
)

const usage = `usage:
  lab up DIR
  lab exec DIR -- CMD...
  lab break DIR DOMAIN FAULT
  lab list DIR
  lab down [--wipe] DIR
`

var errUsage = errors.New("wrong arguments")

func main() {
	lab.RunIfChild()
	os.Exit(status())
}

// status runs the command line and returns the exit status.
func status() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		return 2
	case err != nil:
		fmt.Fprintln(os.Stderr, "lab:", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return errUsage
	}
	commands := map[string]func(context.Context, []string) error{
		"up": up, "exec": execInside, "break": breakDomain, "list": list, "down": down,
	}
	command, ok := commands[args[0]]
	if !ok {
		return errUsage
	}
	return command(ctx, args[1:])
}

func up(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	begin := time.Now()
	guest, err := lab.BuildGuest(ctx, "")
	if err != nil {
		return err
	}
	fmt.Printf("guest   %s, kernel %s (%.1f s)\n", guest.Dir, guest.Release, time.Since(begin).Seconds())
	if l, err := lab.Attach(ctx, args[0]); err == nil {
		return fmt.Errorf("a lab runs in %s already", l.Info().Dir)
	}
	l, err := lab.Start(ctx, lab.Options{Dir: args[0], Guest: guest, Detached: true})
	if err != nil {
		return err
	}
	info := l.Info()
	fmt.Printf("libvirt %s\nnetwork %s, %s, guests run by %s\n", info.URI, info.NetworkPath, info.Subnet, info.Accel)
	return nil
}

func execInside(ctx context.Context, args []string) error {
	if len(args) > 1 && args[1] == "--" {
		args = slices.Delete(args, 1, 2)
	}
	if len(args) < 2 {
		return errUsage
	}
	l, err := lab.Attach(ctx, args[0])
	if err != nil {
		return err
	}
	return l.Exec(args[1:])
}

func breakDomain(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%w; faults: %v", errUsage, lab.Faults())
	}
	fault, err := lab.ParseFault(args[2])
	if err != nil {
		return err
	}
	l, err := lab.Attach(ctx, args[0])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return l.Break(ctx, args[1], fault)
}

func list(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	l, err := lab.Attach(ctx, args[0])
	if err != nil {
		return err
	}
	domains, err := l.Domains(ctx)
	if err != nil {
		return err
	}
	for _, d := range domains {
		var addrs []string
		if found, err := l.Addresses(ctx, d.Name); err == nil { // none while it is off
			for _, a := range found {
				addrs = append(addrs, a.String())
			}
		}
		fmt.Printf("%-20s %-12s %d process(es)  %s\n", d.Name, d.State, d.Processes, strings.Join(addrs, " "))
	}
	return nil
}

func down(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("down", flag.ContinueOnError)
	wipe := flags.Bool("wipe", false, "remove the cached guest too")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 {
		return errUsage
	}
	dir := flags.Arg(0)
	if l, err := lab.Attach(ctx, dir); err == nil {
		if err := l.Close(); err != nil {
			return err
		}
	}
	if err := lab.Wipe(ctx, dir); err != nil {
		return err
	}
	if !*wipe {
		return nil
	}
	cache, err := lab.CacheDir()
	if err != nil {
		return err
	}
	return lab.WipeCache(cache)
}
