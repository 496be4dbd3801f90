package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRulesOfEnvelopes(t *testing.T) {
	const (
		inShop = "apiVersion: placement.kubernetes-fleet.io/v1beta1\nkind: ResourceEnvelope\nmetadata: {name: e, namespace: shop}\n"
		wide   = "apiVersion: placement.kubernetes-fleet.io/v1beta1\nkind: ClusterResourceEnvelope\nmetadata: {name: e}\n"
		config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: e, namespace: shop, annotations: {kubernetes-fleet.io/envelope-configmap: \"true\"}}\n"
	)
	many := make([]string, 51)
	for i := range many {
		many[i] = fmt.Sprintf("k%d: {apiVersion: v1, kind: Secret, metadata: {name: s%d, namespace: shop}}", i, i)
	}
	bomb := "a: &a [xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\n"
	checkRules(t, "", []rule{
		{"objects of its namespace", inShop + "data: {a: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}}, b: {apiVersion: example.com/v1, kind: Widget, metadata: {name: b, namespace: shop}}}", nil},
		{"one in namespace default", "apiVersion: placement.kubernetes-fleet.io/v1\nkind: ResourceEnvelope\nmetadata: {name: e}\ndata: {a: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: default}}}", nil},
		{"objects outside namespaces", wide + "data: {a: {apiVersion: v1, kind: Namespace, metadata: {name: a}}, b: {apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: b}}}", nil},
		{"texts of both", config + "data: {a: 'apiVersion: v1\n\nkind: Namespace\n\nmetadata: {name: a}', b: '{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"b\",\"namespace\":\"shop\"}}'}", nil},
		{"a ConfigMap that says it is none", strings.Replace(config, `"true"`, `"false"`, 1) + "data: {a: b}", nil},
		{"a ConfigMap that says neither", strings.Replace(config, `"true"`, `"yes"`, 1) + "data: {a: b}", []string{
			`metadata.annotations["kubernetes-fleet.io/envelope-configmap"]: found "yes", expected "true" or "false"`,
		}},
		{"nothing", inShop + "data: {}", []string{"data: found nothing, expected 1 to 50 objects, each under a name"}},
		{"no map", wide + "data: [1]", []string{"data: found a list of 1, expected a map of names to objects"}},
		{"more than there may be", inShop + "data: {" + strings.Join(many, ", ") + "}", []string{"data: found a map of 51, expected at most 50 objects"}},
		{"in another place", inShop + "spec: {a: b}\ndata: {a: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}}}", []string{
			"spec: found a map (a), expected nothing: an envelope holds objects under data",
		}},
		{"binary", config + "binaryData: {a: YQ==}\ndata: {a: 'apiVersion: v1\n\nkind: Namespace\n\nmetadata: {name: a}'}", []string{
			"binaryData: found a map (a), expected nothing: an envelope holds objects under data",
		}},
		{"an old version", strings.Replace(inShop, "v1beta1", "v1alpha1", 1) + "data: {a: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}}}", []string{
			`apiVersion: found "placement.kubernetes-fleet.io/v1alpha1", expected placement.kubernetes-fleet.io/v1 or placement.kubernetes-fleet.io/v1beta1`,
		}},
		{"a misspelt kind", strings.Replace(inShop, "ResourceEnvelope", "ResourceEnvelop", 1), []string{
			`kind: found "ResourceEnvelop", expected ResourceEnvelope (did you mean that?)`, "data: found nothing, expected 1 to 50 objects, each under a name",
		}},
		{"namespaced objects for the cluster", wide + "data: {a: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}}, b: {apiVersion: example.com/v1, kind: Widget, metadata: {name: b, namespace: x}}, c: {apiVersion: v1, kind: Service, metadata: {name: c}}}", []string{
			"data.a.kind: found Secret, which lies in a namespace, expected a kind outside namespaces; a ResourceEnvelope holds the others",
			"data.b.kind: found Widget, which lies in a namespace, expected a kind outside namespaces; a ResourceEnvelope holds the others",
			"data.c.kind: found Service, which lies in a namespace, expected a kind outside namespaces; a ResourceEnvelope holds the others",
		}},
		{"another namespace, none, and none possible", inShop + "data: {a.yaml: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: other}}, b: {apiVersion: v1, kind: Secret, metadata: {name: b}}, c: {apiVersion: v1, kind: Namespace, metadata: {name: c}}, d: {apiVersion: example.com/v1, kind: Realm, metadata: {name: d}}}", []string{
			`data["a.yaml"].metadata.namespace: found "other", expected shop, the namespace of the envelope`,
			"data.b.metadata.namespace: found nothing, expected shop, the namespace of the envelope",
			"data.c.kind: found Namespace, which lies outside namespaces, expected a kind in namespaces; a ClusterResourceEnvelope holds the others",
			"data.d.metadata.namespace: found nothing, expected shop, the namespace of the envelope",
		}},
		{"another namespace in a text", config + "data: {a: 'apiVersion: v1\n\nkind: Secret\n\nmetadata: {name: a, namespace: other}'}", []string{
			`data.a.metadata.namespace: found "other", expected shop, the namespace of the envelope`,
		}},
		{"what is no object", config + "data: {a: 'hunter2: [', b: '', c: '- hunter2', d: 'hunter2', e: \"a: b\\n---\\na: b\\n\", f: \"a: b\\na: c\\n\", g: \"x: *hunter2\"}", []string{
			"data.a: found a text that is no YAML, at line 1 of it, expected one object: a map with apiVersion, kind and metadata",
			"data.b: found nothing, expected one object: a map with apiVersion, kind and metadata",
			"data.c: found a list, expected one object: a map with apiVersion, kind and metadata",
			"data.d: found a text, expected one object: a map with apiVersion, kind and metadata",
			"data.e: found more than one document, expected one object: a map with apiVersion, kind and metadata",
			"data.f: found a text that is no YAML, at line 2 of it, expected one object: a map with apiVersion, kind and metadata",
			"data.g: found a text that is no YAML, expected one object: a map with apiVersion, kind and metadata",
		}},
		{"what is no map", wide + "data: {a: text, b: [x], c: 7, d: null}", []string{
			"data.a: found a text, expected one object: a map with apiVersion, kind and metadata",
			"data.b: found a list, expected one object: a map with apiVersion, kind and metadata",
			"data.c: found a single value, expected one object: a map with apiVersion, kind and metadata",
			"data.d: found nothing, expected one object: a map with apiVersion, kind and metadata",
		}},
		{"what is no whole object", wide + "data: {a: {kind: Namespace, metadata: {name: a}}, b: {apiVersion: v1, kind: Namespace, metadata: {generateName: b}}, c: {apiVersion: v1, kind: PersistentVolume, metadata: {name: c}, spec: {capacity: {storage: 1e99}}}, d: {metadata: {name: UP}}}", []string{
			"data.a.apiVersion: found nothing, expected a string",
			`data.b.metadata.generateName: found "b", expected a fixed name in metadata.name: members could not tell generated ones apart`,
			"data.b.metadata.name: found nothing, expected a name",
			`data.c.spec.capacity.storage: found "1e+99", expected a quantity of at most 40 characters, from -1e30 to 1e30, with at most 18 digits behind the point`,
			"data.d.apiVersion: found nothing, expected a string",
			"data.d.kind: found nothing, expected a string",
			`data.d.metadata.name: found "UP", expected at most 253 lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit`,
		}},
		{"what steers the fleet, and envelopes", wide + "data: {a: {apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: a}}, b: {apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourceEnvelope, metadata: {name: b}}}", []string{
			`data.a.kind: found "MemberCluster", expected an object for members: what steers the fleet lies in no envelope, and no envelope in another`,
			`data.b.kind: found "ClusterResourceEnvelope", expected an object for members: what steers the fleet lies in no envelope, and no envelope in another`,
		}},
		{"an envelope of texts in another", inShop + "data: {a: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, annotations: {kubernetes-fleet.io/envelope-configmap: \"true\"}}}}", []string{
			`data.a.kind: found "ConfigMap", expected an object for members: what steers the fleet lies in no envelope, and no envelope in another`,
		}},
		{"one object twice, in two versions", inShop + "data: {a: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop}}, b: {apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: a, namespace: shop}}}", []string{
			"data.b: found Deployment/shop/a again, expected each object once; data.a is it already",
		}},
		{"a text that multiplies itself", config + "data: {a: '" + strings.ReplaceAll(bomb, "\n", "\n\n") + "'}", []string{
			"data.a: found objects that are too large or too deep, aliases followed, expected one object: a map with apiVersion, kind and metadata",
		}},
		{"a text within itself", config + "data: {a: '&a {apiVersion: v1, kind: Namespace, metadata: {name: a}, spec: [*a]}'}", []string{
			"data.a: found objects that are too large or too deep, aliases followed, expected one object: a map with apiVersion, kind and metadata",
		}},
	})
}

// Of an envelope that is not refused it is said what members get, and one whose faults have an obvious correction is
// corrected.
func TestEnvelopesAreToldOfAndCorrected(t *testing.T) {
	const head = "apiVersion: placement.kubernetes-fleet.io/v1beta1\nkind: ResourceEnvelope\nmetadata: {name: e, namespace: shop}\n"
	d, faults := decodeYAML(t, head+"data: {a: {apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}}}")
	require.Empty(t, faults)
	require.True(t, d.IsContent())
	require.Equal(t, []string{"an envelope: in its place members get what is in it, Secret/shop/a"}, d.Notes)
	d, faults = decodeYAML(t, head+"data: {a: {apiVersion: v1, kind: Secret, metadata: {name: a}}}")
	require.Len(t, faults, 1)
	require.Contains(t, d.Corrected, "namespace: shop\n")
	require.Contains(t, d.Corrected, "      namespace: shop\n")
	d, faults = decodeYAML(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: e, namespace: shop, annotations: {kubernetes-fleet.io/envelope-configmap: \"true\"}}\ndata: {a: '{apiVersion: v1, kind: Secret, metadata: {name: a}}'}")
	require.Len(t, faults, 1)
	require.Empty(t, d.Corrected, "nobody writes into a text")
}
