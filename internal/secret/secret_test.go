package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/secret"
)

func env(t *testing.T, name string) secret.Secret {
	t.Helper()
	s, err := secret.Env(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func file(t *testing.T, path string) secret.Secret {
	t.Helper()
	s, err := secret.File(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func kept(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

//nolint:paralleltest // it sets the environment
func TestS75SecretsAreReadWhereTheyAreKept(t *testing.T) {
	t.Setenv("HALE_TEST_TOKEN", "s3cret")
	t.Setenv("HALE_TEST_EMPTY", "")
	for name, s := range map[string]secret.Secret{
		"environment":           env(t, "HALE_TEST_TOKEN"),
		"file":                  file(t, kept(t, "s3cret", 0o600)),
		"file with a line":      file(t, kept(t, "s3cret\n", 0o600)),
		"file from elsewhere":   file(t, kept(t, "s3cret\r\n", 0o600)),
		"file its group reads":  file(t, kept(t, "s3cret", 0o640)),
		"file everybody reads!": file(t, kept(t, "s3cret", 0o644)),
	} {
		if got, err := s.Resolve(t.Context()); err != nil || got != "s3cret" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, c := range map[string]struct {
		s    secret.Secret
		want fault.Kind
	}{
		"not set":         {env(t, "HALE_TEST_NONE"), fault.NotFound},
		"empty":           {env(t, "HALE_TEST_EMPTY"), fault.Invalid},
		"no file":         {file(t, filepath.Join(t.TempDir(), "none")), fault.NotFound},
		"a folder":        {file(t, t.TempDir()), fault.Permanent},
		"several lines":   {file(t, kept(t, "s3cret\nmore\n", 0o600)), fault.Invalid},
		"an empty file":   {file(t, kept(t, "\n", 0o600)), fault.Invalid},
		"far too long":    {file(t, kept(t, strings.Repeat("s3cret", 20_000), 0o600)), fault.Permanent},
		"no reference":    {secret.Secret{}, fault.Permanent},
		"nothing like it": {file(t, "/proc/self/nothing/there"), fault.NotFound},
	} {
		got, err := c.s.Resolve(t.Context())
		if !fault.Is(err, c.want) || got != "" || strings.Contains(fmt.Sprint(err), "s3cret") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestS75ARotatedSecretIsTakenUp(t *testing.T) {
	t.Parallel()
	path := kept(t, "old", 0o600)
	s := file(t, path)
	for _, want := range []string{"old", "new"} {
		if err := os.WriteFile(path, []byte(want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Resolve(t.Context()); err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestS75WhatIsNoReferenceIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "hunter2 and more", "A=hunter2", "hunter2\n"} {
		if _, err := secret.Env(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "hunter2", "./hunter2", "/tmp/\x00hunter2"} {
		if _, err := secret.File(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestS75AFileThatEverybodyReadsIsNamed(t *testing.T) {
	t.Parallel()
	for mode, exposed := range map[os.FileMode]bool{
		0o600: false, 0o400: false, 0o640: false, 0o440: false,
		0o644: true, 0o604: true, 0o602: true, 0o660: true, 0o777: true,
	} {
		said := file(t, kept(t, "s3cret", mode)).Exposed()
		if (said != "") != exposed || strings.Contains(said, "s3cret") {
			t.Errorf("%o: %q", mode, said)
		}
	}
	if said := env(t, "HOME").Exposed() + file(t, "/nowhere/at/all").Exposed() +
		(secret.Secret{}).Exposed(); said != "" {
		t.Errorf("%q", said)
	}
}

func TestS75SecretNeverRenders(t *testing.T) {
	t.Parallel()
	s := env(t, "HALE_WHERE")
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logger.Info("one", "secret", s, "pointer", &s, "within", map[string]secret.Secret{"a": s})
	slog.New(slog.NewJSONHandler(&log, nil)).Info("two", "secret", s, "within", []secret.Secret{s})
	encoded, err := json.Marshal(map[string]any{
		"a": s,
		"b": []secret.Secret{s},
		"c": struct{ S *secret.Secret }{&s},
		"d": map[secret.Secret]int{s: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	rendered := []string{
		s.String(),
		s.GoString(),
		log.String(),
		string(encoded),
		fmt.Errorf("with %w and %v", fmt.Errorf("%v", s), s).Error(),
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		rendered = append(rendered, fmt.Sprintf(verb, s), fmt.Sprintf(verb, []secret.Secret{s}),
			fmt.Sprintf(verb, struct{ S secret.Secret }{s}))
	}
	for _, r := range rendered {
		if strings.Contains(r, "HALE_WHERE") || !strings.Contains(r, secret.Shown) {
			t.Errorf("rendered as %s", r)
		}
	}
}

// TestS75APolicyNamesAPlaceAndShowsNone: what a check refers to is the same secret, and renders as little.
func TestS75APolicyNamesAPlaceAndShowsNone(t *testing.T) {
	t.Parallel()
	path := kept(t, "s3cret", 0o600)
	of, err := secret.Of(fleet.Secret{File: path})
	if value, resolved := of.Resolve(t.Context()); err != nil || resolved != nil || value != "s3cret" {
		t.Errorf("%q, %v, %v", value, err, resolved)
	}
	if of, err := secret.Of(fleet.Secret{Env: "HALE_WHERE"}); err != nil || of != env(t, "HALE_WHERE") {
		t.Errorf("%v", err)
	}
	if of, err := secret.Of(fleet.Secret{}); err != nil || !of.None() {
		t.Errorf("%v", err)
	}
	c := policy.Check{
		HTTP: policy.HTTPCheck{Headers: []policy.Header{{Name: "A", Secret: fleet.Secret{File: path}}}},
		Exec: policy.ExecCheck{Env: []policy.Variable{{Name: "B", Secret: fleet.Secret{Env: "HALE_WHERE"}}}},
	}
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	rendered := []string{string(encoded)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		rendered = append(rendered, fmt.Sprintf(verb, c))
	}
	for _, r := range rendered {
		if strings.Contains(r, path) || strings.Contains(r, "HALE_WHERE") || !strings.Contains(r, secret.Shown) {
			t.Errorf("rendered as %s", r)
		}
	}
}
