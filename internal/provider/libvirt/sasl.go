package libvirt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/xdg-go/scram"
)

// Bounds of a login.
const (
	maxSteps      = 8       // SCRAM takes three
	maxIterations = 1 << 20 // the daemon says how often the password is hashed
)

// introduce logs in where the daemon asks for that. Whatever speaks over the connection afterwards finds it open.
// Daemons offer SCRAM only where something else encrypts the connection.
func (s SASL) introduce(ctx context.Context, conn net.Conn) error {
	u := &speaker{w: conn, r: bufio.NewReader(conn)}
	ways, err := u.call(procAuthList, nil)
	if err != nil || len(ways) < 8 || binary.BigEndian.Uint32(ways[4:]) != authSASL {
		return err
	}
	if s.User == "" {
		return distrustf(nil, "the daemon asks for a name and a password, by SASL: add sasl: {user: …, password: "+
			"{file: …}} to the provider")
	}
	offered, err := u.call(procAuthSASLInit, nil)
	if err != nil {
		return err
	}
	mechanism, hash, err := choose(offered)
	if err != nil {
		return err
	}
	password, err := s.Password.Resolve(ctx)
	if err != nil {
		// as text: a missing file is no missing machine
		return distrustf(nil, "the password for SASL cannot be read: %v", err)
	}
	client, err := hash.NewClient(s.User, password, "")
	if err != nil {
		return distrustf(err, "the name or the password for SASL cannot be used")
	}
	err = u.logIn(mechanism, client.NewConversation())
	if code, answered := codeOf(err); answered {
		return distrustf(err, "the daemon does not let %s in by SASL (code %d): see that user and password are those "+
			"of saslpasswd2, and that sasl_allowed_username_list, if there is one, has the user", s.User, code)
	}
	return err
}

// choose takes the strongest way in that both ends know.
func choose(offered []byte) (string, scram.HashGeneratorFcn, error) {
	list, err := takeText(offered)
	if err != nil {
		return "", nil, err
	}
	mechanisms := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	for _, m := range []struct {
		name string
		hash scram.HashGeneratorFcn
	}{{"SCRAM-SHA-512", scram.SHA512}, {"SCRAM-SHA-256", scram.SHA256}} {
		if slices.Contains(mechanisms, m.name) {
			return m.name, m.hash, nil
		}
	}
	return "", nil, distrustf(nil, "the daemon offers %q by SASL: let it offer scram-sha-256, by mech_list in "+
		"/etc/sasl2/libvirt.conf, which it does with TLS only", list)
}

// logIn converses until both ends are content.
func (u *speaker) logIn(mechanism string, talk *scram.ClientConversation) error {
	said, err := talk.Step("")
	if err != nil {
		return err
	}
	var args bytes.Buffer
	putString(&args, mechanism)
	procedure := uint32(procAuthSASLStart)
	for range maxSteps {
		putChars(&args, said)
		reply, err := u.call(procedure, args.Bytes())
		if err != nil {
			return err
		}
		complete, heard, err := takeStep(reply)
		if err != nil {
			return err
		}
		if !talk.Done() {
			if said, err = talk.Step(heard); err != nil {
				return distrustf(err, "the daemon does not know the password for SASL that hale has, so it may be "+
					"another than it says")
			}
		}
		if complete && talk.Valid() {
			return nil
		}
		if complete {
			return distrustf(nil, "the daemon ended the login by SASL before it proved that it knows the password")
		}
		procedure = procAuthSASLStep
		args.Reset()
	}
	return errors.New("the login by SASL does not end")
}

// putChars writes what libvirt calls a list of characters, four bytes for each, after a word that says that it is
// there.
func putChars(b *bytes.Buffer, s string) {
	putUint(b, 0, uint32(len(s))) //nolint:gosec // a line
	for _, c := range []byte(s) {
		putUint(b, uint32(c))
	}
}

// takeStep reads what the daemon says in a login: whether it is over, and a list of characters.
func takeStep(p []byte) (complete bool, heard string, err error) {
	if len(p) < 12 {
		return false, "", errShort
	}
	n, chars := binary.BigEndian.Uint32(p[8:]), p[12:]
	if uint64(n)*4 > uint64(len(chars)) {
		return false, "", errShort
	}
	text := make([]byte, n)
	for i := range text {
		text[i] = chars[4*i+3]
	}
	for field := range strings.SplitSeq(string(text), ",") {
		if count, ok := strings.CutPrefix(field, "i="); ok {
			if often, err := strconv.Atoi(count); err != nil || often > maxIterations {
				return false, "", fmt.Errorf("the daemon wants the password hashed %s times", count)
			}
		}
	}
	return binary.BigEndian.Uint32(p) == 1, string(text), nil
}

// takeText reads a text.
func takeText(p []byte) (string, error) {
	w := walk{p}
	n, err := w.uint()
	if err != nil {
		return "", err
	}
	text := w.rest
	if err := w.skip(n); err != nil {
		return "", err
	}
	return string(text[:n]), nil
}
