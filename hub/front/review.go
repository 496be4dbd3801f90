package front

import (
	"context"
	"io"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
)

// mostReview is the most bytes that a question of somebody about themselves may have.
const mostReview = 64 << 10

// reviews are what people ask about themselves, by the groups of their kinds.
var reviews = map[string]string{
	"selfsubjectreviews":       authenticationv1.GroupName,
	"selfsubjectaccessreviews": authorizationv1.GroupName,
	"selfsubjectrulesreviews":  authorizationv1.GroupName,
}

// reviewCodecs read these and nothing else: bodies name their kind.
var reviewCodecs = newReviewCodecs()

func newReviewCodecs() serializer.CodecFactory {
	s := schemeOf(authorizationv1.SchemeGroupVersion, &authorizationv1.SelfSubjectAccessReview{}, &authorizationv1.SelfSubjectRulesReview{})
	s.AddKnownTypes(authenticationv1.SchemeGroupVersion, &authenticationv1.SelfSubjectReview{})
	metav1.AddToGroupVersion(s, authenticationv1.SchemeGroupVersion)
	return serializer.NewCodecFactory(s)
}

func isReview(group, resource string) bool { return reviews[resource] == group && group != "" }

// review answers `kubectl auth whoami` and `kubectl auth can-i`, of a request whose body is within its bounds.
func (f *Front) review(w http.ResponseWriter, r *http.Request, info *genericrequest.RequestInfo) {
	gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	body, err := io.ReadAll(r.Body)
	var question runtime.Object
	if err == nil {
		question, _, err = reviewCodecs.UniversalDeserializer().Decode(body, nil, nil)
	}
	if err != nil {
		responsewriters.ErrorNegotiated(apierrors.NewBadRequest(err.Error()), reviewCodecs, gv, w, r)
		return
	}
	who, _ := genericrequest.UserFrom(r.Context())
	switch asked := question.(type) {
	case *authenticationv1.SelfSubjectReview:
		asked.Status.UserInfo = authenticationv1.UserInfo{Username: who.GetName(), Groups: who.GetGroups()}
	case *authorizationv1.SelfSubjectAccessReview:
		asked.Status = f.may(r.Context(), who, &asked.Spec)
	case *authorizationv1.SelfSubjectRulesReview:
		asked.Status = f.rules(r.Context(), who)
	default:
		f.missing(w, r, info)
		return
	}
	responsewriters.WriteObjectNegotiated(reviewCodecs, negotiation.DefaultEndpointRestrictions, gv, w, r, http.StatusCreated, question, false)
}

// may says whether somebody may do something.
func (f *Front) may(ctx context.Context, who user.Info, what *authorizationv1.SelfSubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	a := authorizer.AttributesRecord{User: who}
	if about := what.ResourceAttributes; about != nil {
		a.Verb, a.APIGroup, a.APIVersion, a.Resource = about.Verb, about.Group, about.Version, about.Resource
		a.Namespace, a.Name, a.Subresource, a.ResourceRequest = about.Namespace, about.Name, about.Subresource, true
	}
	decision, why, err := f.Authorize(ctx, a)
	return authorizationv1.SubjectAccessReviewStatus{Allowed: decision == authorizer.DecisionAllow && err == nil, Reason: why}
}

// rules are what somebody may do with each kind.
func (f *Front) rules(ctx context.Context, who user.Info) (all authorizationv1.SubjectRulesReviewStatus) {
	all.NonResourceRules = []authorizationv1.NonResourceRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"*"}}}
	for _, k := range f.now.Load().all {
		rule := authorizationv1.ResourceRule{APIGroups: []string{k.Group}, Resources: []string{k.resource}}
		for _, verb := range k.verbs() {
			a := authorizer.AttributesRecord{User: who, Verb: verb, APIGroup: k.Group, APIVersion: k.Version, Resource: k.resource, ResourceRequest: true}
			if decision, _, err := f.Authorize(ctx, a); err == nil && decision == authorizer.DecisionAllow {
				rule.Verbs = append(rule.Verbs, verb)
			}
		}
		if len(rule.Verbs) > 0 {
			all.ResourceRules = append(all.ResourceRules, rule)
		}
	}
	return all
}
