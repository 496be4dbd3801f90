//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/core/api"
)

// widgets is a CustomResourceDefinition of a group of the case's own.
func widgets(group string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.` + group + `},
  spec: {group: ` + group + `, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget},
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
}

func widget(group string) string {
	return "{apiVersion: " + group + "/v1, kind: Widget, metadata: {name: w, namespace: NS}, spec: {size: 3}}"
}

// deployment is Deployment web with so many replicas of an image.
func deployment(image string, replicas int) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: NS}, spec: {replicas: %d, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "%s"}]}}}}`, replicas, image)
}

// lateKind places an object of a kind that the member gets to know only later.
func lateKind(p *placed) {
	c := clusterOf(p.TB, "m2")
	p.apply(byClient, []string{widget("late.example.org")}, "m2")
	p.says("m2", api.EntryFailed, `no matches for kind "Widget" in version`)
	b := newBeside(p.TB, c)
	b.Make(parsed(p.TB, widgets("late.example.org")))
	p.available()
	b.Remove(api.ObjectRef{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "widgets.late.example.org"})
}

// ownKind places a kind together with an object of it.
func ownKind(p *placed) {
	p.applyWith(byClient, "{placementType: PickFixed, clusterNames: [m1]}", []string{widget("own.example.org"), widgets("own.example.org")},
		"{group: apiextensions.k8s.io, version: v1, kind: CustomResourceDefinition, name: widgets.own.example.org}")
	p.available()
}

// oneOfThree is placed on as many members as it asks for.
func oneOfThree(p *placed) {
	p.applyWith(byServer, "{placementType: PickN, numberOfClusters: 1}", []string{config("one"), deployment("registry.example/web:v1", 1)})
	p.available()
	status, err := p.status()
	require.NoError(p, err)
	require.Len(p, status.PlacementStatuses, 1)
	chosen := status.PlacementStatuses[0].ClusterName
	for _, member := range members {
		_, err := clusterOf(p.TB, member).Clients().CoreV1().ConfigMaps(p.name).Get(p.Context(), "web", metav1.GetOptions{})
		require.Equal(p, member != chosen, apierrors.IsNotFound(err), "%s: %v", member, err)
	}
}

func jobOnAll(p *placed) {
	p.apply(byServer, []string{`{apiVersion: batch/v1, kind: Job, metadata: {name: once, namespace: NS}, spec: {template: {spec: {restartPolicy: Never,
  containers: [{name: once, image: "registry.example/once:v1"}]}}}}`})
	p.available()
	for _, member := range members {
		p.until(func(ctx context.Context) error {
			found, err := clusterOf(p.TB, member).Clients().BatchV1().Jobs(p.name).Get(ctx, "once", metav1.GetOptions{})
			if err == nil && found.Status.CompletionTime == nil {
				err = fmt.Errorf("found %+v", found.Status)
			}
			return err
		})
	}
}

// stuckTerminating places a namespace of a name that is on its way out and held by a finalizer.
func stuckTerminating(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.plant(c, "before")
	maps := c.Clients().CoreV1().ConfigMaps(p.name)
	finalizers := func(list string) {
		_, err := maps.Patch(p.Context(), "web", types.MergePatchType, []byte(`{"metadata":{"finalizers":`+list+`}}`), metav1.PatchOptions{})
		require.NoError(p, err)
	}
	finalizers(`["example.org/stuck"]`)
	require.NoError(p, c.Clients().CoreV1().Namespaces().Delete(p.Context(), p.name, metav1.DeleteOptions{}))
	p.apply(byClient, []string{config("one")}, "m1")
	p.says("m1", api.EntryFailed, "being deleted")
	finalizers("null")
	p.available()
	p.holds(c, "one")
}

// refusedByPolicy has an admission policy of the member refuse one of two objects.
func refusedByPolicy(p *placed) {
	c := clusterOf(p.TB, "m1")
	policies := c.Clients().AdmissionregistrationV1()
	fail, name := admissionv1.Fail, "no-web"
	rule := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	_, err := policies.ValidatingAdmissionPolicies().Create(p.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{rule}},
			Validations: []admissionv1.Validation{{
				Expression: "object.metadata.namespace != '" + p.name + "' || object.metadata.name != 'web'", Message: "nothing may be called web here",
			}},
		},
	}, metav1.CreateOptions{})
	require.NoError(p, err)
	_, err = policies.ValidatingAdmissionPolicyBindings().Create(p.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}, metav1.CreateOptions{})
	require.NoError(p, err)
	_, err = c.Clients().CoreV1().Namespaces().Create(p.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name}}, metav1.CreateOptions{})
	require.NoError(p, err)
	p.until(func(ctx context.Context) error {
		_, err := c.Clients().CoreV1().ConfigMaps(p.name).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("it is not refused yet")
		}
		return nil
	})
	p.apply(byClient, []string{config("one"), strings.Replace(config("one"), "name: web", "name: more", 1)}, "m1")
	entry := p.says("m1", api.EntryFailed, "nothing may be called web here")
	require.Len(p, entry.FailedPlacements, 1)
	_, err = c.Clients().CoreV1().ConfigMaps(p.name).Get(p.Context(), "more", metav1.GetOptions{})
	require.NoError(p, err)
	require.NoError(p, policies.ValidatingAdmissionPolicyBindings().Delete(p.Context(), name, metav1.DeleteOptions{}))
	require.NoError(p, policies.ValidatingAdmissionPolicies().Delete(p.Context(), name, metav1.DeleteOptions{}))
	p.available()
}

func quotaExceeded(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.apply(byClient, []string{"{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: NS}, spec: {hard: {pods: '1'}}}"}, "m1")
	p.available()
	p.until(func(ctx context.Context) error {
		found, err := c.Clients().CoreV1().ResourceQuotas(p.name).Get(ctx, "few", metav1.GetOptions{})
		if err == nil && len(found.Status.Hard) == 0 {
			err = errors.New("it is not counted yet")
		}
		return err
	})
	quota := "{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: NS}, spec: {hard: {pods: '%d'}}}"
	p.apply(byClient, []string{fmt.Sprintf(quota, 1), deployment("registry.example/web:v1", 2)}, "m1")
	p.says("m1", api.EntryNotAvailable, "exceeded quota: few")
	p.apply(byClient, []string{fmt.Sprintf(quota, 5), deployment("registry.example/web:v1", 3)}, "m1")
	p.available()
}

// noImage tells which image cannot be pulled, and which container crashes.
func noImage(p *placed) {
	p.apply(byClient, []string{deployment("registry.example/web:missing", 1)}, "m2")
	p.says("m2", api.EntryNotAvailable, "image registry.example/web:missing cannot be pulled (ImagePullBackOff)")
	require.Contains(p, p.run("describe", "placement", p.name), "cannot be pulled (ImagePullBackOff)")
	p.apply(byClient, []string{deployment("registry.example/web:crash", 1)}, "m2")
	p.says("m2", api.EntryNotAvailable, "(CrashLoopBackOff)")
	p.apply(byClient, []string{deployment("registry.example/web:v2", 1)}, "m2")
	p.available()
}

// killedAgent kills an agent in the middle of writing 1,000 ConfigMaps.
func killedAgent(p *placed) {
	c := clusterOf(p.TB, "m2")
	var objects []string
	for i := range 1000 {
		objects = append(objects, strings.Replace(config("one"), "name: web", fmt.Sprintf("name: c%d", i), 1))
	}
	for half := range 3 { // more than 500 objects are not applied at once
		p.applyObjects(objects[490*half : min(len(objects), 490*(half+1))])
	}
	p.apply(byServer, nil, "m2")
	count := func(ctx context.Context) (int, error) {
		list, err := c.Clients().CoreV1().ConfigMaps(p.name).List(ctx, metav1.ListOptions{LabelSelector: "flotilla.io/placed=true"})
		if err != nil {
			return 0, err
		}
		return len(list.Items), nil
	}
	p.until(func(ctx context.Context) error {
		n, err := count(ctx)
		if err == nil && n < 20 {
			err = fmt.Errorf("found %d", n)
		}
		return err
	})
	p.agents["m2"].Kill()
	n, err := count(p.Context())
	require.NoError(p, err)
	require.Less(p, n, 1000, "it was killed in the middle")
	p.agents["m2"].Start(p.TB)
	p.available()
	n, err = count(p.Context())
	require.NoError(p, err)
	require.Equal(p, 1000, n)
}

// killedServer changes what a member is to hold while its API server is away.
func killedServer(p *placed) {
	c := clusterOf(p.TB, "m3")
	p.apply(byClient, []string{config("one"), deployment("registry.example/web:v1", 2)}, "m3")
	p.available()
	c.Kill()
	p.apply(byClient, []string{config("two"), deployment("registry.example/web:v2", 2)}, "m3")
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	require.NoError(p, c.Restart(ctx))
	p.holds(c, "two")
	p.until(func(ctx context.Context) error {
		var d *appsv1.Deployment
		d, err := c.Clients().AppsV1().Deployments(p.name).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && d.Spec.Template.Spec.Containers[0].Image != "registry.example/web:v2" {
			err = fmt.Errorf("found %s", d.Spec.Template.Spec.Containers[0].Image)
		}
		return err
	})
	p.available()
}
