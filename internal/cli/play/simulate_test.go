package play

import "testing"

func TestTheLineThatPlaysItAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"the seed is named where it was not": {[]string{"simulate", "hale.yaml"}, "hale simulate hale.yaml --seed 7"},
		"the one that was drawn": {[]string{"simulate", "--seed", "0", "hale.yaml"},
			"hale simulate hale.yaml --seed 7"},
		"in one word": {[]string{"simulate", "--seed=0", "hale.yaml"},
			"hale simulate hale.yaml --seed 7"},
		"what a shell would take apart": {[]string{"simulate", "my hale's.yaml", "--fleet", ""},
			`hale simulate 'my hale'\''s.yaml' --fleet '' --seed 7`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := again(c.args, 7); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
