package api

import "fmt"

// MaxResource is the most of a resource that one pod, node or limit has: AmountOf of core/disruption reads more
// as so much, and an agent that tells of more is not believed. Sums of a hundred of them are numbers still.
const MaxResource = 1 << 56

// bounded reports whether none of the amounts is more than MaxResource, up or down.
func (a Amounts) bounded() bool {
	for _, n := range a {
		if n > MaxResource || n < -MaxResource {
			return false
		}
	}
	return true
}

// CheckAmounts returns an error that names what has more than MaxResource of something: the node, or a pod of it.
func (s *NodeState) CheckAmounts() error {
	if !s.Capacity.bounded() || !s.Allocatable.bounded() {
		return beyondBounds("node", s.Name)
	}
	return checkPods(s.Pods)
}

// CheckAmounts returns an error that names the first pod or DaemonSet with more than MaxResource of something.
func (i *NodeInventory) CheckAmounts() error {
	for n := range i.DaemonSets {
		if d := &i.DaemonSets[n]; !d.Pod.Requests.bounded() {
			return beyondBounds("DaemonSet", d.Namespace+"/"+d.Name)
		}
	}
	return checkPods(i.Pending)
}

func checkPods(pods []PodState) error {
	for i := range pods {
		if p := &pods[i]; !p.Requests.bounded() {
			return beyondBounds("pod", p.Namespace+"/"+p.Name)
		}
	}
	return nil
}

func beyondBounds(kind, name string) error {
	return fmt.Errorf("%s %.300s has amounts beyond ±%d", kind, name, int64(MaxResource))
}
