package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"hale/internal/fault"
)

func secret(t *testing.T, reference string) Secret {
	t.Helper()
	s, err := ParseSecret(reference)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

//nolint:paralleltest // it sets the environment
func TestS75SecretsAreReadWhereTheyAreKept(t *testing.T) {
	t.Setenv("HALE_TEST_TOKEN", "s3cret")
	t.Setenv("HALE_TEST_EMPTY", "")
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "line one\nline two\n")
	for reference, want := range map[string]string{
		"env:HALE_TEST_TOKEN": "s3cret",
		"file:" + file:        "line one\nline two",
	} {
		if got, err := secret(t, reference).Resolve(t.Context()); err != nil || got != want {
			t.Errorf("%s: %q, %v", reference, got, err)
		}
	}
	for reference, want := range map[string]fault.Kind{
		"env:HALE_TEST_NONE":            fault.NotFound,
		"env:HALE_TEST_EMPTY":           fault.Invalid,
		"file:" + file + ".none":        fault.NotFound,
		"file:" + filepath.Dir(file):    fault.Permanent,
		"file:/proc/self/nothing/there": fault.NotFound,
	} {
		if got, err := secret(t, reference).Resolve(t.Context()); !fault.Is(err, want) || got != "" {
			t.Errorf("%s: %q, %v", reference, got, err)
		}
	}
}

func TestS75LiteralSecretIsRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "hunter2", "env:", "env:A=hunter2", "file:hunter2", "file:", "vault:hunter2", "ENV:hunter2"} {
		if _, err := ParseSecret(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestS75SecretNeverRenders(t *testing.T) {
	t.Parallel()
	s := secret(t, "env:HALE_WHERE")
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logger.Info("one", "secret", s, "pointer", &s, "within", map[string]Secret{"a": s})
	slog.New(slog.NewJSONHandler(&log, nil)).Info("two", "secret", s, "within", []Secret{s})
	encoded, err := json.Marshal(map[string]any{"a": s, "b": []Secret{s}, "c": struct{ S *Secret }{&s}})
	if err != nil {
		t.Fatal(err)
	}
	rendered := []string{s.String(), log.String(), string(encoded), fmt.Errorf("with %w and %v", fmt.Errorf("%v", s), s).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%T%v"} {
		rendered = append(rendered, fmt.Sprintf(strings.Replace(verb, "%T", "", 1), s), fmt.Sprintf("%v", []Secret{s}))
	}
	for _, r := range rendered {
		if strings.Contains(r, "HALE_WHERE") || !strings.Contains(r, redacted) {
			t.Errorf("rendered as %s", r)
		}
	}
}
