package forms

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"flotilla/hub/front/extent"
)

// anything lets an answer be a table.
type anything struct {
	negotiation.EndpointRestrictions
}

func (anything) AllowsMediaTypeTransform(string, string, *schema.GroupVersionKind) bool { return true }

// asked is a request for an answer in a form.
func asked(laidOut bool, accept, agent, query string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/configmaps?"+query, http.NoBody)
	r.Header.Set("Accept", accept)
	r.Header.Set("User-Agent", agent)
	return Asked(r, metainternalversionscheme.Codecs, anything{}, laidOut)
}

// inLines says that the handlers of Kubernetes find that an answer is in lines.
func inLines(t *testing.T, r *http.Request) bool {
	t.Helper()
	_, info, err := negotiation.NegotiateOutputMediaType(r, metainternalversionscheme.Codecs, anything{})
	require.NoError(t, err)
	return info.PrettySerializer != nil && info.Serializer == info.PrettySerializer
}

const table = "application/json;as=Table;g=meta.k8s.io;v=v1"

// An answer in lines is one of a megabyte at most, however the lines were asked for; a larger one is plain, and so is that of a change (H49).
func TestALargeAnswerHasNoLines(t *testing.T) {
	t.Parallel()
	small, large := extent.Extent{Text: 100, Laid: mostLaid}, extent.Extent{Text: 100, Laid: mostLaid + 1}
	for _, how := range [][3]string{
		{"application/json", "", "pretty=1"},
		{"application/json", "", "pretty=true&pretty=false"},
		{"application/json;pretty=1", "", ""},
		{"application/json;pretty=1", "", "pretty=0"},
		{table + ";pretty=1", "", ""},
		{"", "curl/8", ""},
		{table, "Mozilla/5.0", ""},
	} {
		r := asked(true, how[0], how[1], how[2])
		require.NoError(t, Of(r.Context()).Fit(small))
		require.True(t, inLines(t, r), how)
		require.False(t, Of(r.Context()).Usual())
		require.NoError(t, Of(r.Context()).Fit(large))
		require.False(t, inLines(t, r), how)
		require.False(t, inLines(t, asked(false, how[0], how[1], how[2])), how)
	}
	for _, how := range [][3]string{{"application/json", "", ""}, {"application/json", "curl/8", "pretty=0"}, {"application/yaml", "", "pretty=1"}} {
		require.False(t, inLines(t, asked(true, how[0], how[1], how[2])), how)
	}
	r := asked(true, table+";pretty=1", "", "limit=5")
	require.Equal(t, "5", r.URL.Query().Get("limit"))
	options, _, err := negotiation.NegotiateOutputMediaType(r, metainternalversionscheme.Codecs, anything{})
	require.NoError(t, err)
	require.Equal(t, &schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "Table"}, options.Convert)
}

// A large answer is refused in YAML, and says what to ask for (H49).
func TestALargeAnswerIsRefusedInYAML(t *testing.T) {
	t.Parallel()
	form := Of(asked(true, "application/yaml", "", "").Context())
	most := extent.Extent{Laid: mostLaid, Values: mostValues}
	require.NoError(t, form.Fit(most))
	for _, more := range []extent.Extent{{Laid: 1}, {Values: 1}} {
		err := form.Fit(most.Plus(more))
		status := apierrors.APIStatus(nil)
		require.ErrorAs(t, err, &status)
		require.Equal(t, int32(http.StatusNotAcceptable), status.Status().Code)
		require.ErrorContains(t, err, "ask for it as application/json")
		require.NoError(t, Of(asked(true, "application/json", "", "").Context()).Fit(most.Plus(more)))
	}
}

// A form has room for what is encoded at once: of JSON and protobuf one object, of a table all, and of YAML and of lines what these may be at most (H49).
func TestFormsTakeRoom(t *testing.T) {
	t.Parallel()
	const once = 16 << 20 // what one answer holds
	all, largest := extent.Extent{Text: 8 << 20, Laid: 1 << 40, Values: 1 << 40, Maps: 1 << 40}, extent.Extent{Text: 1 << 20, Maps: 5}
	for accept, want := range map[string]int64{
		"application/json": encoded << 20, table: encoded * 8 << 20, "application/json;pretty=1": laidEncoded * mostLaid, "application/yaml": once,
		runtime.ContentTypeProtobuf: encoded<<20 + encoded*8<<20 + 5*perMap,
	} {
		require.Equal(t, want, Of(asked(true, accept, "", "").Context()).Takes(all, largest), accept)
	}
	require.True(t, Of(t.Context()).Usual())
}
