package resource

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/session"
)

// Fetch is one object as the hub shows it.
func (a *Client) Fetch(ctx context.Context, r Ref) (*unstructured.Unstructured, error) {
	if OnMembers(r.Kind) {
		return a.fetchOne(ctx, r, Selection{})
	}
	var raw json.RawMessage
	request := api.GetRequest{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, ShowSecrets: a.ShowSecrets}
	if err := a.Call(ctx, api.VerbGet, request, &raw); err != nil {
		return nil, err
	}
	return DecodeObject(raw)
}

// Selection narrows what fetchAll lists.
type Selection struct {
	Labels string
	Fields string
	// Chooses reads fields, for objects of a kind; nil without any.
	Chooses       func(fields, kind string) (func(*unstructured.Unstructured) bool, error)
	AllNamespaces bool
	Brief         bool // without the entries of members
	Pods          bool // with the pods on nodes
}

// FetchAll lists every object of a kind, page by page.
func (a *Client) FetchAll(ctx context.Context, k Type, s Selection) ([]*unstructured.Unstructured, error) {
	if _, err := labels.Parse(s.Labels); err != nil {
		return nil, session.Usagef("-l: found %q, expected a label selector, like app=web,tier!=db: %v", s.Labels, err)
	}
	chosen := func(*unstructured.Unstructured) bool { return true }
	if s.Chooses != nil {
		var err error
		if chosen, err = s.Chooses(s.Fields, k.Kind); err != nil {
			return nil, err
		}
	}
	if OnMembers(k.Kind) {
		objects, err := a.fetchOnMembers(ctx, k.Kind, "", s)
		return slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool { return !chosen(obj) }), err
	}
	request := api.ListRequest{APIVersion: k.APIVersion, Kind: k.Kind, LabelSelector: s.Labels, Brief: s.Brief, ShowSecrets: a.ShowSecrets}
	if k.Namespaced && !s.AllNamespaces {
		request.Namespace = NamespaceOr(a.Namespace)
	}
	var objects []*unstructured.Unstructured
	for {
		var page api.ListResponse
		if err := a.Call(ctx, api.VerbList, request, &page); err != nil {
			return nil, err
		}
		for _, raw := range page.Items {
			obj, err := DecodeObject(raw)
			if err != nil {
				return nil, err
			}
			if chosen(obj) {
				objects = append(objects, obj)
			}
		}
		if page.Continue == "" {
			slices.SortStableFunc(objects, byName)
			return objects, nil
		}
		request.Continue = page.Continue
	}
}

func byName(a, b *unstructured.Unstructured) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}

// FetchTarget reads everything the arguments of a command name. Objects that are missing are
// returned as errors beside those that were found.
func (a *Client) FetchTarget(ctx context.Context, t Target, s Selection) ([]*unstructured.Unstructured, []error, error) {
	var objects []*unstructured.Unstructured
	var missing []error
	for _, r := range t.Refs {
		found, err := a.fetchRef(ctx, r, s)
		if session.IsNotFound(err) {
			missing = append(missing, err)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		objects = append(objects, found...)
	}
	for _, k := range t.withPlacements(a.Namespace, s) {
		found, err := a.FetchAll(ctx, k, s)
		if err != nil {
			return nil, nil, err
		}
		objects = append(objects, found...)
	}
	return objects, missing, nil
}

// fetchRef reads what one name stands for: an object, or the nodes of that name on several members.
func (a *Client) fetchRef(ctx context.Context, r Ref, s Selection) ([]*unstructured.Unstructured, error) {
	if OnMembers(r.Kind) {
		return a.FetchNamed(ctx, r, s)
	}
	obj, err := a.Fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	return []*unstructured.Unstructured{obj}, nil
}

// withPlacements widens the word for placements: in a namespace it means those of the namespace, in
// all namespaces both kinds.
func (t *Target) withPlacements(namespace string, s Selection) []Type {
	kinds := slices.Clone(t.Kinds)
	for i := range kinds {
		if kinds[i].Kind != api.KindClusterResourcePlacement || t.Explicit {
			continue
		}
		namespaced := Known(api.KindResourcePlacement)
		switch {
		case s.AllNamespaces:
			kinds = append(kinds, namespaced)
		case namespace != "":
			kinds[i] = namespaced
		}
	}
	return kinds
}

// NamespaceOr is a namespace, or the one of who names none.
func NamespaceOr(namespace string) string {
	if namespace == "" {
		return "default"
	}
	return namespace
}

// RefOf names an object that was fetched.
func RefOf(obj *unstructured.Unstructured) Ref {
	r := Ref{Type: KindOfObject(obj.GetAPIVersion(), obj.GetKind()), Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if OnMembers(r.Kind) {
		r.member = MemberOf(obj)
	}
	return r
}

// ShownName is "clusterresourceplacement.placement.kubernetes-fleet.io/web", kubectl's name of an
// object in what it did.
func ShownName(o api.ObjectRef) string {
	k := KindOfObject(o.APIVersion, o.Kind)
	return k.Resource() + "/" + o.Name
}

// JoinErrors puts several errors on lines of one Failure with this code; one stays as it is.
func JoinErrors(code int, errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	joined := &session.Failure{Code: code}
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = err.Error()
		joined.Next = cmp.Or(joined.Next, session.FailureOf(err).Next)
	}
	joined.Message = strings.Join(lines, "\n")
	return joined
}

// DecodeObject reads one object of a reply.
func DecodeObject(raw json.RawMessage) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("decoding an object of the reply: %w", err)
	}
	return u, nil
}

// Into is an object as a struct of its kind. What has another shape than the struct wants is left out of it.
func Into[T any](obj *unstructured.Unstructured) *T {
	value := new(T)
	if body, err := obj.MarshalJSON(); err == nil {
		_ = json.Unmarshal(body, value) // all that fits is there nevertheless
	}
	return value
}
