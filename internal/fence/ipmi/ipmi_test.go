package ipmi_test

import (
	"strings"
	"testing"

	"hale/internal/fence/fencetest"
	"hale/internal/fence/ipmi"
)

func TestIpmitoolPassesTheExam(t *testing.T) {
	t.Parallel()
	fencetest.Run(t, func(t *testing.T) fencetest.Bench {
		t.Helper()
		p := fencetest.NewProgram(t, fencetest.IPMITool)
		t.Cleanup(func() {
			asked := p.Asked()
			if strings.Contains(asked, fencetest.Password) {
				t.Errorf("L14: the password is in the program's arguments: %s", asked)
			}
			if asked != "" &&
				!strings.Contains(asked,
					"-v -I lanplus -H 10.0.0.1 -p 623 -U fence -E -C 17 -N 1 -R 3 -L operator chassis power status") {
				t.Errorf("it was asked %s", asked)
			}
			for _, never := range []string{"cycle", "reset", "power on"} {
				if strings.Contains(asked, never) {
					t.Errorf("it was asked to %s", never)
				}
			}
		})
		return p.Bench(ipmi.New(ipmi.Options{
			Name:      "h1-bmc",
			Program:   p.Path,
			Host:      "10.0.0.1",
			Port:      623,
			User:      "fence",
			Password:  p.Secret(),
			Cipher:    17,
			Privilege: "operator",
		}))
	})
}
