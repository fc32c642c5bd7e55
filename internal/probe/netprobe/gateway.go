package netprobe

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// routesFile is where Linux tells the IPv4 routes of the process's network namespace.
const routesFile = "/proc/net/route"

// Gateway returns the IPv4 default gateway of this machine as the kernel names it now; an invalid address when there is
// none. An error: the kernel does not say.
func Gateway() (netip.Addr, error) {
	text, err := os.ReadFile(routesFile)
	if err != nil {
		return netip.Addr{}, err
	}
	return gatewayIn(string(text))
}

// Flags of a route (linux/route.h), and the columns of the file.
const (
	routeUp      = 0x1
	routeGateway = 0x2

	columnDestination = 1
	columnGateway     = 2
	columnFlags       = 3
	columnMetric      = 6
	columnMask        = 7
)

// gatewayIn returns the gateway of the default route with the least metric.
func gatewayIn(routes string) (netip.Addr, error) {
	var best netip.Addr
	least := uint64(0)
	for i, line := range strings.Split(routes, "\n") {
		columns := strings.Fields(line)
		if i == 0 || len(columns) == 0 {
			continue
		}
		if len(columns) <= columnMask {
			return netip.Addr{}, fmt.Errorf("%s, line %d: %q is no route", routesFile, i+1, line)
		}
		flags, err := strconv.ParseUint(columns[columnFlags], 16, 32)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("%s, line %d: %w", routesFile, i+1, err)
		}
		isDefault := strings.Trim(columns[columnDestination]+columns[columnMask], "0") == ""
		if !isDefault || flags&routeUp == 0 || flags&routeGateway == 0 {
			continue
		}
		metric, err := strconv.ParseUint(columns[columnMetric], 10, 32)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("%s, line %d: %w", routesFile, i+1, err)
		}
		if best.IsValid() && metric >= least {
			continue
		}
		if best, err = routeAddr(columns[columnGateway]); err != nil {
			return netip.Addr{}, fmt.Errorf("%s, line %d: %w", routesFile, i+1, err)
		}
		least = metric
	}
	return best, nil
}

// routeAddr reads an address as the kernel writes it: a number in hexadecimal, with its bytes in the network's order in
// memory.
func routeAddr(text string) (netip.Addr, error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 4 {
		return netip.Addr{}, fmt.Errorf("%q is no IPv4 address", text)
	}
	var a [4]byte
	binary.NativeEndian.PutUint32(a[:], binary.BigEndian.Uint32(raw))
	return netip.AddrFrom4(a), nil
}
