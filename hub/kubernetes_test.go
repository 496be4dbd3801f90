package main

import (
	"bytes"
	"net/http"
	"os"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/hub/dev"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

func TestTheKubernetesAPIOfTheConfiguration(t *testing.T) {
	text := "kubernetes: {address: '0.0.0.0:6443', url: 'https://fleet.example.com', hosts: [other.example.com], tls: {cert: a.pem, key: b.pem, ca: c.pem}}"
	config, err := configs.LoadHub("hub.yaml", []byte(text))
	require.NoError(t, err)
	front := options(&config, zerolog.Nop(), os.Getenv).Front
	require.Equal(t, hubd.Site{
		Address: "0.0.0.0:6443", URL: "https://fleet.example.com", Hosts: []string{"other.example.com"}, Cert: "a.pem", Key: "b.pem",
	}, front.Site)
	require.Equal(t, "c.pem", front.CA)
}

// A development hub says how to use kubectl where it serves a Kubernetes API, and only there.
func TestADevelopmentHubPrintsHowToUseKubectl(t *testing.T) {
	o := hubd.Options{Now: elsewhen.Now, Fleet: "shop", Log: zerolog.Nop(), Server: &server.Options{Dir: t.TempDir(), Port: -1}}
	devKubernetes(&o)
	require.Equal(t, hubd.Site{Address: "127.0.0.1:6443", AnyPort: true}, o.Front.Site)
	given := hubd.Options{Front: hubd.Front{Site: hubd.Site{Address: "127.0.0.1:7443"}}}
	devKubernetes(&given)
	require.Equal(t, hubd.Site{Address: "127.0.0.1:7443"}, given.Front.Site)

	o.Front.Address = "127.0.0.1:0"
	o.Front.New = func(hubd.FrontOptions) (http.Handler, error) { return http.NotFoundHandler(), nil }
	fleet, err := dev.Start(bustest.Context(t), dev.Options{Hub: o, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	var out bytes.Buffer
	printNext(&out, fleet.Hub, "shop", kubernetesLines(fleet.Hub))
	require.Contains(t, out.String(), "\n  go run ./hub/flotilla kubeconfig > fleet.kubeconfig\n  kubectl --kubeconfig fleet.kubeconfig get clusterresourceplacements\n")
	require.Empty(t, kubernetesLines(&hubd.Hub{}))
}
