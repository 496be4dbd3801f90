// Package kube is a member that is a Kubernetes cluster: it writes by server-side apply, keeps beside what it wrote
// an inventory of it, and watches what it owns.
//
// Package agentd makes it where target.type is kubernetes. It asks the API server for what the kinds that it owns
// need and nothing else; a list that the API server refuses is an error that names verb and resource, never an
// empty list.
package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"flotilla/agent/target"
)

const (
	// SystemNamespace holds what the agent keeps on a member.
	SystemNamespace = "flotilla-system"

	// requestsPerSecond and burst bound what one agent asks of its API server.
	requestsPerSecond = 100
	burst             = 200
)

// Options of a Target.
type Options struct {
	// Config says where the API server is and who the agent is to it; Load makes one.
	Config *rest.Config
	// Claim is whose member the cluster has to be; nil lets everything be written.
	Claim *Claim
	// Failed is told, often, of a watch that the API server does not give, and of which resource; nil is not.
	Failed func(resource string, err error)
	// Refused is told, once each, what the API server does not permit the agent; nil is not.
	Refused func(Permission)
	// Warned is told, once each, what the API server warns of; nil is not.
	Warned func(text string)
}

// Target is one Kubernetes cluster.
type Target struct {
	host      string
	dynamic   dynamic.Interface
	clients   kubernetes.Interface
	kinds     *kinds
	inventory *inventory
	finder    *finder
	views     *views
	census    *census
	changes   *changes
	refusals  *refusals
	mark      *mark // nil: whose member the cluster is does not matter
	stop      context.CancelFunc
	run       func(func(context.Context)) // until Close
	running   sync.WaitGroup
	version   lastVersion
}

// lastVersion is the version of the API server, asked for again after it was away.
type lastVersion struct {
	mu   sync.Mutex
	text string
}

// forget has it asked for again: the API server may come back as another.
func (v *lastVersion) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text = ""
}

var _ target.Target = (*Target)(nil)

// New returns a target that watches until Close. The API server may be away.
func New(o Options) (*Target, error) {
	config := rest.CopyConfig(o.Config)
	config.QPS, config.Burst, config.UserAgent = requestsPerSecond, burst, "flotilla-agent"
	mark, err := newMark(config, o.Claim)
	if err != nil {
		return nil, err
	}
	if config, err = mark.guarded(config); err != nil {
		return nil, err
	}
	refusals := newRefusals(o.Refused)
	config.Wrap(refusals.listen)
	config.WarningHandlerWithContext = newWarnings(o.Warned)
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("speaking to %s: %w", config.Host, err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("speaking to %s: %w", config.Host, err)
	}
	names, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("speaking to %s: %w", config.Host, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	t := &Target{host: config.Host, dynamic: objects, clients: clients, kinds: newKinds(clients.Discovery()), changes: &changes{}, refusals: refusals, mark: mark, stop: stop}
	t.finder = &finder{target: t, names: names}
	t.run = func(f func(context.Context)) { t.running.Go(func() { f(ctx) }) }
	failed := o.Failed
	if failed == nil {
		failed = func(string, error) {}
	}
	t.inventory = newInventory(clients.CoreV1())
	lists := &lists{changes: t.changes, failed: failed, run: t.run, stale: unwatched}
	t.views = newViews(objects, lists)
	t.census = newCensus(lists, clients, objects.Resource(nodeClaims))
	t.watchDefinitions(failed)
	t.watchInventory(ctx, failed)
	t.run(t.poll)
	if mark != nil {
		t.run(mark.watch)
	}
	return t, nil
}

// String is "the cluster at https://127.0.0.1:6443".
func (t *Target) String() string { return "the cluster at " + t.host }

// Objects are those of the cluster, for those who make its machines by objects in it.
func (t *Target) Objects() dynamic.Interface { return t.dynamic }

// Close ends all watches and waits for them.
func (t *Target) Close() {
	t.stop()
	t.running.Wait()
	t.refusals.close()
}

// Ready asks the API server whether it is, and whose member the cluster is.
func (t *Target) Ready(ctx context.Context) error {
	_, err := t.clients.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	if err == nil {
		return t.unlessNew(ctx)
	}
	t.version.forget()
	if t.mark != nil {
		t.mark.doubt()
	}
	return fmt.Errorf("the API server is not ready: %w", err)
}

// unlessNew is Ours, and nil too while the agent is not enrolled: it has nothing to write.
func (t *Target) unlessNew(ctx context.Context) error {
	if err := t.Ours(ctx); !errors.Is(err, ErrNotEnrolled) {
		return err
	}
	return nil
}

// Guarded is a way to the API server by which nothing is done on a cluster that is not the member's own either.
func (t *Target) Guarded(config *rest.Config) (*rest.Config, error) { return t.mark.guarded(config) }

// Ours is nil once the cluster is seen to be the member's own; before that nothing is written to it.
func (t *Target) Ours(ctx context.Context) error {
	if t.mark == nil {
		return nil
	}
	return t.mark.settle(ctx)
}

// Version is that of the API server, asked for again after it was away.
func (t *Target) Version(context.Context) (string, error) {
	t.version.mu.Lock()
	defer t.version.mu.Unlock()
	if t.version.text != "" {
		return t.version.text, nil
	}
	info, err := t.clients.Discovery().ServerVersion()
	if err != nil {
		return "", fmt.Errorf("asking for the version: %w", err)
	}
	t.version.text = info.GitVersion
	return t.version.text, nil
}

// Watch reports what changes until ctx ends.
func (t *Target) Watch(ctx context.Context) <-chan target.Change { return t.changes.watch(ctx) }
