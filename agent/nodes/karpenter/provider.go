package karpenter

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// Karpenter's kinds.
var (
	nodeClaims = schema.GroupVersionResource{Group: api.GroupKarpenter, Version: "v1", Resource: "nodeclaims"}
	nodePools  = schema.GroupVersionResource{Group: api.GroupKarpenter, Version: "v1", Resource: "nodepools"}
)

// usualPatience is how long a launch is waited for before it is asked about again; lookEvery how often it is looked at.
const (
	usualPatience = 20 * time.Second
	lookEvery     = 200 * time.Millisecond
)

// Options of a Provider.
type Options struct {
	// Objects are those of the cluster.
	Objects dynamic.Interface
	// Patience is how long a launch is waited for before it is asked about again, 20 s when 0.
	Patience time.Duration
}

// Provider makes machines by NodeClaims.
type Provider struct {
	o Options

	mu   sync.Mutex
	made map[string]string // claims that were there, by name, and what Karpenter last said of each
}

// New returns a provider.
func New(o Options) *Provider {
	if o.Patience <= 0 {
		o.Patience = usualPatience
	}
	return &Provider{o: o, made: map[string]string{}}
}

// String names the provider.
func (p *Provider) String() string { return "karpenter" }

// Launch creates the NodeClaim of a launch, which has its name, and waits until Karpenter has a machine for it.
func (p *Provider) Launch(ctx context.Context, l api.NodeLaunch) (api.LaunchedNode, error) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Patience)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		claim, refused, err := p.claim(ctx, l)
		switch {
		case refused != "":
			return api.LaunchedNode{Failed: refused}, nil
		case err != nil:
			return api.LaunchedNode{}, fmt.Errorf("launching NodeClaim %s: %w", l.Name, err)
		case claim.DeletionTimestamp == nil && claim.Status.ProviderID != "":
			p.forget(l.Name)
			return api.LaunchedNode{
				Node: claim.Status.NodeName, ProviderID: claim.Status.ProviderID, Labels: maps.Clone(claim.Labels), KeptBy: "Karpenter",
			}, nil
		}
		select {
		case <-ctx.Done():
			return api.LaunchedNode{}, fmt.Errorf("NodeClaim %s is not launched yet%s", l.Name, p.because(l.Name))
		case <-tick.C:
		}
	}
}

// claim is the NodeClaim of a launch, made when there never was one. One that was there and is gone Karpenter gave up.
func (p *Provider) claim(ctx context.Context, l api.NodeLaunch) (claim *api.NodeClaim, refused string, err error) {
	claims := p.o.Objects.Resource(nodeClaims)
	found, err := claims.Get(ctx, l.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if p.seen(l.Name) {
			return nil, "Karpenter gave NodeClaim " + l.Name + " up" + p.because(l.Name), nil
		}
		if found, refused, err = p.create(ctx, l); err != nil || refused != "" {
			return nil, refused, err
		}
	}
	if err != nil {
		return nil, "", err
	}
	claim = &api.NodeClaim{}
	if err := strict.FromUnstructured(found.Object, claim); err != nil {
		return nil, "", err
	}
	p.note(claim)
	return claim, "", nil
}

// create makes the NodeClaim from the NodePool as the cluster has it.
func (p *Provider) create(ctx context.Context, l api.NodeLaunch) (made *unstructured.Unstructured, refused string, err error) {
	pool, err := p.o.Objects.Resource(nodePools).Get(ctx, l.Pool, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Sprintf("the cluster has no NodePool %s, by which Karpenter makes nodes", l.Pool), nil
	}
	if err != nil {
		return nil, "", err
	}
	wanted, err := claimFor(l, pool)
	if err != nil {
		return nil, "", err
	}
	made, err = p.o.Objects.Resource(nodeClaims).Create(ctx, wanted, metav1.CreateOptions{})
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return nil, err.Error(), nil
	case apierrors.IsAlreadyExists(err):
		made, err = p.o.Objects.Resource(nodeClaims).Get(ctx, l.Name, metav1.GetOptions{})
	}
	return made, "", err
}

// Delete deletes the NodeClaim of a launch or of a node; it is gone when Karpenter has taken the machine away.
func (p *Provider) Delete(ctx context.Context, m api.NodeMachine) (bool, error) {
	claim, err := p.find(ctx, m)
	if err != nil || claim == nil {
		return err == nil, err
	}
	if claim.DeletionTimestamp == nil {
		uid := claim.UID
		err = p.o.Objects.Resource(nodeClaims).Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	}
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// Gone cannot tell of machines that Karpenter does not know.
func (p *Provider) Gone(context.Context, api.NodeMachine) (bool, error) { return false, nil }

// find is the NodeClaim of a machine, nil when there is none.
func (p *Provider) find(ctx context.Context, m api.NodeMachine) (*api.NodeClaim, error) {
	all, err := p.o.Objects.Resource(nodeClaims).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("looking for the NodeClaim of node %s: %w", m.Node, err)
	}
	for i := range all.Items {
		claim := &api.NodeClaim{}
		if err := strict.FromUnstructured(all.Items[i].Object, claim); err != nil {
			return nil, err
		}
		same := m.Launch != "" && claim.Name == m.Launch || m.ProviderID != "" && claim.Status.ProviderID == m.ProviderID
		if same || m.ProviderID == "" && m.Node != "" && claim.Status.NodeName == m.Node {
			return claim, nil
		}
	}
	return nil, nil
}

// note remembers what Karpenter says of a claim that has no machine yet: when it gives it up it deletes it.
func (p *Provider) note(c *api.NodeClaim) {
	said := ""
	for i := range c.Status.Conditions {
		if one := &c.Status.Conditions[i]; one.Type == "Launched" && one.Status != metav1.ConditionTrue && one.Message != "" {
			said = one.Message
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if said != "" || p.made[c.Name] == "" {
		p.made[c.Name] = said
	}
}

func (p *Provider) seen(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := p.made[name]
	return known
}

func (p *Provider) because(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if said := p.made[name]; said != "" {
		return ": " + said
	}
	return ""
}

func (p *Provider) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.made, name)
}
