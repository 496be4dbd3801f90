package page

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// What stands behind the name of an object is part of the name.
func TestTheFormThatAURLAsksFor(t *testing.T) {
	for at, want := range map[string][3]string{
		"/members.csv?q=a":               {"/members", "q=a", "csv"},
		"/members?as=csv&q=a":            {"/members", "q=a", "csv"},
		"/index.json":                    {"/", "", "json"},
		"/?as=svg":                       {"/", "", "svg"},
		"/placements/web.csv":            {"/placements/web.csv", "", ""},
		"/placements/shop/web.json":      {"/placements/shop/web.json", "", ""},
		"/runs/spring.svg?as=csv":        {"/runs/spring.svg", "", "csv"},
		"/members.csv?as=json":           {"/members.csv", "", "json"},
		"/members.txt":                   {"/members.txt", "", ""},
		"/placements/web?as=xml&by=tier": {"/placements/web", "as=xml&by=tier", ""},
	} {
		var got [3]string
		formed(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = [3]string{r.URL.Path, r.URL.RawQuery, formOf(r)} })).
			ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, at, http.NoBody))
		require.Equal(t, want, got, at)
	}
}
