package front_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// written asks for something in a form, and returns how it is answered.
func written(t *testing.T, config *rest.Config, method, path, accept, body string) (code int, text string) {
	t.Helper()
	by, err := rest.TransportFor(config)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(bustest.Context(t), method, config.Host+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Accept", accept)
	request.Header.Set("Content-Type", "application/json")
	answer, err := by.RoundTrip(request)
	require.NoError(t, err)
	read, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(read)
}

// One object and small lists come in any form. What is large is refused in YAML, before it is changed too, and comes in JSON on one line, however
// somebody asked for lines; tables of it too (H49).
func TestLargeAnswersComeInOneForm(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	ada := f.as(f.hub, "ada", api.RoleAdmin)
	const all, inYAML = "/api/v1/namespaces/shop/configmaps", "application/yaml"
	settingsOf := func(name string, size int) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"shop"},"data":{"a":%q}}`, name, strings.Repeat("x", size))
	}
	code, text := written(t, ada, http.MethodPost, all, inYAML, settingsOf("small", 700<<10))
	require.Equal(t, http.StatusCreated, code)
	require.True(t, strings.HasPrefix(text, "apiVersion: v1\n"))
	lines := func(accept, path string) int {
		code, text := written(t, ada, http.MethodGet, path, accept, "")
		require.Equal(t, http.StatusOK, code, "%.500s", text)
		return strings.Count(strings.TrimSpace(text), "\n")
	}
	const table = "application/json;as=Table;g=meta.k8s.io;v=v1"
	for _, path := range []string{all, all + "/small"} {
		require.Positive(t, lines(inYAML, path), path)
		require.Positive(t, lines("application/json", path+"?pretty=1"), path)
		require.Positive(t, lines(table, path+"?pretty=1"), path)
	}
	var keys []string
	for i := range 9000 {
		keys = append(keys, fmt.Sprintf(`"k%d":"v"`, i))
	}
	many := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"many","namespace":"shop"},"data":{` + strings.Join(keys, ",") + `}}`
	code, text = written(t, ada, http.MethodPost, all, inYAML, many)
	require.Equal(t, http.StatusNotAcceptable, code, "%.500s", text)
	require.Contains(t, text, "ask for it as application/json")
	code, _ = written(t, ada, http.MethodGet, all+"/many", "application/json", "")
	require.Equal(t, http.StatusNotFound, code, "nothing was made")
	for _, made := range []string{many, settingsOf("other", 500<<10)} {
		code, _ = written(t, ada, http.MethodPost, all+"?pretty=1", "application/json", made)
		require.Equal(t, http.StatusCreated, code)
	}
	for _, path := range []string{all, all + "/many"} {
		code, text := written(t, ada, http.MethodGet, path, inYAML, "")
		require.Equal(t, http.StatusNotAcceptable, code, "%.500s", text)
		require.Contains(t, text, "ask for it as application/json")
	}
	require.Zero(t, lines("application/json", all+"?pretty=1"))
	require.Zero(t, lines(table+";pretty=1", all))
	require.Positive(t, lines(inYAML, all+"?fieldSelector=metadata.name%3Dsmall"))
	code, text = written(t, ada, http.MethodDelete, all+"/many", inYAML, "")
	require.Equal(t, http.StatusNotAcceptable, code, "%.500s", text)
	code, _ = written(t, ada, http.MethodDelete, all+"/many", "application/json", "")
	require.Equal(t, http.StatusOK, code)
}

// A program with the types of client-go lists in protobuf, in pages too.
func TestListsInProtobuf(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	config := f.as(f.hub, "ada", api.RoleAdmin)
	ada := f.client(config)
	for i := range 3 {
		ada.create(configMaps, settings(fmt.Sprint("a", i), map[string]any{"x": strings.Repeat("y", 100<<10)}))
	}
	packed := rest.CopyConfig(config)
	packed.ContentType, packed.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	maps := kubernetes.NewForConfigOrDie(packed).CoreV1().ConfigMaps("shop")
	first, err := maps.List(bustest.Context(t), metav1.ListOptions{Limit: 2})
	require.NoError(t, err)
	require.Len(t, first.Items, 2)
	require.NotEmpty(t, first.ResourceVersion)
	require.Equal(t, int64(1), *first.RemainingItemCount)
	rest, err := maps.List(bustest.Context(t), metav1.ListOptions{Limit: 2, Continue: first.Continue})
	require.NoError(t, err)
	require.Len(t, rest.Items, 1)
	one, err := maps.Get(bustest.Context(t), "a2", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, one, &rest.Items[0])
}
