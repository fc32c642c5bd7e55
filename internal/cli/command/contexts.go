package command

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"hale/api"

	"github.com/goccy/go-yaml"
)

// Contexts are the hales that a person steers from this machine, by name.
type Contexts struct {
	Current string             `yaml:"current,omitempty"`
	Known   map[string]Context `yaml:"contexts,omitempty"`
}

// Context is one hale, and by what it is reached.
type Context struct {
	Server      string `yaml:"server"`
	CA          string `yaml:"ca,omitempty"` // a file; empty: as the system has it
	Token       string `yaml:"token,omitempty"`
	TokenFile   string `yaml:"token_file,omitempty"`
	Certificate string `yaml:"certificate,omitempty"` // files, of a client that shows one
	Key         string `yaml:"key,omitempty"`
}

// longestContexts is more than any file of contexts has, in bytes.
const longestContexts = 1 << 20

// contextsFile is where they are kept.
func (c *Call) contextsFile() (string, error) {
	if dir := c.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hale", "contexts.yaml"), nil
	}
	if home := c.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "hale", "contexts.yaml"), nil
	}
	return "", errors.New("there is no home folder for contexts: name the server with --server")
}

// Contexts reads them. A file that others may read is refused: it has tokens.
func (c *Call) Contexts() (Contexts, error) {
	out := Contexts{Known: map[string]Context{}}
	file, err := c.contextsFile()
	if err != nil {
		return out, err
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return out, fmt.Errorf("%s has tokens and others may read it: chmod 600 %s", file, file)
	}
	if info.Size() > longestContexts {
		return out, fmt.Errorf("%s is not a file of contexts", file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return out, err
	}
	if yaml.UnmarshalWithOptions(data, &out, yaml.Strict()) != nil { // what it says may be a token
		return out, fmt.Errorf("%s cannot be read as contexts; hale context add writes it", file)
	}
	if out.Known == nil {
		out.Known = map[string]Context{}
	}
	return out, nil
}

// KeepContexts writes them, for nobody else to read. What was there stays until all is written.
func (c *Call) KeepContexts(all Contexts) error {
	file, err := c.contextsFile()
	if err != nil {
		return err
	}
	data, err := yaml.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(file), ".contexts-") // of mode 0600
	if err != nil {
		return err
	}
	_, err = draft.Write(data)
	err = errors.Join(err, draft.Sync(), draft.Close())
	if err == nil {
		err = os.Rename(draft.Name(), file)
	}
	if err != nil {
		_ = os.Remove(draft.Name())
	}
	return err
}

// where is what was named of the server, by flags or in the environment. Empty: nothing was.
func (c *Call) where() (Context, error) {
	at := Context{Server: c.server, CA: c.ca, TokenFile: c.tokenFile}
	named := c.context
	if c.socket != "" || c.dataDir != "" {
		if at != (Context{}) || named != "" {
			return at, Usage(errors.New("name a server, or a socket, and not both"))
		}
		return Context{}, nil
	}
	if at.Server == "" && named == "" {
		at.Server, named = c.Getenv("HALE_SERVER"), c.Getenv("HALE_CONTEXT")
	}
	if at.Server != "" {
		return c.shown(at), nil
	}
	all, err := c.Contexts()
	if named == "" && c.Getenv("HALE_SOCKET") != "" {
		return Context{}, nil
	}
	if err != nil {
		return Context{}, err
	}
	if named == "" {
		named = all.Current
	}
	if named == "" {
		return Context{}, nil
	}
	is, known := all.Known[named]
	if !known {
		return Context{}, Usage(fmt.Errorf("there is no context %s: see hale context list", named))
	}
	if at.CA != "" {
		is.CA = at.CA
	}
	if at.TokenFile != "" {
		is.Token, is.TokenFile = "", at.TokenFile
	}
	return is, nil
}

// shown adds the token that the environment has.
func (c *Call) shown(at Context) Context {
	switch {
	case at.TokenFile != "":
	case c.Getenv("HALE_TOKEN_FILE") != "":
		at.TokenFile = c.Getenv("HALE_TOKEN_FILE")
	default:
		at.Token = c.Getenv("HALE_TOKEN")
	}
	return at
}

// Reach makes a client of the context.
func (at Context) Reach() (*api.Client, error) {
	s := api.Server{URL: at.Server, Token: at.Token}
	if at.TokenFile != "" {
		var err error
		if s.Token, err = ReadToken(at.TokenFile); err != nil {
			return nil, err
		}
	}
	if at.CA == "" && at.Certificate == "" {
		client, err := api.DialServer(s)
		return client, asUsage(err)
	}
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if at.CA != "" {
		data, err := os.ReadFile(at.CA)
		if err != nil {
			return nil, err
		}
		if s.TLS.RootCAs = x509.NewCertPool(); !s.TLS.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("%s has no certificate in PEM form", at.CA)
		}
	}
	if at.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(at.Certificate, at.Key)
		if err != nil {
			return nil, err
		}
		s.TLS.Certificates = []tls.Certificate{pair}
	}
	client, err := api.DialServer(s)
	return client, asUsage(err)
}

func asUsage(err error) error {
	if err != nil {
		return Usage(err)
	}
	return nil
}

var plainToken = regexp.MustCompile(`^[\x21-\x7e]+$`)

// ReadToken reads a token from a file. The error does not repeat what is in it.
func ReadToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	if !plainToken.MatchString(text) {
		return "", fmt.Errorf("%s does not have a token, and nothing else", file)
	}
	return text, nil
}
