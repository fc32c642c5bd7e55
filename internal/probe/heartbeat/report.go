package heartbeat

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxReport is the longest report, in bytes.
const maxReport = 4 << 10

// report is what a machine may say beside that it is there.
type report struct {
	OK     *bool  `json:"ok"`
	Detail string `json:"detail"`
}

var errReport = errors.New(`write nothing, or {"ok": true} or {"ok": false, "detail": "…"}`)

// parseReport reads the body of a beat. An empty one says that all is well.
func parseReport(body []byte) (ok bool, detail string, err error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return true, "", nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var r report
	if d.Decode(&r) != nil || r.OK == nil {
		return false, "", errReport
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return false, "", errReport
	}
	return *r.OK, r.Detail, nil
}
