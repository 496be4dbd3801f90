package front

import (
	"net/http"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
)

// release is the release of Kubernetes whose API is served.
const release = "1.36"

// discoverable says what is served, in the old form and in the aggregated one.
type discoverable struct {
	core, groups http.Handler // of /api and /apis
	byPath       map[string]http.Handler
	openapi      http.Handler
}

func newDiscovery(served *kinds) *discoverable {
	d := &discoverable{byPath: map[string]http.Handler{}}
	address := discovery.DefaultAddresses{}
	legacy, rest := aggregated.NewResourceManager("api"), aggregated.NewResourceManager("apis")
	root := discovery.NewRootAPIsHandler(address, metaCodecs)
	for _, g := range served.groups() {
		var group metav1.APIGroup
		group.Name = g.name
		for i, version := range g.versions {
			gv := schema.GroupVersion{Group: g.name, Version: version}
			listed := served.in(gv)
			if gv == corev1.SchemeGroupVersion {
				listed = append(listed, away...)
			}
			manager, path := rest, "/apis/"+gv.String()
			if g.name == "" {
				manager, path = legacy, "/api/"+version
			}
			d.byPath[path] = discovery.NewAPIVersionHandler(metaCodecs, gv, discovery.APIResourceListerFunc(func() []metav1.APIResource { return resources(listed) }))
			manager.AddGroupVersion(g.name, apidiscovery.APIVersionDiscovery{
				Version: version, Freshness: apidiscovery.DiscoveryFreshnessCurrent, Resources: discovered(listed),
			})
			manager.SetGroupVersionPriority(metav1.GroupVersion(gv), g.priority(), len(g.versions)-i)
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: version})
		}
		if g.name != "" {
			group.PreferredVersion = group.Versions[0]
			root.AddGroup(group)
			d.byPath["/apis/"+g.name] = discovery.NewAPIGroupHandler(metaCodecs, group)
		}
	}
	d.core = aggregated.WrapAggregatedDiscoveryToHandler(discovery.NewLegacyRootAPIHandler(address, metaCodecs, "/api"), legacy, legacy)
	d.groups = aggregated.WrapAggregatedDiscoveryToHandler(root, rest, rest)
	return d
}

// serve answers what asks for what is served.
func (d *discoverable) serve(w http.ResponseWriter, r *http.Request, path string) {
	switch handler := d.byPath[path]; {
	case path == "/api":
		d.core.ServeHTTP(w, r)
	case path == "/apis":
		d.groups.ServeHTTP(w, r)
	case handler != nil:
		handler.ServeHTTP(w, r)
	case strings.HasPrefix(path, "/openapi/v") && d.openapi != nil:
		d.openapi.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}

// group is an API group with its versions, newest first.
type group struct {
	name     string
	versions []string
}

// priority has the groups of Kubernetes come before Flotilla's where both have a word.
func (g *group) priority() int {
	if strings.Contains(g.name, ".") && !strings.HasSuffix(g.name, ".k8s.io") {
		return 1000
	}
	return 2000
}

func (s *kinds) groups() []group {
	var all []group
	for _, k := range s.all {
		at := slices.IndexFunc(all, func(g group) bool { return g.name == k.Group })
		if at < 0 {
			all, at = append(all, group{name: k.Group}), len(all)
		}
		if !slices.Contains(all[at].versions, k.Version) {
			all[at].versions = append(all[at].versions, k.Version)
		}
	}
	slices.SortFunc(all, func(a, b group) int { return strings.Compare(a.name, b.name) })
	return all
}

func (s *kinds) in(gv schema.GroupVersion) []*kind {
	var found []*kind
	for _, k := range s.all {
		if k.GroupVersion() == gv {
			found = append(found, k)
		}
	}
	slices.SortFunc(found, func(a, b *kind) int { return strings.Compare(a.resource, b.resource) })
	return found
}

// of is the kind that a request is about, nil where none is served.
func (s *kinds) of(info *genericrequest.RequestInfo) *kind {
	k := s.byResource[schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}]
	switch {
	case k == nil, !k.namespaced && info.Namespace != "" && info.Resource != "namespaces":
		return nil
	case k.namespaced && info.Namespace == "" && info.Verb != "list" && info.Verb != "watch":
		return nil
	}
	return k
}

func resources(listed []*kind) []metav1.APIResource {
	var all []metav1.APIResource
	for _, k := range listed {
		all = append(all, metav1.APIResource{
			Name: k.resource, SingularName: k.singular(), Namespaced: k.namespaced, Kind: k.Kind, Verbs: k.verbs(), ShortNames: k.short, Categories: k.categories(),
		})
		if k.scales() {
			all = append(all, metav1.APIResource{
				Name: k.resource + "/scale", Namespaced: k.namespaced, Group: "autoscaling", Version: "v1", Kind: "Scale", Verbs: scaleVerbs,
			})
		}
	}
	return all
}

var scaleVerbs = metav1.Verbs{"get", "patch", "update"}

func discovered(listed []*kind) []apidiscovery.APIResourceDiscovery {
	all := make([]apidiscovery.APIResourceDiscovery, len(listed))
	for i, k := range listed {
		all[i] = apidiscovery.APIResourceDiscovery{
			Resource: k.resource, SingularResource: k.singular(), Scope: apidiscovery.ScopeCluster, Verbs: k.verbs(), ShortNames: k.short, Categories: k.categories(),
			ResponseKind: &metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind},
		}
		if k.namespaced {
			all[i].Scope = apidiscovery.ScopeNamespace
		}
		if k.scales() {
			all[i].Subresources = []apidiscovery.APISubresourceDiscovery{{
				Subresource: "scale", Verbs: scaleVerbs, ResponseKind: &metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"},
			}}
		}
	}
	return all
}

// patches are the patches that a kind takes.
func (k *kind) patches() []string {
	all := []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType)}
	if typed(k.GroupVersionKind) != nil {
		all = append(all, string(types.StrategicMergePatchType))
	}
	return all
}

// version says which release of Kubernetes the API is like, and which hub serves it.
func (f *Front) version(w http.ResponseWriter) {
	major, minor, _ := strings.Cut(release, ".")
	responsewriters.WriteRawJSON(http.StatusOK, apiversion.Info{
		Major: major, Minor: minor, GitVersion: "v" + release + ".0+flotilla-" + f.Version, Platform: "linux/amd64",
	}, w)
}
