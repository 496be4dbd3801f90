package lab

import (
	_ "embed"
	"errors"
	"os"
	"path/filepath"
)

// stages say what kwok makes of nodes and pods.
//
//go:embed stages.yaml
var stages []byte

// auditPolicy lets an API server write one line for each request that it answered.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// Names of files in the folder of a cluster.
const (
	fileCA       = "ca.crt"
	fileServer   = "server.crt"
	fileKey      = "server.key"
	fileAccounts = "accounts.key"
	fileStages   = "stages.yaml"
	filePolicy   = "audit.yaml"
	fileAudit    = "audit.log"
)

// writeFiles writes what the components read.
func (c *Cluster) writeFiles() error {
	server, err := c.authority.server()
	if err != nil {
		return err
	}
	accounts, err := c.authority.server() // its key signs the tokens of service accounts
	if err != nil {
		return err
	}
	var faults []error
	for name, content := range map[string][]byte{
		fileCA: c.authority.pem, fileServer: server.certificate, fileKey: server.key,
		fileAccounts: accounts.key, fileStages: stages, filePolicy: []byte(auditPolicy),
	} {
		faults = append(faults, os.WriteFile(c.file(name), content, 0o600))
	}
	return errors.Join(faults...)
}

func (c *Cluster) file(name string) string { return filepath.Join(c.folder, name) }

func (c *Cluster) startServer() (*process, error) {
	args := []string{
		"kube-apiserver",
		"--etcd-servers=" + c.database, "--etcd-prefix=/registry-" + c.Name,
		"--bind-address=127.0.0.1", "--secure-port=" + c.port.String(), "--permit-port-sharing",
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--tls-cert-file=" + c.file(fileServer), "--tls-private-key-file=" + c.file(fileKey),
		"--client-ca-file=" + c.file(fileCA), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.file(fileAccounts), "--service-account-signing-key-file=" + c.file(fileAccounts),
	}
	if c.lab.options.Audit {
		args = append(args, "--audit-policy-file="+c.file(filePolicy), "--audit-log-path="+c.file(fileAudit))
	}
	return c.lab.run(c.Name+"-kube-apiserver", c.lab.options.Binaries.Kubelab(), args...)
}

// startControllers starts all that works on a cluster through its API server, each as a user of its own.
func (c *Cluster) startControllers() (started []*process, err error) {
	for _, component := range []struct {
		user, group, path string
		args              []string
	}{
		{
			user: "system:kube-controller-manager", path: c.lab.options.Binaries.Kubelab(),
			args: []string{
				"kube-controller-manager", "--leader-elect=false", "--secure-port=0", "--controllers=*,-node-ipam-controller",
				"--service-account-private-key-file=" + c.file(fileAccounts), "--root-ca-file=" + c.file(fileCA),
				"--use-service-account-credentials",
			},
		},
		{
			user: "system:kube-scheduler", path: c.lab.options.Binaries.Kubelab(),
			args: []string{"kube-scheduler", "--leader-elect=false", "--secure-port=0"},
		},
		{
			user: "kwok", group: "system:masters", path: c.lab.options.Binaries.Kwok(),
			args: []string{"--manage-all-nodes", "--node-port=0", "--node-lease-duration-seconds=40", "--config=" + c.file(fileStages)},
		},
	} {
		file, err := c.Kubeconfig(component.user, component.group)
		if err != nil {
			return nil, err
		}
		program := c.Name + "-" + filepath.Base(component.path)
		if component.path == c.lab.options.Binaries.Kubelab() {
			program = c.Name + "-" + component.args[0]
		}
		p, err := c.lab.run(program, component.path, append(component.args, "--kubeconfig="+file)...)
		if err != nil {
			return nil, err
		}
		started = append(started, p)
	}
	return started, nil
}
