package configs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChecksReportEveryFault(t *testing.T) {
	h, err := LoadHub("hub.yaml", []byte(`
checks:
  prometheus:
  - {name: main, url: "https://prometheus.example.com", headers: {Authorization: "Bearer ${TOKEN}"}}
  - {name: main, url: "ftp://x", headers: {"a b": "c"}}
  webhooks:
  - {name: Orders, url: "${A-B}"}
  commands:
  - {name: smoke, argv: [], environment: {FLOTILLA_X: z}}
`))
	require.NotNil(t, h)
	for _, want := range []string{
		`checks.prometheus[1].name: found "main" again, expected another name than that of number 0 has`,
		`checks.prometheus[1].url: found "ftp://x"`,
		`checks.prometheus[1].headers["a b"]: found "a b", expected the name of an HTTP header`,
		`checks.webhooks[0].name: found "Orders"`,
		`checks.webhooks[0].url: found "${A-B}", expected ${NAME}`,
		`checks.commands[0].argv: found nothing, expected a program and its arguments`,
		`checks.commands[0].environment["FLOTILLA_X"]`,
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestSampleOfChecksIsAccepted(t *testing.T) {
	h, err := LoadHub("hub.yaml", sampleWithNotifications(t))
	require.NoError(t, err)
	require.Equal(t, "main", h.Checks.Prometheus[0].Name)
	require.Equal(t, "orders", h.Checks.Webhooks[0].Name)
	require.Equal(t, []string{"/usr/local/bin/smoke", "--quiet"}, h.Checks.Commands[0].Argv)
}
