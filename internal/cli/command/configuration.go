package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hale/internal/adapters"
	"hale/internal/cli/paper"
	"hale/internal/config"
	"hale/internal/keys"
)

// StarterName is what hale init writes unless told otherwise.
const StarterName = "hale.yaml"

// Configuration is the file or folder that was named, or the one that lies in the working folder.
func Configuration(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	if _, err := os.Stat(StarterName); err != nil {
		return "", Usage(errors.New("name a configuration file or folder: there is no " + StarterName +
			" in this folder (hale init writes one)"))
	}
	return StarterName, nil
}

// Load reads a configuration; all that is wrong with it is a usage error.
func Load(path string) (*config.Config, error) {
	loaded, err := Read(path)
	if err != nil {
		return nil, Usage(err)
	}
	return loaded, nil
}

// Read reads the configuration that a person named.
func Read(path string) (*config.Config, error) {
	if err := Present(path); err != nil {
		return nil, err
	}
	return config.Load(path, adapters.All())
}

// Present says of a configuration that is not there how to get a first one.
func Present(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return Usage(fmt.Errorf(`no file %s; "hale init" writes a first one`, path))
	}
	return nil
}

// Sound reads a configuration and says everything that is wrong with it, a line each, so that programs find the places.
func (c *Call) Sound(path string) (*config.Config, error) {
	loaded, err := Read(path)
	var problems keys.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			fmt.Fprintln(c.Err, p)
		}
		return nil, fmt.Errorf("%s is not valid: %s", path, paper.Count(len(problems), "problem"))
	}
	return loaded, err
}
