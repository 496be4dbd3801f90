package conformance

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/json"
)

// ownRecordings is where the recordings of the repository lie.
const ownRecordings = "testdata"

// recordingDir is where the recordings are read from.
func recordingDir() string {
	if dir := os.Getenv("CONFORMANCE_DIR"); dir != "" {
		return dir
	}
	return ownRecordings
}

// casesOf reads a recording of recordingDir; what cannot be read fails the test.
func casesOf[T any](t *testing.T, name string) []T {
	t.Helper()
	cases, err := readRecording[T](recordingDir(), name)
	require.NoError(t, err)
	return cases
}

// readRecording decodes every case of a recording. It refuses fields that T does not have, naming each with
// its case, and a recording without a case.
func readRecording[T any](dir, name string) ([]T, error) {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("opening the recording: %w (CONFORMANCE_DIR names another directory)", err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	var cases []T
	var refused []error
	seen := map[string]int{}
	lines := bufio.NewReader(unzipped)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("reading line %d of %s: %w", n, name, err)
		}
		if len(strings.TrimSpace(string(line))) > 0 {
			c, wrong := readCase[T](line, seen, n)
			if wrong != nil {
				refused = append(refused, fmt.Errorf("%s line %d: %w", name, n, wrong))
			}
			cases = append(cases, c)
		}
		if err == io.EOF {
			break
		}
	}
	if len(cases) == 0 {
		refused = append(refused, fmt.Errorf("%s holds no case", name))
	}
	return cases, errors.Join(refused...)
}

// readCase decodes one line; seen holds the lines of the cases before it, by their ids.
func readCase[T any](line []byte, seen map[string]int, n int) (T, error) {
	var c T
	var head struct {
		ID string `json:"id"`
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(line, &head); err != nil {
		return c, err
	}
	if head.ID == "" {
		return c, errors.New("a case without an id")
	}
	if before, twice := seen[head.ID]; twice {
		return c, fmt.Errorf("case %s: stands in line %d too", head.ID, before)
	}
	seen[head.ID] = n
	if err := strictly(line, &c); err != nil {
		return c, fmt.Errorf("case %s: %w", head.ID, err)
	}
	return c, nil
}

// strictly decodes JSON and refuses fields that are unknown or stand twice, all of them at once.
func strictly(text []byte, into any) error {
	unknown, err := json.UnmarshalStrict(text, into)
	return errors.Join(append(unknown, err)...)
}
