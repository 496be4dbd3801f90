package contract

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"flotilla/agent/target"
)

// NodeTarget is a target that knows of nodes.
type NodeTarget interface {
	target.Target
	target.Nodes
}

// NodeFixture is a member for one case about nodes.
type NodeFixture interface {
	Target() NodeTarget
	// Namespace makes a namespace of the case's own, by which its nodes are called too.
	Namespace() string
	// AddNode has a node join, of 4 CPUs and 16 GiB, on which no pods but those of the case are put, and returns when it is
	// Ready.
	AddNode(name string)
	// Plant makes an object as another hand does, Uproot deletes one.
	Plant(object *unstructured.Unstructured)
	Uproot(object *unstructured.Unstructured)
}

// nodeSuite is one case about nodes under way.
type nodeSuite struct {
	*testing.T
	NodeFixture
	ns string
}

// nodeCases are those about nodes, by what holds.
var nodeCases = map[string]func(*nodeSuite){}

// Nodes runs the cases about nodes, one after the other. Begin makes the fixture of a case.
func Nodes(t *testing.T, begin func(t *testing.T) NodeFixture) {
	t.Helper()
	for name, run := range nodeCases {
		t.Run(name, func(t *testing.T) {
			f := begin(t)
			run(&nodeSuite{T: t, NodeFixture: f, ns: f.Namespace()})
		})
	}
}

// addNodes joins cases to those about nodes.
func addNodes(cases map[string]func(*nodeSuite)) {
	for name, run := range cases {
		if nodeCases[name] != nil {
			panic("two cases are called " + name)
		}
		nodeCases[name] = run
	}
}

// joins has a node join and returns its name.
func (s *nodeSuite) joins() string {
	s.Helper()
	name := s.ns + "-node"
	s.AddNode(name)
	s.until(func() error {
		_, err := s.find(name)
		return err
	})
	return name
}

// find is a node as the survey shows it.
func (s *nodeSuite) find(name string) (*corev1.Node, error) {
	survey, err := s.Target().Survey(s.Context())
	if err != nil {
		return nil, err
	}
	for _, n := range survey.Nodes {
		if n.Name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("there is no node %s", name)
}

// shows waits until the survey shows a node for which it holds.
func (s *nodeSuite) shows(name, what string, holds func(*corev1.Node) bool) *corev1.Node {
	s.Helper()
	var last *corev1.Node
	s.until(func() error {
		n, err := s.find(name)
		if last = n; err == nil && !holds(n) {
			err = fmt.Errorf("node %s is %+v %+v, expected %s", name, n.ObjectMeta, n.Spec, what)
		}
		return err
	})
	return last
}

// goneNode waits until the survey shows no such node.
func (s *nodeSuite) goneNode(name string) {
	s.Helper()
	s.until(func() error {
		if n, err := s.find(name); n != nil || err == nil {
			return fmt.Errorf("node %s is still there", name)
		}
		_, err := s.Target().Survey(s.Context())
		return err
	})
}

// change changes a node.
func (s *nodeSuite) change(name string, f func(*corev1.Node)) {
	s.Helper()
	require.NoError(s, s.Target().UpdateNode(s.Context(), name, f))
}

// runs makes a pod on a node, and waits until it runs there.
func (s *nodeSuite) runs(name, node string) target.PodRef {
	s.Helper()
	return s.put(name, node, "registry.example/web:v1", 1)
}

// put is runs for a pod of an image, with a grace in seconds.
func (s *nodeSuite) put(name, node, image string, grace int) target.PodRef {
	s.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(s, yaml.Unmarshal(fmt.Appendf(nil, `{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s, labels: {app: web}},
  spec: {nodeName: %s, terminationGracePeriodSeconds: %d, tolerations: [{operator: Exists}],
  containers: [{name: web, image: %q, resources: {requests: {cpu: 500m}}}]}}`, name, s.ns, node, grace, image), &object.Object))
	s.Plant(object)
	var ref target.PodRef
	s.until(func() error {
		p, err := s.pod(name)
		if err == nil && (p.Spec.NodeName != node || !isReady(p)) {
			err = fmt.Errorf("pod %s is on %q: %+v", name, p.Spec.NodeName, p.Status)
		}
		if err == nil {
			ref = target.PodRef{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}
		}
		return err
	})
	return ref
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

var errNoPod = errors.New("there is no such pod")

// pod is one as the survey shows it.
func (s *nodeSuite) pod(name string) (*corev1.Pod, error) {
	survey, err := s.Target().Survey(s.Context())
	if err != nil {
		return nil, err
	}
	for _, p := range survey.Pods {
		if p.Namespace == s.ns && p.Name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s/%s: %w", s.ns, name, errNoPod)
}

// ends waits until a pod is gone.
func (s *nodeSuite) ends(name string) {
	s.Helper()
	s.until(func() error {
		p, err := s.pod(name)
		switch {
		case errors.Is(err, errNoPod):
			return nil
		case err == nil:
			return fmt.Errorf("pod %s is still there: %+v", name, p.ObjectMeta)
		}
		return err
	})
}

// protect makes a budget that wants so many pods of the case to be there, and waits until it says how many may go.
func (s *nodeSuite) protect(name string, least, allowed int) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(s, yaml.Unmarshal(fmt.Appendf(nil, `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %s, namespace: %s},
  spec: {minAvailable: %d, selector: {matchLabels: {app: web}}}}`, name, s.ns, least), &object.Object))
	s.Plant(object)
	s.until(func() error {
		survey, err := s.Target().Survey(s.Context())
		if err != nil {
			return err
		}
		for _, b := range survey.Budgets {
			if b.Namespace == s.ns && b.Name == name {
				if b.Status.ObservedGeneration < b.Generation || int(b.Status.DisruptionsAllowed) != allowed {
					return fmt.Errorf("budget %s is %+v, expected %d to be allowed", name, b.Status, allowed)
				}
				return nil
			}
		}
		return fmt.Errorf("there is no budget %s", name)
	})
	return object
}

// until waits for a condition.
func (s *nodeSuite) until(condition func() error) {
	s.Helper()
	until(s.T, condition)
}

// refuses expects a refusal that names what keeps the pod.
func (s *nodeSuite) refuses(pod target.PodRef, budgets ...string) {
	s.Helper()
	err := s.Target().Evict(s.Context(), pod)
	require.True(s, apierrors.IsTooManyRequests(err), "%v", err)
	for _, name := range budgets {
		require.ErrorContains(s, err, name)
	}
}
