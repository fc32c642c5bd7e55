package invitation_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hale/internal/cluster/invitation"

	"github.com/google/go-cmp/cmp"
)

func sample(now time.Time) invitation.Invitation {
	return invitation.Invitation{Name: "hale-2", Cluster: "c", At: []string{"10.0.0.1:7120"}, Authority: "ab12",
		Secret: invitation.NewSecret(), Expires: now.Add(time.Hour).Truncate(time.Second).UTC()}
}

func TestAnInvitationComesBackAsItWent(t *testing.T) {
	t.Parallel()
	i := sample(time.Now())
	back, err := invitation.Parse("  " + i.String() + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(i, back); diff != "" {
		t.Errorf("it differs (-went +came):\n%s", diff)
	}
}

// A text that was cut or mixed up is none, wherever that happened, and no error repeats the secret.
func TestATextThatIsNotWholeIsNoInvitation(t *testing.T) {
	t.Parallel()
	i := sample(time.Now())
	text := i.String()
	for n := range len(text) {
		if _, err := invitation.Parse(text[:n]); err == nil || strings.Contains(err.Error(), i.Secret) {
			t.Fatalf("%d of %d bytes: %v", n, len(text), err)
		}
		other := []byte(text)
		if other[n] ^= 1; other[n] == '\n' || other[n] == ' ' {
			continue
		}
		if back, err := invitation.Parse(string(other)); err == nil && back.String() == text {
			t.Fatalf("byte %d may be another one", n)
		} else if err == nil && n >= len(invitation.Prefix) {
			t.Fatalf("with another byte %d it is %+v", n, back)
		}
	}
}

// What is kept opens by the secret alone, until due: not before the moment, and at it no more.
func TestAnInvitationEnds(t *testing.T) {
	t.Parallel()
	now := time.Now()
	i := sample(now)
	kept := i.Keep()
	if strings.Contains(kept.Hash, i.Secret) || kept.Hash == i.Secret {
		t.Error("the secret is kept")
	}
	for name, c := range map[string]struct {
		secret string
		at     time.Time
		opens  bool
	}{
		"a moment before its end":   {i.Secret, i.Expires.Add(-1), true},
		"at its end":                {i.Secret, i.Expires, false},
		"after its end":             {i.Secret, i.Expires.Add(1), false},
		"by another secret":         {invitation.NewSecret(), now, false},
		"without a secret":          {"", now, false},
		"by what is kept of it":     {kept.Hash, now, false},
		"by a part of its own text": {i.Secret[:len(i.Secret)-1], now, false},
	} {
		if err := kept.Opens(c.secret, c.at); (err == nil) != c.opens {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (invitation.Kept{}).Opens("", now); !errors.Is(err, invitation.ErrUnknown) {
		t.Errorf("what was never kept says %v", err)
	}
}
