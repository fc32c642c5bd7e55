package keys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"
)

// maxFileRead is the most that is read of a {file: …}, in bytes.
const maxFileRead = 1 << 20

// ReadText reads a text file of reasonable size. The error is one for people, without the path.
func ReadText(path string) (string, error) {
	info, err := os.Stat(path) // before opening: a pipe would block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("there is no such file")
	case errors.Is(err, fs.ErrPermission):
		return "", errors.New("permission denied")
	case err != nil:
		return "", errors.New("it is not reachable")
	case !info.Mode().IsRegular():
		return "", errors.New("it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", errors.New("permission denied")
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileRead+1))
	switch {
	case err != nil:
		return "", errors.New("reading failed")
	case len(data) > maxFileRead:
		return "", fmt.Errorf("it is larger than %s", FormatSize(maxFileRead))
	case !utf8.Valid(data):
		return "", errors.New("it is not UTF-8 text")
	}
	return string(data), nil
}
