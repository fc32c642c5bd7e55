package notification

import (
	"slices"
	"strings"
	"testing"
)

func TestATransportURLIsReadAsOpenStackWritesIt(t *testing.T) {
	t.Parallel()
	got, err := parseTransportURL("rabbit://nova:s3%40cret@r1:5673,nova:other@[2001:db8::1]/cell1?ssl=1")
	want := []door{
		{Broker{Host: "r1", Port: 5673, TLS: true, VHost: "cell1"}, "nova", "s3@cret"},
		{Broker{Host: "2001:db8::1", Port: 5671, TLS: true, VHost: "cell1"}, "nova", "other"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("\n got %+v, %v\nwant %+v", got, err, want)
	}
	got, err = parseTransportURL("rabbit://u:p@h")
	if want := []door{{Broker{Host: "h", Port: 5672, VHost: "/"}, "u", "p"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("\n got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestABrokenTransportURLIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"kafka://u:s3cret@h", "s3cret", "rabbit://u:s3cret@", "rabbit://u:s3cret@h:99999/", "rabbit://u:s3cret@h,/",
		"rabbit://u:s3cret%zz@h/", "rabbit://u:s3cret@h/?%zz",
	} {
		if b, err := parseTransportURL(text); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %+v, %v", text, b, err)
		}
	}
}
