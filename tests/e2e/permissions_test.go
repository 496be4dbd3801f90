//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/tests/e2e/lab"
)

// requirePermissions asks the API server what the agent of a manifest may do. Lines are a verb, a resource with its group,
// and a namespace with a name behind a slash, each of which may be left out.
func requirePermissions(t *testing.T, c *lab.Cluster) {
	t.Helper()
	for line, want := range map[string]bool{
		// What an agent does to nodes.
		"patch nodes": true, "delete nodes": true, "create pods/eviction shop": true, "delete pods shop": true,
		"list nodeclaims.karpenter.sh": true, "create nodeclaims.karpenter.sh": true, "list volumeattachments.storage.k8s.io": true,
		// What it places.
		"patch deployments.apps shop": true, "delete secrets shop": true, "create namespaces": true, "watch customresourcedefinitions.apiextensions.k8s.io": true,
		"create roles.rbac.authorization.k8s.io shop": true,
		// What it keeps.
		"update secrets flotilla-system/flotilla-agent": true, "patch configmaps flotilla-system": true,
		// What is nobody's business of its own.
		"create nodes": false, "update nodes": false, "patch nodes/status": false, "escalate roles.rbac.authorization.k8s.io shop": false,
		"bind clusterroles.rbac.authorization.k8s.io": false, "create clusterroles.rbac.authorization.k8s.io": false,
		"create clusterrolebindings.rbac.authorization.k8s.io": false, "impersonate users": false, "create serviceaccounts/token kube-system": false,
		"create pods/exec shop": false, "create validatingadmissionpolicies.admissionregistration.k8s.io": false, "create widgets.example.com shop": false,
	} {
		words := strings.Fields(line)
		resource, group, _ := strings.Cut(words[1], ".")
		resource, sub, _ := strings.Cut(resource, "/")
		attributes := &authorizationv1.ResourceAttributes{Verb: words[0], Resource: resource, Subresource: sub, Group: group}
		if len(words) > 2 {
			attributes.Namespace, attributes.Name, _ = strings.Cut(words[2], "/")
		}
		review, err := c.Clients().AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: agentUser, Groups: []string{"system:serviceaccounts", "system:authenticated"}, ResourceAttributes: attributes},
		}, metav1.CreateOptions{})
		require.NoError(t, err, line)
		require.Equal(t, want, review.Status.Allowed, line)
	}
}
