package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"testing"

	"hale/internal/access"
)

var update = flag.Bool("update", false, "write the document of the API into the tree")

// documentFile is the document of the API. oasdiff compares it with the last release's.
const documentFile = "../../../docs/reference/openapi.json"

// Who reads the tree, and who compares releases, has the document that hale serves.
func TestTheDocumentInTheTreeIsTheOneThatIsServed(t *testing.T) {
	t.Parallel()
	said := furnished(t).call(t, everywhere(access.Admin), http.MethodGet, "/openapi.json", "")
	var served bytes.Buffer
	if err := json.Indent(&served, said.Body.Bytes(), "", " "); err != nil {
		t.Fatal(err)
	}
	served.WriteByte('\n')
	if *update {
		if err := os.WriteFile(documentFile, served.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(documentFile)
	if err != nil || !bytes.Equal(kept, served.Bytes()) {
		t.Errorf("docs/reference/openapi.json is another document (%v): go test ./internal/api/server -run TestTheDocument "+
			"-update", err)
	}
}
