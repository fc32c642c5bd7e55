package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hale/internal/balancer"
	"hale/internal/balancer/balancertest"
	"hale/internal/balancer/command"
	"hale/internal/core/fault"
	"hale/internal/program/programtest"
	"hale/internal/secret"
)

// body keeps a pool in a folder, a file for each member, and fails as it is told.
const body = `D='FOLDER'
[ "$TOKEN" = correct-horse ] || { echo "the token $TOKEN is wrong" >&2; exit 1; }
F=$(cat "$D/fault")
case $F in
dead) echo "no way there, by $TOKEN" >&2; exit 1;;
frozen) sleep 60;;
garbage) echo '{"members": 7'; exit 0;;
slow) sleep 0.2;;
esac
if [ "$HALE_ACTION" = list ]; then
	printf '{"members": ['
	C= X=
	[ "$F" != "takes orders and cannot do what they say" ] || X=', "failed": true'
	for f in "$D"/members/*; do
		[ -e "$f" ] || continue
		read -r S A P <"$f"
		printf '%s{"name": "%s", "state": "%s", "address": "%s", "port": %s, "connections": 0, "verdict": "up"%s}' "$C" "${f##*/}" "$S" "$A" "$P" "$X"
		C=,
	done
	echo ']}'
	exit 0
fi
M=$D/members/$HALE_MEMBER
if [ ! -e "$M" ]; then
	[ "$HALE_STATE" = serving ] || exit 0
	[ "$F" != full ] || exit 4
fi
A=$HALE_ADDRESS P=$HALE_PORT
[ "$HALE_STATE" = serving ] || read -r _ A P <"$M"
echo "$HALE_STATE $A $P" >"$D/new" && mv "$D/new" "$M"
[ "$F" != "does it and the answer is lost" ] || sleep 60
`

func newPool(t *testing.T) (p *command.Pool, folder string) {
	t.Helper()
	folder = t.TempDir()
	write(t, filepath.Join(folder, "fault"), "")
	write(t, filepath.Join(folder, "token"), "correct-horse")
	if err := os.Mkdir(filepath.Join(folder, "members"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := secret.File(filepath.Join(folder, "token"))
	if err != nil {
		t.Fatal(err)
	}
	path := programtest.Script(t, "pool", strings.ReplaceAll(body, "FOLDER", folder))
	return command.New(command.Options{Name: "edge", Command: []string{path},
		Env: []secret.Named{{Name: "TOKEN", Secret: s}}}), folder
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAProgramPassesTheExam(t *testing.T) {
	t.Parallel()
	balancertest.Run(t, func(t *testing.T) balancertest.Bench {
		p, folder := newPool(t)
		return balancertest.Bench{
			Pool:  p,
			Break: func(f balancertest.Fault) { write(t, filepath.Join(folder, "fault"), string(f)) },
			Put: func(m balancer.Member) {
				write(t, filepath.Join(folder, "members", string(m.Name)),
					fmt.Sprintf("%s %s %d\n", m.State, m.At.Addr(), m.At.Port()))
			},
		}
	})
}

// TestL14ASecretOfItsEnvironmentIsInNoError: also when the program repeats it.
func TestL14ASecretOfItsEnvironmentIsInNoError(t *testing.T) {
	t.Parallel()
	p, folder := newPool(t)
	write(t, filepath.Join(folder, "fault"), "dead")
	_, err := p.Members(t.Context())
	if !fault.Is(err, fault.Transient) || strings.Contains(err.Error(), "correct-horse") {
		t.Errorf("it says %v", err)
	}
}

func TestAMissingProgramIsSaid(t *testing.T) {
	t.Parallel()
	p := command.New(command.Options{Name: "edge", Command: []string{"/no/such/program"}})
	if _, err := p.Members(t.Context()); !fault.Is(err, fault.NotFound) {
		t.Errorf("it says %v", err)
	}
}
