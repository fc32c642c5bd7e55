package libvirt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// startPrefix begins the name of the empty file, in the state folder of each host, that says that this start of hale
// was there; the start's name follows. It ends as nothing does that Delete removes.
func startPrefix(of fleet.Installation) string { return fmt.Sprintf("hale-%s.start-", of) }

// Starts implements provider.StartReader. Where the state folder is no active pool it makes none: nothing was built
// there since the daemon began, and NoteStart makes the pool, with all files that are there.
func (p *Provider) Starts(ctx context.Context, of fleet.Installation) (map[fleet.HostName][]fleet.StartName, error) {
	found := make([][]fleet.StartName, len(p.hosts))
	errs := p.onEachHost(ctx, "libvirt.starts", func(s *session, i int) (err error) {
		found[i], err = s.starts(p.stateDir, of)
		return err
	})
	if err := allFailed(errs); err != nil {
		return nil, err
	}
	starts := make(map[fleet.HostName][]fleet.StartName, len(p.hosts))
	for i, h := range p.hosts {
		if errs[i] == nil {
			starts[h.name] = found[i]
		}
	}
	return starts, nil
}

func (s *session) starts(dir string, of fleet.Installation) ([]fleet.StartName, error) {
	pool, err := s.StoragePoolLookupByTargetPath(dir)
	if isCode(err, golibvirt.ErrNoStoragePool) {
		return nil, nil
	}
	if err != nil {
		return nil, s.fault(err)
	}
	vols, _, err := s.StoragePoolListAllVolumes(pool, 1, 0)
	if err != nil {
		return nil, s.fault(err)
	}
	var names []fleet.StartName
	for _, vol := range vols {
		text, ours := strings.CutPrefix(vol.Name, startPrefix(of))
		if name, err := fleet.ParseStart(text); ours && err == nil {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, fleet.StartName.Compare)
	return names, nil
}

// NoteStart implements provider.StartNoter, on every host that answers.
func (p *Provider) NoteStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	file, err := p.startFile("libvirt.note-start", of, name)
	if err != nil {
		return err
	}
	return allFailed(p.onEachHost(ctx, "libvirt.note-start", func(s *session, _ int) error {
		pool, err := s.poolAt(p.stateDir)
		if err != nil {
			return err
		}
		if _, err := s.StorageVolLookupByName(pool, file); err == nil {
			return nil
		}
		_, err = s.createFile(pool, file, 0)
		if _, answered := codeOf(err); !answered {
			return err
		}
		if there, herr := s.has(pool, file); herr == nil && there {
			return nil // another call was faster, or another host that has the same folder
		}
		return err
	}))
}

// ForgetStart implements provider.StartNoter: it returns an error unless every host answered.
func (p *Provider) ForgetStart(ctx context.Context, of fleet.Installation, name fleet.StartName) error {
	file, err := p.startFile("libvirt.forget-start", of, name)
	if err != nil {
		return err
	}
	errs := p.onEachHost(ctx, "libvirt.forget-start", func(s *session, _ int) error {
		pool, err := s.poolAt(p.stateDir)
		if err != nil {
			return err
		}
		vol, err := s.StorageVolLookupByName(pool, file)
		if err == nil {
			err = s.order(func() error { return s.StorageVolDelete(vol, 0) })
		}
		if isCode(err, golibvirt.ErrNoStorageVol) {
			return nil
		}
		if err != nil {
			return s.fault(err)
		}
		return nil
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// startFile is what the start is noted in. fault.Invalid: it is no start's name, or no installation's.
func (p *Provider) startFile(op string, of fleet.Installation, name fleet.StartName) (string, error) {
	if _, err := fleet.ParseStart(string(name)); err != nil {
		return "", fault.New(fault.Invalid, op, string(name), err)
	}
	if of == "" || strings.Contains(string(of), "/") ||
		p.installation != "" && of != p.installation && of != fleet.ClaimPlace {
		return "", fault.New(fault.Invalid, op, string(name),
			fmt.Errorf("the start is of another installation, %q", of))
	}
	return startPrefix(of) + string(name), nil
}
