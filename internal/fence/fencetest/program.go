package fencetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hale/internal/fence"
	"hale/internal/program/programtest"
	"hale/internal/secret"
)

// Dialect is how a program that switches power is spoken to.
type Dialect string

// The dialects.
const (
	Agent    Dialect = "agent"    // of the fence-agents family
	IPMITool Dialect = "ipmitool" // chassis power status, and off
	Command  Dialect = "command"  // an own one
)

// Program is a program that switches a host which exists as a file, and fails as it is told.
type Program struct {
	Path   string
	Folder string // what it is told besides, as the way to its host
	t      *testing.T
}

// Password is what the programs want.
const Password = "correct-horse"

// body answers in every dialect: first what is asked, and with which password, then how the host stands.
const body = `#!/bin/sh
D='FOLDER'
case DIALECT in
agent)
	while IFS='=' read -r k v; do case $k in action) A=$v;; password) P=$v;; verbose) V=$v;; esac; done
	if [ "$A" = metadata ]; then cat "$D/metadata"; exit 0; fi;;
ipmitool) for A; do :; done; P=$IPMI_PASSWORD;;
command) A=$HALE_ACTION; P=$POWER_PASSWORD;;
esac
echo "$0 $*" >>"$D/asked"
F=$(cat "$D/fault" 2>/dev/null)
[ "$F" = dead ] && sleep 60
[ "$F" = slow ] && sleep 0.2
if [ "$F" = "wrong password" ] || [ "$P" != PASSWORD ]; then
	case DIALECT in
	agent) # as the real ones: they say why only when they are to say all, and then they say everything
		[ "$V" = 1 ] && echo "DEBUG: Authorization: $P; Permission denied, please try again."
		echo 'ERROR: Unable to connect/login to fencing device';;
	ipmitool)
		case " $* " in *' -v '*) echo 'Loading IANA PEN Registry...'; echo '> RAKP 2 HMAC is invalid';; esac
		echo 'Error: Unable to establish IPMI v2 / RMCP+ session';;
	*) echo "the password $P is wrong";;
	esac
	exit 1
fi
if [ -e "$D/off-at" ] && [ "$(date +%s%N)" -ge "$(cat "$D/off-at")" ]; then rm -f "$D/on" "$D/off-at"; fi
if [ "$A" = status ]; then
	if [ -e "$D/on" ]; then S=on C=0; else S=off; fi
	case DIALECT in
	agent) echo "Status: $S" | tr onf ONF; [ $S = on ]; exit $(($? * 2));;
	ipmitool) echo "Chassis Power is $S";;
	command) [ $S = on ]; exit $(($? * 4));;
	esac
	exit 0
fi
[ "$A" != uncut ] || { touch "$D/on"; exit 0; }
[ "$A" = off ] || [ "$A" = cut ] || exit 2
case $F in
"answers and does nothing") ;;
"answers early and turns off late") echo $(($(date +%s%N) + 300000000)) >"$D/off-at";;
*) rm -f "$D/on";;
esac
[ "$F" = "does it and the answer is lost" ] && sleep 60
exit 0
`

// metadata is what the agent says of itself.
const metadata = `<?xml version="1.0" ?>
<resource-agent name="fence_exam" shortdesc="Fence agent for an exam" >
<longdesc>It switches a host
that is a file.</longdesc>
<parameters>
	<parameter name="action" unique="0" required="1"><getopt mixed="-o" /><content type="string" default="reboot" /><shortdesc lang="en">Fencing action</shortdesc></parameter>
	<parameter name="ip" unique="0" required="1" obsoletes="ipaddr"><getopt mixed="-a" /><content type="string" /><shortdesc lang="en">Address</shortdesc></parameter>
	<parameter name="ipaddr" unique="0" required="1" deprecated="1"><getopt mixed="-a" /><content type="string" /><shortdesc lang="en">Address</shortdesc></parameter>
	<parameter name="password" unique="0" required="0"><getopt mixed="-p" /><content type="string" /><shortdesc lang="en">Password</shortdesc></parameter>
	<parameter name="privlvl" unique="0" required="0"><getopt mixed="-L" /><content type="select" default="user"><option value="user" /><option value="operator" /></content><shortdesc lang="en">Level</shortdesc></parameter>
</parameters>
<actions><action name="on" automatic="0"/><action name="off" /><action name="status" /></actions>
</resource-agent>
`

// NewProgram writes the program of the dialect, and its host, into a folder of the test's own. The host is off.
func NewProgram(t *testing.T, d Dialect) *Program {
	t.Helper()
	p := &Program{Folder: t.TempDir(), t: t}
	p.Path = filepath.Join(p.Folder, "fence_exam")
	p.write("metadata", metadata)
	text := strings.NewReplacer("FOLDER", p.Folder, "DIALECT", string(d), "!= PASSWORD", "!= "+Password).Replace(body)
	if err := programtest.Write(p.Path, text); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Program) write(name, text string) {
	if err := os.WriteFile(filepath.Join(p.Folder, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// Asked returns the arguments of every call so far, one a line.
func (p *Program) Asked() string {
	text, err := os.ReadFile(filepath.Join(p.Folder, "asked"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
	return string(text)
}

// Secret is where the password is kept.
func (p *Program) Secret() secret.Secret {
	p.write("password", Password+"\n")
	s, err := secret.File(filepath.Join(p.Folder, "password"))
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// On reports whether the host has power.
func (p *Program) On() bool {
	if _, err := os.Stat(filepath.Join(p.Folder, "on")); err != nil {
		return false
	}
	text, err := os.ReadFile(filepath.Join(p.Folder, "off-at"))
	if err != nil {
		return true
	}
	at, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return err != nil || time.Now().UnixNano() < at
}

// Turn turns the host on or off, as a person does who stands before it.
func (p *Program) Turn(to fence.Power) {
	if to == fence.PowerOn {
		p.write("on", "")
		return
	}
	if err := os.Remove(filepath.Join(p.Folder, "on")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Fatal(err)
	}
}

// Bench is a controller that runs the program.
func (p *Program) Bench(c fence.Controller) Bench {
	return Bench{
		Controller: c,
		On:         p.On,
		Turn:       p.Turn,
		Secret:     Password,
		Break:      func(f Fault) { p.write("fault", string(f)) },
	}
}
