package lab

import (
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a file with which its reader is a user of some groups, and returns its path. The user may do what
// RBAC says; those of group system:masters may do everything.
func (c *Cluster) Kubeconfig(user string, groups ...string) (string, error) {
	groups = slices.DeleteFunc(slices.Clone(groups), func(group string) bool { return group == "" })
	signed, err := c.authority.client(user, groups)
	if err != nil {
		return "", err
	}
	entry := user + "@" + c.Name // files of several clusters can be merged
	file := clientcmdapi.NewConfig()
	file.Clusters[c.Name] = &clientcmdapi.Cluster{Server: c.Server(), CertificateAuthorityData: c.authority.pem}
	file.AuthInfos[entry] = &clientcmdapi.AuthInfo{ClientCertificateData: signed.certificate, ClientKeyData: signed.key}
	file.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: entry}
	file.CurrentContext = c.Name
	path := c.file(strings.ReplaceAll(user, ":", "-") + ".kubeconfig")
	c.mu.Lock()
	defer c.mu.Unlock()
	return path, clientcmd.WriteToFile(*file, path)
}

// Admin writes the kubeconfig of one who may do everything, and returns its path.
func (c *Cluster) Admin() (string, error) { return c.Kubeconfig("admin", "system:masters") }
