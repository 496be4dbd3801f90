package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"flotilla/agent/management"
	"flotilla/core/api"
)

const (
	// usualPatience is how long a launch is waited for before it is asked about again; lookEvery how often it is looked at.
	usualPatience = 20 * time.Second
	lookEvery     = 2 * time.Second
	// callTimeout bounds what is asked about a machine.
	callTimeout = 20 * time.Second
	// mostConflicts is how often one change is tried against others who change the same.
	mostConflicts = 5
)

// Options of a Provider. View, Member and Now are needed.
type Options struct {
	// View is the Cluster on its management cluster.
	View *management.View
	// Member are the objects of the cluster itself.
	Member dynamic.Interface
	// Patience is how long a launch is waited for before it is asked about again, 20 s when 0.
	Patience time.Duration
	Now      func() time.Time
}

// Provider scales the MachineDeployments of one Cluster.
type Provider struct {
	o Options

	turn chan struct{} // holds one while somebody changes something; over what follows
	last *survey
	at   time.Time
}

// New returns a provider; nothing is asked yet.
func New(o Options) *Provider {
	if o.Patience <= 0 {
		o.Patience = usualPatience
	}
	return &Provider{o: o, turn: make(chan struct{}, 1)}
}

// String names the provider.
func (p *Provider) String() string { return "clusterapi" }

// Launch has a MachineDeployment of the pool made larger, and waits until a machine of it is there.
func (p *Provider) Launch(ctx context.Context, l api.NodeLaunch) (api.LaunchedNode, error) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Patience)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		var answer api.LaunchedNode
		var waits string
		err := p.change(ctx, func(s *survey) (err error) {
			answer, waits, err = p.launch(ctx, s, &l)
			return err
		})
		if err != nil {
			return api.LaunchedNode{}, fmt.Errorf("launch %s: %w", l.Name, err)
		}
		if waits == "" {
			return answer, nil
		}
		select {
		case <-ctx.Done():
			return api.LaunchedNode{}, fmt.Errorf("launch %s has no machine yet: %s", l.Name, waits)
		case <-tick.C:
		}
	}
}

// Delete has the machine of a launch or of a node taken away.
func (p *Provider) Delete(ctx context.Context, m api.NodeMachine) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = p.change(ctx, func(s *survey) (err error) {
		gone, err = p.remove(ctx, s, &m)
		return err
	})
	return gone, err
}

// Gone reports whether no Machine is the one of a node.
func (p *Provider) Gone(ctx context.Context, m api.NodeMachine) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = p.change(ctx, func(s *survey) error {
		if m.ProviderID == "" || s.find(&m) != nil || s.mark(m.Launch) != nil {
			return nil
		}
		gone = true
		return p.ours(ctx, &m)
	})
	return gone && err == nil, err
}

// change looks at the Cluster and has something changed in it, again where others changed the same meanwhile.
func (p *Provider) change(ctx context.Context, do func(*survey) error) error {
	if err := p.take(ctx); err != nil {
		return err
	}
	defer func() { <-p.turn }()
	for again := mostConflicts; ; again-- {
		s, err := p.survey(ctx)
		if err == nil {
			err = do(s)
		}
		if s == nil || s.changed || err != nil {
			p.last = nil
		}
		if err == nil || again == 0 || !apierrors.IsConflict(err) {
			return err
		}
	}
}

// take waits for the turn; one that is free is taken however little time is left.
func (p *Provider) take(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("others ask %s: %w", p.o.View, ctx.Err())
	}
}

// survey looks at the Cluster, unless that was done just now.
func (p *Provider) survey(ctx context.Context) (*survey, error) {
	if p.last != nil && p.o.Now().Sub(p.at) < lookEvery/2 {
		return p.last, nil
	}
	at := p.o.Now()
	s, err := read(ctx, p.o.View)
	if err != nil {
		return nil, err
	}
	p.last, p.at = s, at
	return s, nil
}

var nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// ours fails when Cluster API says that the node of a machine which is not found belongs to another Cluster: then
// nothing is known of the machine.
func (p *Provider) ours(ctx context.Context, m *api.NodeMachine) error {
	if m.Node == "" {
		return nil
	}
	node, err := p.o.Member.Resource(nodes).Get(ctx, m.Node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading node %s: %w", m.Node, err)
	}
	marks, us := node.GetAnnotations(), p.o.View.Name()
	name, namespace := marks[management.AnnotationClusterName], marks[management.AnnotationClusterNamespace]
	if name == "" || name == us.Name && (namespace == "" || namespace == us.Namespace) {
		return nil
	}
	return errors.New("node " + m.Node + " is of Cluster " + namespace + "/" + name + ", not of " + us.String() +
		": clusterAPI.namespace and clusterAPI.cluster of the agent's configuration name another")
}
