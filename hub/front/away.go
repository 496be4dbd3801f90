package front

import (
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
)

// away are the kinds that people look for on a hub and that members have. They are discovered, so that who asks is told.
var away = []*kind{
	{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Node"), resource: "nodes", short: []string{"no"},
		away: "a fleet has no nodes of its own: `flotilla get nodes --member NAME` shows those of a member",
	},
	{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Event"), resource: "events", short: []string{"ev"}, namespaced: true,
		away: "a fleet has no events of Kubernetes: `flotilla events` shows its own, and a member those of what runs there",
	},
}

// podsRun says where pods are, to who looks for them on the hub.
const podsRun = "pods run on members: ask a member for those of a workload"

// missing says that what a request is about is not served.
func (f *Front) missing(w http.ResponseWriter, r *http.Request, info *genericrequest.RequestInfo) {
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	err := apierrors.NewNotFound(resource, info.Name)
	err.ErrStatus.Message = "the server could not find the requested resource"
	for _, k := range away {
		if resource != k.groupVersionResource().GroupResource() {
			continue
		}
		if info.Verb == "list" && ofOneObject(r) {
			responsewriters.WriteObjectNegotiated(scheme.Codecs, negotiation.DefaultEndpointRestrictions, corev1.SchemeGroupVersion, w, r, http.StatusOK, &corev1.EventList{}, false)
			return
		}
		err.ErrStatus.Message = k.away
	}
	responsewriters.ErrorNegotiated(err, metaCodecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, r)
}

// ofOneObject says that a request is for the events of one object, as `kubectl describe` asks.
func ofOneObject(r *http.Request) bool {
	selector, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		return false
	}
	for _, one := range selector.Requirements() {
		if strings.HasPrefix(one.Field, "involvedObject.") {
			return true
		}
	}
	return false
}
