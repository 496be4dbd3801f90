package front_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

func TestAnObjectFromItsCreationToItsDeletion(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	ctx := bustest.Context(t)
	made := c.create(configMaps, settings("a", map[string]any{"x": "1"}))
	require.NotEmpty(t, made.GetUID())
	_, err := c.maps().Create(ctx, settings("a", nil), metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err), "%v", err)

	changed := made.DeepCopy()
	changed.Object["data"] = map[string]any{"y": "2"}
	now, err := c.maps().Update(ctx, changed, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"y": "2"}, now.Object["data"], "what is left out is gone")
	require.Equal(t, made.GetUID(), now.GetUID())
	_, err = c.maps().Update(ctx, changed, metav1.UpdateOptions{})
	require.True(t, apierrors.IsConflict(err), "of a version that is no more: %v", err)

	same, err := c.maps().Update(ctx, now, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, now.GetResourceVersion(), same.GetResourceVersion(), "nothing changed")

	_, err = c.maps().Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{"data":{"z":"3"}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	found, err := c.maps().Get(ctx, "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, now.GetResourceVersion(), found.GetResourceVersion(), "a dry run changes nothing")

	other := types.UID("other")
	err = c.maps().Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	require.NoError(t, c.maps().Delete(ctx, "a", metav1.DeleteOptions{}))
	_, err = c.maps().Get(ctx, "a", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	err = c.maps().Delete(ctx, "a", metav1.DeleteOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

// Of people who change one object at once, each from what they read, nobody undoes what another did.
func TestNoChangeIsLost(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	c.create(configMaps, settings("count", map[string]any{"n": "0"}))
	const writers, times = 6, 10
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for done := 0; done < times; {
				u, err := c.maps().Get(t.Context(), "count", metav1.GetOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				text, _, _ := unstructured.NestedString(u.Object, "data", "n")
				n, _ := strconv.Atoi(text)
				u.Object["data"] = map[string]any{"n": strconv.Itoa(n + 1)}
				switch _, err := c.maps().Update(t.Context(), u, metav1.UpdateOptions{}); {
				case err == nil:
					done++
				case !apierrors.IsConflict(err):
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	u, err := c.maps().Get(t.Context(), "count", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"n": strconv.Itoa(writers * times)}, u.Object["data"])
}

func TestAWatchTellsWhatChangesInOrderAndGoesOnFromTheMiddle(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	ctx := t.Context()
	c.create(configMaps, settings("before", nil))
	w, err := c.maps().Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	require.Equal(t, "ADDED before", told(next(t, w)))
	c.create(configMaps, settings("a", nil))
	first := next(t, w)
	require.Equal(t, "ADDED a", told(first))
	_, err = c.maps().Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"web"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, "MODIFIED a", told(next(t, w)), "what changes twice before anybody looks is one change")
	require.NoError(t, c.maps().Delete(ctx, "a", metav1.DeleteOptions{}))
	require.Equal(t, "DELETED a", told(next(t, w)))

	again, err := c.maps().Watch(ctx, metav1.ListOptions{ResourceVersion: first.Object.(*unstructured.Unstructured).GetResourceVersion()})
	require.NoError(t, err)
	defer again.Stop()
	for _, want := range []string{"MODIFIED a", "DELETED a"} {
		require.Equal(t, want, told(next(t, again)))
	}
	chosen, err := c.maps().Watch(ctx, metav1.ListOptions{ResourceVersion: first.Object.(*unstructured.Unstructured).GetResourceVersion(), LabelSelector: "app=web"})
	require.NoError(t, err)
	defer chosen.Stop()
	for _, want := range []string{"ADDED a", "DELETED a"} {
		require.Equal(t, want, told(next(t, chosen)), "what begins to match is added")
	}

	for _, version := range []string{"1", "9000000000000000000"} {
		gone, err := c.maps().Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		if err == nil {
			e := next(t, gone)
			require.Equal(t, watch.Error, e.Type)
			err = apierrors.FromObject(e.Object)
		}
		require.True(t, apierrors.IsResourceExpired(err) || apierrors.IsGone(err), "%v", err)
	}
}

func TestAListComesInPagesOfWhatSelectorsChoose(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	for i := range 7 {
		u := settings(fmt.Sprintf("m%d", i), nil)
		u.SetLabels(map[string]string{"odd": strconv.FormatBool(i%2 == 1)})
		c.create(configMaps, u)
	}
	for selector, want := range map[string][]string{"": {"m0", "m1", "m2", "m3", "m4", "m5", "m6"}, "odd=true": {"m1", "m3", "m5"}} {
		var found []string
		o := metav1.ListOptions{Limit: 2, LabelSelector: selector}
		for {
			page, err := c.maps().List(t.Context(), o)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Items), 2)
			for i := range page.Items {
				found = append(found, page.Items[i].GetName())
			}
			if o.Continue = page.GetContinue(); o.Continue == "" {
				break
			}
		}
		require.Equal(t, want, found, selector)
	}
	one, err := c.maps().List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=m3"})
	require.NoError(t, err)
	require.Len(t, one.Items, 1)
	_, err = c.maps().List(t.Context(), metav1.ListOptions{FieldSelector: "data.x=1"})
	require.ErrorContains(t, err, "expected metadata.name or metadata.namespace")
}

// What the door finds wrong is told as Kubernetes tells it, every fault as a cause.
func TestFaultsAreCauses(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	wrong := tree(api.PlacementVersion, api.KindClusterResourcePlacement, "web", map[string]any{
		"policy": map[string]any{"placementType": "PickN", "numberOfClusters": int64(-2)}, "revisionHistoryLimit": int64(-1),
		"resourceSelectors": []any{map[string]any{"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}},
	})
	_, err := c.Resource(placements).Create(t.Context(), wrong, metav1.CreateOptions{})
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	causes := err.(apierrors.APIStatus).Status().Details.Causes
	require.Len(t, causes, 2)
	require.Equal(t, []string{"spec.policy.numberOfClusters", "spec.revisionHistoryLimit"}, []string{causes[0].Field, causes[1].Field})
	unknown := settings("a", nil)
	unknown.Object["dat"] = "x"
	_, err = c.maps().Create(t.Context(), unknown, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	require.ErrorContains(t, err, `unknown field "dat"`)
	_, err = c.maps().Create(t.Context(), unknown, metav1.CreateOptions{FieldValidation: metav1.FieldValidationIgnore})
	require.NoError(t, err, "fields that are newer than this program are kept")
	found, err := c.maps().Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "x", found.Object["dat"])
}

// Programs that are compiled with the types of Kubernetes speak protobuf.
func TestClientsWithTypes(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	config := rest.CopyConfig(f.as(f.hub, "ada", api.RoleAdmin))
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	typed, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	made, err := typed.CoreV1().Secrets("shop").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "key-"}, StringData: map[string]string{"a": "b"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Regexp(t, "^key-[a-z0-9]{5}$", made.Name)
	list, err := typed.CoreV1().Secrets("shop").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, made.Name, list.Items[0].Name)
	w, err := typed.CoreV1().Secrets("shop").Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	require.Equal(t, made.UID, next(t, w).Object.(*corev1.Secret).UID)
}

// Who may do what is one table, for each role.
func TestWhatEachRoleMayDo(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	f.admin().create(secretsOf, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "key", "namespace": "shop"}, "stringData": map[string]any{"password": "hidden"},
	}})
	may := map[string]map[api.Role]bool{
		"read maps":      {api.RoleViewer: true, api.RoleOperator: true, api.RoleAdmin: true},
		"write maps":     {api.RoleOperator: true, api.RoleAdmin: true},
		"read secrets":   {api.RoleOperator: true, api.RoleAdmin: true},
		"list secrets":   {api.RoleOperator: true, api.RoleAdmin: true},
		"watch secrets":  {api.RoleOperator: true, api.RoleAdmin: true},
		"read members":   {api.RoleViewer: true, api.RoleOperator: true, api.RoleAdmin: true},
		"write members":  {api.RoleAdmin: true},
		"delete members": {api.RoleAdmin: true},
	}
	for _, role := range []api.Role{api.RoleViewer, api.RoleOperator, api.RoleAdmin} {
		c := f.client(f.as(f.hub, "somebody-"+string(role), role))
		ctx := t.Context()
		for what, do := range map[string]func() error{
			"read maps": func() error { _, err := c.maps().List(ctx, metav1.ListOptions{}); return err },
			"write maps": func() error {
				_, err := c.maps().Create(ctx, settings(string(role), nil), metav1.CreateOptions{})
				return err
			},
			"read secrets": func() error {
				_, err := c.Resource(secretsOf).Namespace("shop").Get(ctx, "key", metav1.GetOptions{})
				return err
			},
			"list secrets":  func() error { _, err := c.Resource(secretsOf).List(ctx, metav1.ListOptions{}); return err },
			"watch secrets": func() error { return watches(ctx, c) },
			"read members":  func() error { _, err := c.Resource(members).List(ctx, metav1.ListOptions{}); return err },
			"write members": func() error {
				_, err := c.Resource(members).Create(ctx, tree(api.ClusterVersion, api.KindMemberCluster, "of-"+string(role), map[string]any{}), metav1.CreateOptions{})
				return err
			},
			"delete members": func() error {
				err := c.Resource(members).Delete(ctx, "nobody", metav1.DeleteOptions{})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return err
			},
		} {
			err := do()
			if may[what][role] {
				require.NoError(t, err, "%s: %s", role, what)
			} else {
				require.True(t, apierrors.IsForbidden(err), "%s: %s: %v", role, what, err)
				require.NotContains(t, err.Error(), "hidden")
			}
		}
	}
}

func watches(ctx context.Context, c *client) error {
	w, err := c.Resource(secretsOf).Watch(ctx, metav1.ListOptions{})
	if err == nil {
		w.Stop()
	}
	return err
}

// Nobody asks without a token, not even what is served.
func TestNobodyComesInWithoutAToken(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	for _, token := range []string{"", "flotilla_none"} {
		config := rest.CopyConfig(f.as(f.hub, "ada", api.RoleAdmin))
		config.BearerToken = token
		_, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerGroups()
		require.True(t, apierrors.IsUnauthorized(err), "%q: %v", token, err)
		_, err = f.client(config).maps().List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsUnauthorized(err), "%q: %v", token, err)
	}
}

func TestWhatIsServedIsDiscovered(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	client := discovery.NewDiscoveryClientForConfigOrDie(f.as(f.hub, "vera", api.RoleViewer))
	for _, form := range []bool{false, true} {
		client.UseLegacyDiscovery = form
		_, lists, err := client.ServerGroupsAndResources()
		require.NoError(t, err)
		served := map[string]bool{}
		for _, list := range lists {
			for _, r := range list.APIResources {
				require.False(t, served[list.GroupVersion+"/"+r.Name], "twice")
				served[list.GroupVersion+"/"+r.Name] = true
			}
		}
		for _, words := range api.NamedKinds {
			if words.Kind == api.KindMemberNode || words.Kind == api.KindNodeDisruption { // which are shown of members
				continue
			}
			require.True(t, served[words.APIVersion+"/"+words.Plural], "%s/%s", words.APIVersion, words.Plural)
		}
		require.True(t, served["apps/v1/deployments/scale"])
	}
	version, err := client.ServerVersion()
	require.NoError(t, err)
	require.Equal(t, "v1.36.0+flotilla-test", version.GitVersion)
}

// Each document of OpenAPI can be read, and has each kind with the fields of its patches.
func TestTheShapesOfWhatIsServed(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	client := discovery.NewDiscoveryClientForConfigOrDie(f.as(f.hub, "vera", api.RoleViewer))
	paths, err := client.OpenAPIV3().Paths()
	require.NoError(t, err)
	require.Contains(t, paths, "api/v1")
	for path, of := range paths {
		text, err := of.Schema(runtime.ContentTypeJSON)
		require.NoError(t, err, path)
		require.NotContains(t, string(text), "$ref\":\"#/components/schemas/\"", path)
		document := shapes(t, text)
		require.NotEmpty(t, document.Paths.Paths, path)
		for name, model := range document.Components.Schemas {
			for field, property := range model.Properties {
				for _, ref := range property.AllOf {
					require.Contains(t, document.Components.Schemas, ref.Ref.GetURL().Fragment[len("/components/schemas/"):], "%s of %s", field, name)
				}
			}
		}
	}
	core := shapes(t, schemaOf(t, paths["api/v1"]))
	ports := core.Components.Schemas["io.k8s.api.core.v1.Container"].Properties["ports"]
	require.Equal(t, []any{"containerPort", "protocol"}, ports.Extensions["x-kubernetes-list-map-keys"])
	require.Equal(t, "containerPort", ports.Extensions["x-kubernetes-patch-merge-key"])
	require.NotEmpty(t, ports.Description)
}

// What is not served says where to look.
func TestWhatAFleetHasNone(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	config := f.as(f.hub, "ada", api.RoleAdmin)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/api/v1/nodes": "flotilla get nodes --member NAME", "/api/v1/namespaces/shop/events": "flotilla events", "/apis/example.com/v1/widgets": "could not find the requested resource", "/nowhere": "404",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, http.NoBody)
		require.NoError(t, err)
		answer, err := transport.RoundTrip(request)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusNotFound, answer.StatusCode)
		require.Contains(t, string(text), want)
	}
}

// An object that was applied in a version that is not served is not shown as one of another, whose fields are others.
func TestAnObjectOfAVersionThatIsNotServed(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	document := `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"web","namespace":"shop"},"spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":50}}`
	require.NoError(t, bus.Request(bustest.Context(t), f.server.Person(t, "ada", api.RoleAdmin), api.VerbApply,
		api.ApplyRequest{Request: "hpa", Documents: []json.RawMessage{json.RawMessage(document)}}, nil, bus.RequestOptions{}))
	list, err := f.admin().Resource(schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
}
