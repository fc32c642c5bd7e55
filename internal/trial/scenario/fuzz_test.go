package scenario

import (
	"errors"
	"os"
	"testing"
)

// FuzzParse: no input makes the reader panic; what is refused names a line of the file; what is accepted can be written
// down with a trace and is accepted again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte(crash))
	f.Add([]byte(crash + "-- expect --\nrepairs 1\nheld > 0\n-- trace --\n 0d 00:00:00  hale-1 starts\n"))
	files, err := Files("../../../scenarios")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("f.txt", data)
		if err == nil {
			if _, err := Parse("f.txt", s.Updated([]byte(" 0d 00:00:00  hale-1 starts\n"))); err != nil {
				t.Errorf("refused with its trace: %v", err)
			}
			return
		}
		var problems Problems
		if !errors.As(err, &problems) || len(problems) == 0 || s != nil {
			t.Fatalf("refused without problems: %v", err)
		}
		for _, p := range problems {
			if p.File != "f.txt" || p.Line < 1 || p.Message == "" {
				t.Errorf("no place: %+v", p)
			}
		}
	})
}
