package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"strconv"
)

// The machines' addresses: most of them, from the first on. The whole block is this namespace's own.
const (
	firstAddress = 10<<24 | 64<<16
	most         = 1 << 20
)

func addressOf(i int) netip.Addr {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], uint32(firstAddress+i)) //nolint:gosec // below most
	return netip.AddrFrom4(a)
}

// nameOf is what the provider calls machine i; its fleet selects by the beginning.
func nameOf(i, fleets int) string { return fmt.Sprintf("%s-%06d", fleetOf(i, fleets), i) }

func fleetOf(i, fleets int) string { return fmt.Sprintf("f%d", i%fleets) }

// provide answers one call of the contract (docs/reference/exec-provider.md): machines that run, and nothing that could
// be done to them.
func provide(machines, fleets string, in io.Reader, out io.Writer) error {
	n, err := strconv.Atoi(machines)
	if err != nil {
		return err
	}
	f, err := strconv.Atoi(fleets)
	if err != nil {
		return err
	}
	var request struct {
		Operation string `json:"operation"`
		Instance  struct {
			ID string `json:"id"`
		} `json:"instance"`
	}
	if err := json.NewDecoder(in).Decode(&request); err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	answer(w, n, f, request.Operation, request.Instance.ID)
	return w.Flush()
}

func answer(w io.Writer, n, fleets int, operation, id string) {
	switch operation {
	case "describe":
		fmt.Fprint(w, `{"result": {"contract": 1, "name": "addresses", "abilities": []}}`)
	case "identity":
		fmt.Fprint(w, `{"result": {"identities": {"": "addresses"}}}`)
	case "list":
		fmt.Fprint(w, `{"result": {"instances": [`)
		for i := range n {
			if i > 0 {
				fmt.Fprint(w, ",")
			}
			instance(w, i, fleets)
		}
		fmt.Fprint(w, `]}}`)
	case "get":
		if i, err := strconv.Atoi(id); err == nil && i >= 0 && i < n {
			fmt.Fprint(w, `{"result": {"instance": `)
			instance(w, i, fleets)
			fmt.Fprint(w, `}}`)
			return
		}
		fmt.Fprint(w, `{"error": {"kind": "not found", "message": "there are fewer machines"}}`)
	default:
		fmt.Fprintf(w, `{"error": {"kind": "unsupported", "message": "the operation %s is unsupported"}}`, operation)
	}
}

func instance(w io.Writer, i, fleets int) {
	fmt.Fprintf(w, `{"id":"%d","name":%q,"power":"running","address":%q,"mark":null}`, i, nameOf(i, fleets),
		addressOf(i))
}
