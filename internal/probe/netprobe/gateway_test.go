package netprobe

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// asKernel writes an address as the kernel of this machine does.
func asKernel(a string) string {
	b := netip.MustParseAddr(a).As4()
	return fmt.Sprintf("%08X", binary.NativeEndian.Uint32(b[:]))
}

func TestGatewayIsThatOfTheCheapestDefaultRoute(t *testing.T) {
	t.Parallel()
	const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	route := func(destination, gateway, flags string, metric int, mask string) string {
		return fmt.Sprintf("eth0\t%s\t%s\t%s\t0\t0\t%d\t%s\t0\t0\t0   \n",
			asKernel(destination), asKernel(gateway), flags, metric, asKernel(mask))
	}
	link := route("10.0.0.0", "0.0.0.0", "0001", 0, "255.255.255.0")
	first := route("0.0.0.0", "10.0.0.1", "0003", 100, "0.0.0.0")
	second := route("0.0.0.0", "192.168.7.254", "0003", 50, "0.0.0.0")
	for reason, c := range map[string]struct {
		text, want string // empty: none
		bad        bool
	}{
		"no route":                   {head, "", false},
		"no default route":           {head + link, "", false},
		"one":                        {head + link + first, "10.0.0.1", false},
		"the cheaper of two":         {head + first + link + second, "192.168.7.254", false},
		"the cheaper of two, first":  {head + second + first, "192.168.7.254", false},
		"a link without a gateway":   {head + route("0.0.0.0", "0.0.0.0", "0001", 0, "0.0.0.0"), "", false},
		"one that is down":           {head + route("0.0.0.0", "10.0.0.1", "0002", 0, "0.0.0.0"), "", false},
		"half of the address space":  {head + route("0.0.0.0", "10.8.0.1", "0003", 0, "128.0.0.0"), "", false},
		"a line that is cut":         {head + "eth0\t00000000\t0100000A\n", "", true},
		"flags that are none":        {head + strings.Replace(first, "0003", "wxyz", 1), "", true},
		"an address that is none":    {head + strings.Replace(first, asKernel("10.0.0.1"), "xyz", 1), "", true},
		"a metric that is no number": {head + strings.Replace(first, "\t100\t", "\tmany\t", 1), "", true},
	} {
		got, err := gatewayIn(c.text)
		want := netip.Addr{}
		if c.want != "" {
			want = netip.MustParseAddr(c.want)
		}
		if got != want || (err != nil) != c.bad {
			t.Errorf("%s: %v, %v", reason, got, err)
		}
	}
}

func TestTheKernelIsAsked(t *testing.T) {
	t.Parallel()
	if _, err := Gateway(); err != nil {
		t.Error(err)
	}
}
