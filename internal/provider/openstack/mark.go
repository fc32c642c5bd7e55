package openstack

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"hale/internal/core/fleet"
)

// The mark is metadata of the server, written with the create. hale's id of the server is there, too, and in a tag, by
// which Nova finds it: Nova chooses an id of its own.
const (
	ownKeys = "hale_" // what all of hale's own begin with

	keyID           = "hale_id"
	keyInstallation = "hale_installation"
	keyFleet        = "hale_fleet"
	keyMachine      = "hale_machine"
	keyGeneration   = "hale_generation"
	keyCertified    = "hale_certified"
	keyBuilt        = "hale_built"
	keyKept         = "hale_kept"
	keyNetwork      = "hale_network" // the name of the network of the first interface
	// keyServer is Nova's id of the server that was certified. A copy of a server has the same metadata, but another id
	// of Nova's.
	keyServer = "hale_server"

	keyFlavor     = "hale_flavor"      // the template's word for the server's flavor
	keyFlavorName = "hale_flavor_name" // and Nova's, where that is another

	keyKeepPort = "hale_keep_port" // the first interface outlives the server

	tagPrefix = "hale-"
)

// encodeMark renders the mark as metadata. A server is never marked as kept when it is made.
func encodeMark(m fleet.Mark) map[string]string {
	return map[string]string{
		keyInstallation: string(m.Installation),
		keyFleet:        string(m.Fleet),
		keyMachine:      string(m.Machine),
		keyGeneration:   strconv.FormatUint(uint64(m.Generation), 10),
		keyCertified:    strconv.FormatBool(m.Certified),
		keyBuilt:        m.Built.UTC().Format(time.RFC3339Nano),
	}
}

// mark reads the server's mark. No mark, or one that was copied from another server, is the zero mark without an error.
func (s *server) mark() (fleet.Mark, error) {
	if !s.marked() {
		return fleet.Mark{}, nil
	}
	metadata := s.Metadata
	generation, gerr := strconv.ParseUint(metadata[keyGeneration], 10, 64)
	certified, cerr := strconv.ParseBool(metadata[keyCertified])
	built, berr := time.Parse(time.RFC3339Nano, metadata[keyBuilt])
	kept, kerr := false, error(nil)
	if word, ok := metadata[keyKept]; ok {
		kept, kerr = strconv.ParseBool(word)
	}
	if err := errors.Join(gerr, cerr, berr, kerr); err != nil {
		return fleet.Mark{}, fmt.Errorf("damaged mark: %w", err)
	}
	return fleet.Mark{
		Installation: fleet.Installation(metadata[keyInstallation]),
		Fleet:        fleet.Name(metadata[keyFleet]),
		Machine:      fleet.MachineName(metadata[keyMachine]),
		Generation:   fleet.Generation(generation),
		Certified:    certified,
		Built:        built.UTC(),
		Kept:         kept,
		Instance:     fleet.InstanceID(metadata[keyID]),
	}, nil
}

// marked reports whether the server has a mark, or a part of one. The mark of another server that this one is a copy of
// does not count.
func (s *server) marked() bool {
	_, ok := s.Metadata[keyInstallation]
	of := s.Metadata[keyServer]
	return ok && (of == "" || of == s.ID)
}

// sameMark reports why a server with mark has may not be touched by a caller who believes in want.
func sameMark(want, has fleet.Mark) error {
	switch {
	case has.Installation == "":
		return errors.New("it bears no mark")
	case want.Installation != has.Installation || want.Machine != has.Machine || want.Generation != has.Generation:
		return fmt.Errorf("its mark names %s generation %d of installation %s",
			has.Machine, has.Generation, has.Installation)
	}
	return nil
}
