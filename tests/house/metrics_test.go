package house

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func writeFile(path string, text []byte) error { return os.WriteFile(path, text, 0o600) }

// metric wants a line among the metrics at an address.
func metric(t *testing.T, address, line string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if !strings.Contains(string(body), line+"\n") {
		return fmt.Errorf("expected %s among\n%s", line, body)
	}
	return nil
}
