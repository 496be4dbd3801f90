package front_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/validate"
)

// hugeAmount takes all memory that there is, where it is read.
const hugeAmount = "1234567890123456789e2000000000"

// What holds a Secret inside shows viewers digests, as everywhere else.
func TestViewersSeeNoValueInsideOfOtherKinds(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	envelopes := schema.GroupVersionResource{Group: api.GroupPlacement, Version: "v1beta1", Resource: "resourceenvelopes"}
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "key", "namespace": "shop"}, "data": map[string]any{"password": "aGlkZGVu"}}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": envelopes.GroupVersion().String(), "kind": api.KindResourceEnvelope,
		"metadata": map[string]any{"name": "keys", "namespace": "shop", "annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": `{"data":{"key":{"data":{"password":"aGlkZGVu"}}}}`}},
		"data":     map[string]any{"key": secret},
	}}
	f.admin().create(envelopes, u)
	for role, sees := range map[api.Role]bool{api.RoleViewer: false, api.RoleOperator: true} {
		c := f.client(f.as(f.hub, "some-"+string(role), role)).Resource(envelopes).Namespace("shop")
		found, err := c.Get(t.Context(), "keys", metav1.GetOptions{})
		require.NoError(t, err)
		list, err := c.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		w, err := c.Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, o := range []any{found.Object, list.Items[0].Object, next(t, w).Object} {
			text := fmt.Sprint(o)
			require.Equal(t, sees, strings.Contains(text, "password:aGlkZGVu"), text)
			if !sees {
				require.NotContains(t, text, "aGlkZGVu")
			}
		}
		w.Stop()
	}
}

// Who sends what they ask for slowly, or never, takes a quarter at most of what is worked on at once.
func TestOnePersonHoldsAPartOfWhatIsWorkedOnAtOnce(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	ada, eve := f.admin(), f.as(f.hub, "eve", api.RoleViewer)
	transport, err := rest.TransportFor(eve)
	require.NoError(t, err)
	slow, ctx := &http.Client{Transport: transport}, t.Context()
	const asked, held = 220, 50
	refused := make(chan int, asked)
	for range asked {
		body, comes := io.Pipe()
		t.Cleanup(func() { _ = comes.Close() })
		go func() { _, _ = comes.Write([]byte("{")) }()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, eve.Host+"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		go func() {
			if answer, err := slow.Do(request); err == nil {
				_ = answer.Body.Close()
				refused <- answer.StatusCode
			}
		}()
	}
	for range asked - held {
		require.Equal(t, http.StatusTooManyRequests, bustest.Within(t, refused, "a refusal"))
	}
	ada.create(configMaps, settings("a", nil))
	_, err = ada.Resource(placements).List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, refused)
}

// post sends a body as it is.
func (f *fleet) post(config *rest.Config, path, media, body string, header ...string) (int, string) {
	f.t.Helper()
	return f.send(config, http.MethodPost, path, media, body, header...)
}

// send sends a body as it is, by a method.
func (f *fleet) send(config *rest.Config, method, path, media, body string, header ...string) (int, string) {
	f.t.Helper()
	transport, err := rest.TransportFor(config)
	require.NoError(f.t, err)
	request, err := http.NewRequestWithContext(f.t.Context(), method, config.Host+path, bytes.NewReader([]byte(body)))
	require.NoError(f.t, err)
	request.Header.Set("Content-Type", media)
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer, err := transport.RoundTrip(request)
	require.NoError(f.t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(f.t, err)
	require.NoError(f.t, answer.Body.Close())
	return answer.StatusCode, string(text)
}

// No amount that is sent is read before its bounds are looked at, in whatever form and wherever it is sent.
func TestAmountsThatTakeAllMemory(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	viewer, operator := f.as(f.hub, "vera", api.RoleViewer), f.as(f.hub, "olga", api.RoleOperator)
	pod := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":%q}}}]}}`, hugeAmount)
	code, _ := f.post(viewer, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json", pod)
	require.Equal(t, http.StatusBadRequest, code)
	code, text := f.post(operator, "/api/v1/namespaces/shop/pods?fieldValidation=Strict", "application/json", pod)
	require.Equal(t, http.StatusUnprocessableEntity, code, text)

	// As protobuf, by hand: whoever makes it by the type would read the amount. Decoders let go of what a number has beyond their bits.
	field := func(tag, text string) string {
		return tag + string(binary.AppendUvarint(nil, uint64(len(text)))) + text
	}
	plain := func(n int, text string) string { return field(string([]byte{byte(n<<3 | 2)}), text) }
	for what, tag := range map[string]string{
		"the number": "\x0a", "a number of 33 bits": "\x8a\x80\x80\x80\x80\x01", "a number of 65 bits": "\x8a\x80\x80\x80\x80\x80\x80\x80\x80\x02", "zeros": "\x8a\x80\x80\x00",
	} {
		for _, text := range []string{hugeAmount, strings.Repeat("7", 100_000)} {
			limit := plain(1, "cpu") + plain(2, field(tag, text))
			container := plain(1, "c") + plain(8, plain(1, limit))
			body := "k8s\x00" + plain(1, plain(1, "v1")+plain(2, "Pod")) + plain(2, plain(1, plain(1, "p")+plain(3, "shop"))+plain(2, plain(2, container)))
			for _, media := range []string{"application/vnd.kubernetes.protobuf", "Application/vnd.Kubernetes.protobuf"} {
				code, answer := f.post(operator, "/api/v1/namespaces/shop/pods", media, body)
				require.Equal(t, http.StatusBadRequest, code, "%s, %s: %s", what, media, answer)
				require.Contains(t, answer, "found the amount", what)
			}
		}
	}
}

// A patch that copies itself grows no further than a bound.
func TestAPatchThatCopiesItself(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	c.create(configMaps, settings("a", map[string]any{"x": "1"}))
	for copies, fits := range map[int]bool{5: true, 40: false} { // each doubles it
		ops := make([]string, copies)
		for i := range ops {
			ops[i] = fmt.Sprintf(`{"op":"copy","from":"/data","path":"/data/x%d"}`, i)
		}
		ops = append(ops, `{"op":"replace","path":"/data","value":{}}`)
		_, err := c.maps().Patch(t.Context(), "a", types.JSONPatchType, []byte("["+strings.Join(ops, ",")+"]"), metav1.PatchOptions{})
		require.Equal(t, fits, err == nil, "%d: %v", copies, err)
		require.Equal(t, !fits, apierrors.IsInvalid(err), "%d: %v", copies, err)
	}
}

// Nobody asks as another, and nobody is told that they may do all because they may look.
func TestNobodyAsksAsAnother(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	code, text := f.post(f.as(f.hub, "ada", api.RoleAdmin), "/api/v1/namespaces", "application/json", `{}`, "Impersonate-User", "vera")
	require.Equal(t, http.StatusForbidden, code)
	require.Contains(t, text, "nobody asks as another")
	for role, may := range map[api.Role]bool{api.RoleViewer: false, api.RoleAdmin: true} {
		typed, err := kubernetes.NewForConfig(f.as(f.hub, "some-"+string(role), role))
		require.NoError(t, err)
		answer, err := typed.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, may, answer.Status.Allowed, role)
	}
}

// Of many objects that go at once each deletion is told, also to who was cut off in between.
func TestDeletionsAtOnceAreToldOneByOne(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	ctx := t.Context()
	c.create(namespaces, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}})
	for _, name := range []string{"a", "b", "c"} {
		c.create(configMaps, settings(name, nil))
	}
	list, err := c.maps().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	w, err := c.maps().Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	require.NoError(t, err)
	require.NoError(t, c.Resource(namespaces).Delete(ctx, "shop", metav1.DeleteOptions{}))
	first := next(t, w)
	w.Stop()
	require.True(t, strings.HasPrefix(told(first), "DELETED"), told(first))
	again, err := c.maps().Watch(ctx, metav1.ListOptions{ResourceVersion: first.Object.(*unstructured.Unstructured).GetResourceVersion()})
	require.NoError(t, err)
	defer again.Stop()
	gone := map[string]bool{told(first): true, told(next(t, again)): true, told(next(t, again)): true}
	require.Equal(t, map[string]bool{"DELETED a": true, "DELETED b": true, "DELETED c": true}, gone)
}

// While no hub leads nobody can say whose a token is, which is no reason to throw it away.
func TestWhileNobodyLeads(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	second := f.start("second")
	config := f.as(second, "olga", api.RoleOperator)
	f.server.Stop(t)
	code, text := f.post(config, "/api/v1/namespaces", "application/json", "{}")
	require.Equal(t, http.StatusServiceUnavailable, code, text)
}

// No digest stands in the place of a value, not even in a dry run.
func TestADryRunOfASecret(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "key", "namespace": "shop"}, "data": map[string]any{"password": "aGlkZGVu"},
	}}
	shown, err := c.Resource(secretsOf).Namespace("shop").Create(t.Context(), secret, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"password": "aGlkZGVu"}, shown.Object["data"])
	_, err = c.Resource(secretsOf).Namespace("shop").Get(t.Context(), "key", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

// What is sent is bounded as by an API server, and what it would become before it is decoded, in each form.
func TestBodiesThatGrow(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	olgas := f.as(f.hub, "olga", api.RoleOperator)
	pod := func(inner string) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop"},"spec":{"containers":[` + inner + `]}}`
	}
	for what, body := range map[string]string{"bytes": pod(`{"name":"` + strings.Repeat("x", 3<<20) + `"}`), "values": pod("{}" + strings.Repeat(",{}", 200_000))} {
		code, text := f.post(olgas, "/api/v1/namespaces/shop/pods", "application/json", body)
		require.Equal(t, http.StatusRequestEntityTooLarge, code, "%s: %s", what, text)
		require.Contains(t, text, what+", expected")
	}
	raw, err := (&runtime.Unknown{Raw: []byte("\x12\xc0\x9a\x0c" + strings.Repeat("\x12\x00", 100_000))}).Marshal() // containers of a spec
	require.NoError(t, err)
	code, text := f.post(olgas, "/api/v1/namespaces/shop/pods", "application/vnd.kubernetes.protobuf", "k8s\x00"+string(raw))
	require.Equal(t, http.StatusRequestEntityTooLarge, code, text)
}

// A watch keeps its selectors: those that take much are refused before anything is kept (H39).
func TestWatchesHaveSmallSelectors(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	eve := f.client(f.as(f.hub, "eve", api.RoleViewer))
	for selector, want := range map[string]string{
		strings.Repeat("x,", 256) + "x": "labelSelector: found 257 requirements, expected at most 256",
		strings.Repeat("x", 10_000):     "labelSelector: found 10000 bytes, expected at most 8192",
	} {
		_, err := eve.maps().Watch(t.Context(), metav1.ListOptions{LabelSelector: selector})
		require.True(t, apierrors.IsBadRequest(err), "%v", err)
		require.ErrorContains(t, err, want)
	}
}

// A patch that merges lists by keys is refused where these are so long that looking for each item takes long.
func TestAPatchOfLongLists(t *testing.T) {
	t.Parallel()
	c := startFleet(t).admin()
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	spec := func(n int, prefix string) map[string]any {
		env := make([]any, n)
		for i := range env {
			env[i] = map[string]any{"name": fmt.Sprint(prefix, i)}
		}
		return map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i", "env": env}}}}}
	}
	u := tree("apps/v1", "Deployment", "d", spec(4000, "A"))
	u.SetNamespace("shop")
	c.create(deployments, u)
	for n, fits := range map[int]bool{100: true, 4000: false} {
		patch, err := json.Marshal(map[string]any{"spec": spec(n, "B")})
		require.NoError(t, err)
		for kind, fits := range map[types.PatchType]bool{types.StrategicMergePatchType: fits, types.MergePatchType: true} {
			_, err = c.Resource(deployments).Namespace("shop").Patch(t.Context(), "d", kind, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
			require.Equal(t, !fits, apierrors.IsRequestEntityTooLargeError(err), "%s of %d: %v", kind, n, err)
			require.Equal(t, fits, err == nil, "%s of %d: %v", kind, n, err)
		}
	}
}

// An object of the largest size that the hub stores is made, changed, patched and applied, in each form.
func TestTheLargestObjectIsApplied(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	config := f.as(f.hub, "ada", api.RoleAdmin)
	c := f.client(config)
	text := strings.Repeat("a: [1, 2]\n", (validate.MaxObjectBytes-4<<10)/11)
	made := c.create(configMaps, settings("a", map[string]any{"text": text}))
	unstructured.RemoveNestedField(made.Object, "status")
	made.SetLabels(map[string]string{"a": "b"})
	_, err := c.maps().Update(t.Context(), made, metav1.UpdateOptions{})
	require.NoError(t, err)
	changed := settings("b", map[string]any{"text": text})
	for range 2 {
		applied, err := c.maps().Apply(t.Context(), "b", changed, metav1.ApplyOptions{FieldManager: "test"})
		require.NoError(t, err)
		require.Equal(t, text, applied.Object["data"].(map[string]any)["text"])
		changed.SetLabels(map[string]string{"a": "b"})
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]any{"text": text + "a"}})
	require.NoError(t, err)
	for _, kind := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		_, err = c.maps().Patch(t.Context(), "b", kind, patch, metav1.PatchOptions{})
		require.NoError(t, err)
	}
	config.ContentType = runtime.ContentTypeProtobuf
	typed, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	_, err = typed.CoreV1().ConfigMaps("shop").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Data: map[string]string{"text": text}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = typed.CoreV1().ConfigMaps("shop").Apply(t.Context(), applycorev1.ConfigMap("c", "shop").WithData(map[string]string{"text": text}), metav1.ApplyOptions{FieldManager: "test", Force: true})
	require.NoError(t, err)
}
