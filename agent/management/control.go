package management

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/core/strict"
)

// ControlPlane is what the control plane of a Cluster says, of whatever kind it is: the fields that Cluster API asks of
// all of them.
type ControlPlane struct {
	Kind              string                      `json:"kind"`
	Resource          schema.GroupVersionResource `json:"-"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Version  string `json:"version,omitempty"`
		Replicas *int64 `json:"replicas,omitempty"`
	} `json:"spec"`
	Status struct {
		Status `json:",inline"`
		// Version is the oldest of its machines; Versions are all of them, where they are said.
		Version  string `json:"version,omitempty"`
		Versions []struct {
			Version string `json:"version"`
		} `json:"versions,omitempty"`
	} `json:"status"`
}

// String is "KubeadmControlPlane berlin".
func (c *ControlPlane) String() string { return c.Kind + " " + c.Name }

// Running are the versions that the control plane runs; empty before there is one.
func (c *ControlPlane) Running() []string {
	var out []string
	for _, v := range c.Status.Versions {
		out = append(out, v.Version)
	}
	if len(out) == 0 && c.Status.Version != "" {
		out = append(out, c.Status.Version)
	}
	return out
}

// Settled reports whether the control plane has as many machines as it is to have, and all are ready. One that is not
// made of machines says no number, and is.
func (c *ControlPlane) Settled() bool {
	wanted := c.Spec.Replicas
	if wanted == nil {
		wanted = new(count(c.Status.Replicas))
	}
	return c.Status.Settled(c.Generation, *wanted)
}

// Halted says what keeps Cluster API from acting on the control plane, empty when nothing does.
func (c *ControlPlane) Halted() string {
	if _, annotated := c.Annotations[AnnotationPaused]; annotated {
		return c.String() + " is paused"
	}
	return ""
}

// ControlPlane reads what a Cluster names as its control plane; nil when it names none.
func (v *View) ControlPlane(ctx context.Context, of *Cluster) (*ControlPlane, error) {
	ref := of.Spec.ControlPlaneRef
	if ref.Name == "" {
		return nil, nil
	}
	kind, err := v.served(ref)
	if err != nil {
		return nil, err
	}
	found, err := v.objects(kind).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && !unserved(err) {
		return nil, fmt.Errorf("found no %s %s/%s at %s, which the Cluster names as its control plane", ref.Kind, v.o.Namespace, ref.Name, v.o.Host)
	}
	if err != nil {
		return nil, v.explain("get", kind, err)
	}
	c := &ControlPlane{}
	err = strict.FromUnstructured(found.Object, c)
	c.Resource = kind
	return c, err
}

// served finds how the management cluster calls a kind; in the version it prefers.
func (v *View) served(ref Reference) (schema.GroupVersionResource, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, is := v.known[ref.APIGroup+" "+ref.Kind]; is {
		return known, nil
	}
	groups, err := v.o.Kinds.ServerGroups()
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("asking %s for its kinds: %w", v.o.Host, err)
	}
	for i := range groups.Groups {
		if g := &groups.Groups[i]; g.Name == ref.APIGroup {
			return v.find(ref, g.PreferredVersion.GroupVersion)
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("the management cluster at %s serves nothing of %s, of which %s %s is", v.o.Host, ref.APIGroup, ref.Kind, ref.Name)
}

func (v *View) find(ref Reference, version string) (schema.GroupVersionResource, error) {
	all, err := v.o.Kinds.ServerResourcesForGroupVersion(version)
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("asking %s for the kinds of %s: %w", v.o.Host, version, err)
	}
	group, err := schema.ParseGroupVersion(version)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	for i := range all.APIResources {
		if r := &all.APIResources[i]; r.Kind == ref.Kind && !strings.Contains(r.Name, "/") {
			v.known[ref.APIGroup+" "+ref.Kind] = group.WithResource(r.Name)
			return v.known[ref.APIGroup+" "+ref.Kind], nil
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("the management cluster at %s serves no %s of %s", v.o.Host, ref.Kind, version)
}
