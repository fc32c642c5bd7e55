package keys_test

import (
	"fmt"
	"time"

	"hale/internal/keys"
)

// A table of keys is declared once. It reads what is written, says what is wrong with it and where, and knows the
// default of what is not written.
func ExampleObject() {
	type retry struct {
		every keys.At[time.Duration]
		times keys.At[int]
	}
	table := keys.Object[retry]{Fields: []keys.Field[retry]{
		keys.Or("every", 5*time.Second, "The time from one try to the next.", keys.Duration(time.Second, time.Hour),
			func(r *retry) *keys.At[time.Duration] { return &r.every }),
		keys.Or("times", 3, "How often.", keys.Integer(1, 10), func(r *retry) *keys.At[int] { return &r.times }),
	}}
	found := &keys.Finder{}
	r := keys.NewReader(found, table.Schema())
	n, _ := r.File(keys.Source{Name: "retry.yaml", Data: []byte("every: 10s\ntimes: 20\n")})
	got, _ := table.Read(r, n)
	fmt.Println(got.every.Value)
	fmt.Println(found.Problems())
	// Output:
	// 10s
	// retry.yaml:2:8: times: 20 is out of range: choose 1 to 10
}
