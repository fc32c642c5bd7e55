package rabbit

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// definitions is what a broker takes up when it starts.
func definitions(users []User) string {
	var who, may []string
	for _, u := range users {
		who = append(who,
			fmt.Sprintf(`{"name": %q, "password_hash": %q, "hashing_algorithm": %q, "tags": []}`,
				u.Name, hash(u.Password), "rabbit_password_hashing_sha256"))
		may = append(may,
			fmt.Sprintf(`{"user": %q, "vhost": "/", "configure": %q, "write": %q, "read": %q}`,
				u.Name, u.Configure, u.Write, u.Read))
	}
	return fmt.Sprintf(`{"vhosts": [{"name": "/"}], "users": [%s], "permissions": [%s]}`,
		strings.Join(who, ", "), strings.Join(may, ", "))
}

// hash is how RabbitMQ keeps a password: four bytes of salt, and the hash of both.
func hash(password string) string {
	salt := []byte{1, 2, 3, 4}
	sum := sha256.Sum256(append(salt[:4:4], password...))
	return base64.StdEncoding.EncodeToString(append(salt, sum[:]...))
}
