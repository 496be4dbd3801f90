package cli

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
)

// fetch is one object as the hub shows it.
func (a *Client) fetch(ctx context.Context, r ref) (*unstructured.Unstructured, error) {
	if onMembers(r.kind) {
		return a.fetchOne(ctx, r, selection{})
	}
	var raw json.RawMessage
	request := api.GetRequest{APIVersion: r.apiVersion, Kind: r.kind, Namespace: r.namespace, Name: r.name, ShowSecrets: a.showSecrets}
	if err := a.call(ctx, api.VerbGet, request, &raw); err != nil {
		return nil, err
	}
	return decodeObject(raw)
}

// selection narrows what fetchAll lists.
type selection struct {
	labels string
	fields string
	// chooses reads fields, for objects of a kind; nil without any.
	chooses       func(fields, kind string) (func(*unstructured.Unstructured) bool, error)
	allNamespaces bool
	brief         bool // without the entries of members
	pods          bool // with the pods on nodes
}

// fetchAll lists every object of a kind, page by page.
func (a *Client) fetchAll(ctx context.Context, k resourceKind, s selection) ([]*unstructured.Unstructured, error) {
	if _, err := labels.Parse(s.labels); err != nil {
		return nil, usagef("-l: found %q, expected a label selector, like app=web,tier!=db: %v", s.labels, err)
	}
	chosen := func(*unstructured.Unstructured) bool { return true }
	if s.chooses != nil {
		var err error
		if chosen, err = s.chooses(s.fields, k.kind); err != nil {
			return nil, err
		}
	}
	if onMembers(k.kind) {
		objects, err := a.fetchOnMembers(ctx, k.kind, "", s)
		return slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool { return !chosen(obj) }), err
	}
	request := api.ListRequest{APIVersion: k.apiVersion, Kind: k.kind, LabelSelector: s.labels, Brief: s.brief, ShowSecrets: a.showSecrets}
	if k.namespaced && !s.allNamespaces {
		request.Namespace = namespaceOr(a.namespace)
	}
	var objects []*unstructured.Unstructured
	for {
		var page api.ListResponse
		if err := a.call(ctx, api.VerbList, request, &page); err != nil {
			return nil, err
		}
		for _, raw := range page.Items {
			obj, err := decodeObject(raw)
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

// fetchTarget reads everything the arguments of a command name. Objects that are missing are
// returned as errors beside those that were found.
func (a *Client) fetchTarget(ctx context.Context, t target, s selection) ([]*unstructured.Unstructured, []error, error) {
	var objects []*unstructured.Unstructured
	var missing []error
	for _, r := range t.refs {
		found, err := a.fetchRef(ctx, r, s)
		if isNotFound(err) {
			missing = append(missing, err)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		objects = append(objects, found...)
	}
	for _, k := range t.withPlacements(a.namespace, s) {
		found, err := a.fetchAll(ctx, k, s)
		if err != nil {
			return nil, nil, err
		}
		objects = append(objects, found...)
	}
	return objects, missing, nil
}

// fetchRef reads what one name stands for: an object, or the nodes of that name on several members.
func (a *Client) fetchRef(ctx context.Context, r ref, s selection) ([]*unstructured.Unstructured, error) {
	if onMembers(r.kind) {
		return a.fetchNamed(ctx, r, s)
	}
	obj, err := a.fetch(ctx, r)
	if err != nil {
		return nil, err
	}
	return []*unstructured.Unstructured{obj}, nil
}

// withPlacements widens the word for placements: in a namespace it means those of the namespace, in
// all namespaces both kinds.
func (t *target) withPlacements(namespace string, s selection) []resourceKind {
	kinds := slices.Clone(t.kinds)
	for i := range kinds {
		if kinds[i].kind != api.KindClusterResourcePlacement || t.explicit {
			continue
		}
		namespaced := kindOfObject(placementVersion, api.KindResourcePlacement)
		switch {
		case s.allNamespaces:
			kinds = append(kinds, namespaced)
		case namespace != "":
			kinds[i] = namespaced
		}
	}
	return kinds
}

func namespaceOr(namespace string) string {
	if namespace == "" {
		return "default"
	}
	return namespace
}

// refOf names an object that was fetched.
func refOf(obj *unstructured.Unstructured) ref {
	r := ref{resourceKind: kindOfObject(obj.GetAPIVersion(), obj.GetKind()), namespace: obj.GetNamespace(), name: obj.GetName()}
	if onMembers(r.kind) {
		r.member = memberOf(obj)
	}
	return r
}

// shownName is "clusterresourceplacement.placement.kubernetes-fleet.io/web", kubectl's name of an
// object in what it did.
func shownName(o api.ObjectRef) string {
	k := kindOfObject(o.APIVersion, o.Kind)
	return k.resource() + "/" + o.Name
}

// joinErrors puts several errors on lines of one Failure with this code; one stays as it is.
func joinErrors(code int, errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	joined := &Failure{Code: code}
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = err.Error()
		joined.Next = cmp.Or(joined.Next, failureOf(err).Next)
	}
	joined.Message = strings.Join(lines, "\n")
	return joined
}

// decodeObject reads one object of a reply.
func decodeObject(raw json.RawMessage) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("decoding an object of the reply: %w", err)
	}
	return u, nil
}
