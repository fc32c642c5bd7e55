package netprobe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

// What is read of an SSH server before it must have introduced itself.
const (
	maxIntroduction = 255 // bytes of the line, with its end (RFC 4253, 4.2)
	maxForewords    = 64  // lines before it, which are allowed to say anything
	maxForeword     = 16 << 10
)

// introduction reads the line by which an SSH server introduces itself, and says nothing to it: who leaves before keys
// are exchanged costs it least. It returns the line, if there was one.
func (k asker) introduction(ctx context.Context, t probe.Target) (said string, err error) {
	err = k.talk(ctx, t, "tcp", func(conn net.Conn) error {
		line, err := readIntroduction(conn)
		if err != nil {
			return err
		}
		said = firstLine(line)
		return k.matches(t.Spec.SSH.Banner, line)
	})
	return said, err
}

// readIntroduction returns the line that begins with SSH-, without its end. An error that is not the network's is a
// failure.
func readIntroduction(conn io.Reader) (string, error) {
	r := bufio.NewReaderSize(io.LimitReader(conn, maxForeword+maxIntroduction), 1024)
	for range maxForewords {
		line, err := r.ReadString('\n')
		if !strings.HasPrefix(line, "SSH-") && err == nil {
			continue
		}
		switch {
		case err != nil && ofNetwork(err):
			return "", err
		case errors.Is(err, io.EOF) && line == "":
			return "", failure{fleet.ResultProtocol, "the connection was closed before an introduction"}
		case err != nil, len(line) > maxIntroduction:
			return "", failure{fleet.ResultProtocol, "no introduction of SSH"}
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if !strings.HasPrefix(line, "SSH-2.0-") && !strings.HasPrefix(line, "SSH-1.99-") {
			return "", failure{fleet.ResultProtocol, "not version 2 of SSH: " + firstLine(line)}
		}
		return line, nil
	}
	return "", failure{fleet.ResultProtocol, fmt.Sprintf("no introduction of SSH in %d lines", maxForewords)}
}

// matches is a failure when the answer does not match the pattern. An empty pattern is content with anything.
func (k asker) matches(pattern, answer string) error {
	if pattern == "" {
		return nil
	}
	wanted, err := k.patterns.get(pattern, regexp.Compile)
	switch {
	case err != nil:
		return probe.LocalError{Err: err}
	case !wanted.MatchString(answer):
		return failure{fleet.ResultBody, strings.TrimSuffix("the pattern is not in it: "+firstLine(answer), ": ")}
	}
	return nil
}
