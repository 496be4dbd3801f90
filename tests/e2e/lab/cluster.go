package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Cluster is a real one: an API server with RBAC, the controllers, the scheduler, and nodes that kwok plays.
type Cluster struct {
	Name string

	lab       *Lab
	folder    string
	port      *port
	authority *authority
	database  string
	server    *process
	admin     *rest.Config
	clients   kubernetes.Interface
	mu        sync.Mutex // over files of users
}

func newCluster(l *Lab, name, database string) (*Cluster, error) {
	c := &Cluster{Name: name, lab: l, database: database, folder: filepath.Join(l.options.Folder, name)}
	var err error
	if c.port, err = reserve(); err != nil {
		return nil, err
	}
	if c.authority, err = newAuthority(name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return nil, err
	}
	if err := c.writeFiles(); err != nil {
		return nil, err
	}
	user, err := c.authority.client("admin", []string{"system:masters"})
	if err != nil {
		return nil, err
	}
	c.admin = c.configOf(user)
	c.clients, err = kubernetes.NewForConfig(c.admin)
	return c, err
}

// Config is the admin's way to the API server, without limits of the client's own. Who wants another user's sets
// Impersonate, or takes Kubeconfig.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// Clients are the admin's.
func (c *Cluster) Clients() kubernetes.Interface { return c.clients }

// Server is the address of the API server.
func (c *Cluster) Server() string { return "https://127.0.0.1:" + c.port.String() }

func (c *Cluster) configOf(user pair) *rest.Config {
	return &rest.Config{
		Host: c.Server(),
		QPS:  -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: c.authority.pem, CertData: user.certificate, KeyData: user.key,
		},
	}
}

// start starts everything, and returns when nodes are Ready and namespaces have what every pod needs.
func (c *Cluster) start(ctx context.Context) error {
	if err := c.Restart(ctx); err != nil {
		return err
	}
	needed, err := c.startControllers()
	if err != nil {
		return err
	}
	err = until(ctx, append(needed, c.server), func(ctx context.Context) error {
		_, err := c.clients.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for the controllers: %w", err)
	}
	for n := range c.lab.options.Nodes {
		if err := c.AddNode(ctx, Node(fmt.Sprintf("node-%d", n+1))); err != nil {
			return err
		}
	}
	return nil
}

// Kill ends the API server at once, as kill -9 does. The rest of the cluster goes on without it.
func (c *Cluster) Kill() { c.server.kill() }

// Restart starts the API server, after it ended one that runs, and returns when it is ready.
func (c *Cluster) Restart(ctx context.Context) (err error) {
	if c.server != nil {
		c.server.kill() // two of them would share the port
	}
	if c.server, err = c.startServer(); err != nil {
		return err
	}
	if err := until(ctx, []*process{c.server}, c.ready); err != nil {
		return fmt.Errorf("waiting for the API server: %w", err)
	}
	return nil
}

func (c *Cluster) ready(ctx context.Context) error {
	return c.clients.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}
