package cloud_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"hale/internal/testbed/cloud"
)

func TestMain(m *testing.M) { os.Exit(cloud.Main(m, cloud.Options{})) }

// client never waits longer than a loaded machine needs to hash a password.
func client() *http.Client { return &http.Client{Timeout: time.Minute} }

// login returns a token of the account, and the status of the answer.
func login(t *testing.T, name, password string) (string, int) {
	t.Helper()
	domain := map[string]any{"name": "Default"}
	body, err := json.Marshal(map[string]any{"auth": map[string]any{
		"identity": map[string]any{
			"methods":  []string{"password"},
			"password": map[string]any{"user": map[string]any{"name": name, "domain": domain, "password": password}},
		},
		"scope": map[string]any{"project": map[string]any{"name": name, "domain": domain}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, cloud.Keystone+"/auth/tokens",
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	resp, err := client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.Header.Get("X-Subject-Token"), resp.StatusCode
}

func TestOnlyTheAccountsReachNova(t *testing.T) {
	t.Parallel()
	for _, name := range []string{cloud.Admin, cloud.Demo, cloud.Other} {
		token, status := login(t, name, "hale")
		if status != http.StatusCreated {
			t.Fatalf("%s: Keystone answers %d", name, status)
		}
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cloud.Nova+"/v2.1/flavors", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Auth-Token", token)
		resp, err := client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(cloud.Flavor)) {
			t.Errorf("%s: Nova answers %d: %s, %v", name, resp.StatusCode, body, err)
		}
	}
	if _, status := login(t, cloud.Demo, "guess"); status != http.StatusUnauthorized {
		t.Errorf("a wrong password: Keystone answers %d", status)
	}
}

func TestTheAccountsAreInTheFile(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(cloud.Running().CloudsFile())
	if err != nil || !bytes.Contains(file, []byte(cloud.Keystone)) {
		t.Errorf("%s, %v", file, err)
	}
}

func TestServicesAreSignalledByName(t *testing.T) {
	t.Parallel()
	c := cloud.Running()
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := c.Signal(t.Context(), "nova-scheduler", sig); err != nil {
			t.Error(err)
		}
	}
	if err := c.Signal(t.Context(), "absent", syscall.SIGCONT); err == nil {
		t.Error("a service that is not there was signalled")
	}
}
