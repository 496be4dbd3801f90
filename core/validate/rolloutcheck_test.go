package validate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRolloutChecks(t *testing.T) {
	document := func(spec string) string {
		return `{"apiVersion":"flotilla.io/v1alpha1","kind":"RolloutCheck","metadata":{"name":"slow"},"spec":` + spec + `}`
	}
	for _, c := range []struct {
		spec string
		want []string
	}{
		{`{"checks":[{"name":"a","prometheus":{"server":"main","query":"up","min":-0.5,"max":"2"}}]}`, nil},
		{`{"soak":"0s","interval":"1s","timeout":"1m","failureLimit":100,"onFailure":"RollBack","checks":[{"name":"a","availability":{}},{"name":"b","command":{"command":"x"}}]}`, nil},
		{`{"checks":[]}`, []string{"spec.checks: found nothing, expected 1 to 10 checks"}},
		{`{"soak":"25h","interval":"0s","timeout":"2m","failureLimit":0,"onFailure":"Rollback","checks":[{"name":"a","availability":{"within":"25h"}}]}`, []string{
			"spec.soak: found 25h0m0s, expected a duration from 0s to 24h0m0s",
			"spec.interval: found 0s, expected a duration from 1s to 1h0m0s",
			"spec.timeout: found 2m0s, expected a duration from 1s to 1m0s",
			"spec.failureLimit: found number 0, expected 1 to 100",
			`spec.onFailure: found "Rollback", expected Stop or RollBack`,
			"spec.checks[0].availability.within: found 25h0m0s, expected a duration from 1s to 24h0m0s",
		}},
		{`{"checks":[{"name":"a"},{"name":"a","availability":{},"command":{"command":"x"}},{"name":"c","availability":{}}]}`, []string{
			"spec.checks[0]: found 0 of them, expected one of availability, prometheus, webhook and command",
			`spec.checks[1].name: found "a" again, expected each check under a name of its own`,
			"spec.checks[1]: found 2 of them, expected one of availability, prometheus, webhook and command",
			"spec.checks[2].availability: found another one, expected availability is checked once",
		}},
		{`{"checks":[{"name":"a","prometheus":{"server":"main","query":"up"}},{"name":"b","prometheus":{"server":"http://x","query":"","min":2,"max":1}}]}`, []string{
			"spec.checks[0].prometheus: found neither min nor max, expected a bound that the values of the answer keep to",
			"spec.checks[1].prometheus.query: found nothing, expected a PromQL expression",
			"spec.checks[1].prometheus.min: found 2, expected at most max, 1",
		}},
		{`{"checks":[{"name":"a","prometheus":{"server":"main","query":"up","min":1e31}}]}`, []string{"spec.checks[0].prometheus.min: found number 1e31, expected a number of at most 40 characters"}},
		{`{"checks":[{"name":"a","webhook":{"webhook":"https://evil.example","url":"x"}}]}`, []string{"spec.checks[0].webhook.url"}},
	} {
		d, faults := Decode([]byte(document(c.spec)))
		texts := make([]string, len(faults))
		for i, f := range faults {
			texts[i] = f.String()
		}
		if c.want == nil {
			require.Empty(t, texts, c.spec)
			require.NotNil(t, d.Value)
			continue
		}
		require.NotEmpty(t, texts, c.spec)
		for _, want := range c.want {
			require.Contains(t, join(texts), want)
		}
	}
}

func join(texts []string) string {
	out := ""
	for _, text := range texts {
		out += text + "\n"
	}
	return out
}
