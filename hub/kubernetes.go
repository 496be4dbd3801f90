package main

import (
	"net/http"
	"sync"

	"github.com/rs/zerolog"

	"flotilla/bus/clientlog"
	"flotilla/configs"
	"flotilla/hub/front"
	"flotilla/hub/hubd"
)

// devFront is where a development hub serves its Kubernetes API unless told otherwise.
const devFront = "127.0.0.1:6443"

// frontOf is the Kubernetes API of a hub, from its configuration.
func frontOf(k *configs.Front) hubd.Front {
	return hubd.Front{
		Site: hubd.Site{Address: k.Address, URL: k.URL, Hosts: k.Hosts, Cert: k.TLS.Cert, Key: k.TLS.Key}, CA: k.TLS.CA,
		New: newFront,
	}
}

// quiet has what the Kubernetes libraries say, of their work too, stand in the log of the hub where it is a warning.
var quiet sync.Once

// newFront makes the Kubernetes API.
func newFront(o hubd.FrontOptions) (http.Handler, error) {
	quiet.Do(func() { clientlog.Into(o.Log.Level(max(o.Log.GetLevel(), zerolog.WarnLevel))) })
	return front.New(front.Options{Door: o.Door, Version: o.Version, Now: o.Now, Log: o.Log})
}

// devKubernetes has a development hub serve a Kubernetes API.
func devKubernetes(o *hubd.Options) {
	if o.Front.Address == "" {
		o.Front.Address, o.Front.AnyPort = devFront, true
	}
}

// kubernetesLines make kubectl work; nothing where a hub serves no Kubernetes API.
func kubernetesLines(hub *hubd.Hub) string {
	if at, _ := hub.Front(); at == "" {
		return ""
	}
	return `
With kubectl:

  go run ./hub/flotilla kubeconfig > fleet.kubeconfig
  kubectl --kubeconfig fleet.kubeconfig get clusterresourceplacements
`
}
