// Package pod is what an agent finds in a pod that it runs in: the API server of its cluster, who it is to it, and a
// Secret of its own namespace, in which it keeps what is to outlive the pod and its volumes.
//
// The main program looks for one; package agentd takes it.
package pod

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
)

const (
	// mounted is where kubelets put the service account of a pod.
	mounted = "/var/run/secrets/kubernetes.io/serviceaccount"
	// Files of a service account.
	fileToken, fileAuthority, fileNamespace = "token", "ca.crt", "namespace"
	// Variables in which kubelets say where the API server is.
	hostVariable, portVariable = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"
)

// Pod is one pod of a Kubernetes cluster.
type Pod struct {
	// Namespace of the pod.
	Namespace string

	config *rest.Config
}

// Find returns the pod that the process runs in, nil when it runs in none, or in one without a service account. The
// service account is read from folder, and where that is empty from where kubelets put it; a folder that was named and
// cannot be read is an error.
func Find(folder string, getenv func(string) string) (*Pod, error) {
	host, port := getenv(hostVariable), getenv(portVariable)
	named := folder != ""
	if !named {
		folder = mounted
	}
	token, err := os.ReadFile(filepath.Join(folder, fileToken))
	switch {
	case !named && (host == "" || port == "" || errors.Is(err, fs.ErrNotExist)):
		return nil, nil
	case host == "" || port == "":
		return nil, fmt.Errorf("pod.serviceAccount: found %s, expected nothing, because %s and %s do not say where the API server is", folder, hostVariable, portVariable)
	case err != nil:
		return nil, fmt.Errorf("the service account of the pod: %w", err)
	}
	namespace, err := os.ReadFile(filepath.Join(folder, fileNamespace))
	if err != nil {
		return nil, fmt.Errorf("the namespace of the pod: %w", err)
	}
	return &Pod{Namespace: strings.TrimSpace(string(namespace)), config: &rest.Config{
		Host:            "https://" + net.JoinHostPort(host, port),
		BearerToken:     strings.TrimSpace(string(token)),
		BearerTokenFile: filepath.Join(folder, fileToken), // kubelets renew it
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(folder, fileAuthority)},
	}}, nil
}

// Config is the pod's way to its API server.
func (p *Pod) Config() *rest.Config { return rest.CopyConfig(p.config) }
