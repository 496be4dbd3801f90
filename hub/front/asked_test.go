package front_test

import (
	"encoding/base64"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// What each asks about themselves is answered by their role.
func TestPeopleAskAboutThemselves(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	ctx := bustest.Context(t)
	vera := kubernetes.NewForConfigOrDie(f.as(f.hub, "vera", api.RoleViewer))
	who, err := vera.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, "vera", who.Status.UserInfo.Username)
	require.Contains(t, who.Status.UserInfo.Groups, "flotilla:viewer")
	for role, want := range map[api.Role][]string{api.RoleViewer: nil, api.RoleOperator: {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}} {
		client := kubernetes.NewForConfigOrDie(f.as(f.hub, "of-"+string(role), role))
		rules, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, want, verbsOf(rules.Status.ResourceRules, "secrets"), "%s", role)
		require.Contains(t, verbsOf(rules.Status.ResourceRules, "configmaps"), "list", "%s", role)
	}
}

func verbsOf(rules []authorizationv1.ResourceRule, resource string) []string {
	for _, rule := range rules {
		if slices.Contains(rule.Resources, resource) {
			return rule.Verbs
		}
	}
	return nil
}

// Text of a Secret is data once it is written, and its type selects it.
func TestSecretsAreWrittenAsText(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	ctx := bustest.Context(t)
	of := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	secret := func(name, kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": map[string]any{"name": name, "namespace": "shop"}, "stringData": map[string]any{"word": "hush"},
		}}
	}
	made := c.create(of, secret("a", "Opaque"))
	word := map[string]any{"word": base64.StdEncoding.EncodeToString([]byte("hush"))}
	require.Equal(t, []any{word, nil}, []any{made.Object["data"], made.Object["stringData"]})
	made.Object["stringData"] = map[string]any{"other": ""}
	changed, err := c.Resource(of).Namespace("shop").Update(ctx, made, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"word": word["word"], "other": ""}, changed.Object["data"])

	c.create(of, secret("b", "example.com/key"))
	found, err := c.Resource(of).Namespace("shop").List(ctx, metav1.ListOptions{FieldSelector: "type=example.com/key"})
	require.NoError(t, err)
	require.Len(t, found.Items, 1)
	require.Equal(t, "b", found.Items[0].GetName())
}

// Each object whose name is made for it has one of its own.
func TestNamesAreGenerated(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	one := settings("", nil)
	one.SetGenerateName("made-")
	first, second := c.create(configMaps, one.DeepCopy()), c.create(configMaps, one.DeepCopy())
	require.Regexp(t, "^made-[a-z0-9]{5}$", first.GetName())
	require.NotEqual(t, first.GetName(), second.GetName())
}

// A field of a wrong type is refused also to who asks for no judgement of fields.
func TestWrongTypesAreRefused(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	c.create(configMaps, settings("right", nil))
	wrong := settings("wrong", map[string]any{"x": int64(1)})
	_, err := c.maps().Create(bustest.Context(t), wrong, metav1.CreateOptions{FieldValidation: metav1.FieldValidationIgnore})
	require.True(t, apierrors.IsBadRequest(err), "%v", err)
}

// Who looks for the events of an object finds none, as there are none.
func TestAnObjectHasNoEvents(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	client := kubernetes.NewForConfigOrDie(f.as(f.hub, "vera", api.RoleViewer))
	found, err := client.CoreV1().Events("shop").List(bustest.Context(t), metav1.ListOptions{FieldSelector: "involvedObject.name=a"})
	require.NoError(t, err)
	require.Empty(t, found.Items)
	_, err = client.CoreV1().Events("shop").List(bustest.Context(t), metav1.ListOptions{})
	require.ErrorContains(t, err, "`flotilla events` shows its own")
	_, err = client.Discovery().OpenAPISchema()
	require.NoError(t, err, "who asks for shapes in OpenAPI 2 is told of none")
}
